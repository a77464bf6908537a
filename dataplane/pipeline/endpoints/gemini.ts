/** The endpoints of Google's protocol, whose paths say the model and whether the answer streams. */
import type { GeminiFacts } from '../../protocol/body-kinds.ts';
import { asJsonArray, JSON_ARRAY_TYPE } from '../../protocol/gemini/json-array.ts';
import { converterFor } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { chatOutputOf, checkAllowed, conversationCall, hasNoBound, servingApiAt, usedAt, usesOf } from './chat.ts';
import type { Conversion } from './chat.ts';

export interface GeminiPath {
  readonly model: string;
  readonly stream: boolean;
  /** The stream is a JSON array. */
  readonly isArray: boolean;
}

/** @throws RequestFault if the body is not JSON, or a field that the gateway reads is invalid. */
export async function readGenerate(received: Received, path: GeminiPath): Promise<EndpointCall> {
  return callOf(await received.body.facts('Gemini'), path);
}

/** A token count. @throws RequestFault */
export async function readGeminiCount(received: Received, model: string): Promise<EndpointCall> {
  return callOf(await received.body.facts('GeminiCount'), { model, stream: false, isArray: false });
}

/** Every conversion leaves out the tools that Google would run, and its service tiers. */
const CONVERTED: Conversion = { ofTools: true, ofTiers: true };

function callOf(generate: GeminiFacts, { model, stream, isArray }: GeminiPath): EndpointCall {
  const facts = { ...generate, model, stream };
  const converted = { ...facts, unbounded: facts.unbounded.filter(({ feature }) => feature !== 'ServiceTiers') };
  return {
    ...conversationCall(facts),
    output: chatOutputOf(facts),
    check: (candidate) => checkAllowed(converted, candidate, CONVERTED),
    uses: (candidate) => usesOf(usedAt(converted, candidate, CONVERTED)),
    unbounded: (candidate) => hasNoBound(usedAt(converted, candidate, CONVERTED)),
    streamType: isArray ? JSON_ARRAY_TYPE : undefined,
    converter: (candidate) => {
      const converter = converterFor('Gemini', candidate.target.protocol, servingApiAt(candidate, facts));
      return isArray ? asJsonArray(converter) : converter;
    },
  };
}
