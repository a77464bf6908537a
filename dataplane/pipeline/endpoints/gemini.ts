/** The endpoints of Google's protocol, whose paths say the model and whether the answer streams. */
import type { GeminiFacts } from '../../protocol/body-kinds.ts';
import { boundInput, estimateInput } from '../../protocol/estimate.ts';
import { asJsonArray, JSON_ARRAY_TYPE } from '../../protocol/gemini/json-array.ts';
import { converterFor } from '../../protocol/providers.ts';
import type { EndpointCall, Received } from '../context.ts';
import { checkAllowed, hasNoBound, modalitiesOf, onlyResponses, usedAt, usesOf } from './chat.ts';
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

function callOf(facts: GeminiFacts, { model, stream, isArray }: GeminiPath): EndpointCall {
  const converted = { ...facts, unbounded: facts.unbounded.filter(({ feature }) => feature !== 'ServiceTiers') };
  return {
    kind: 'Chat',
    model,
    stream,
    check: (candidate) => checkAllowed(converted, candidate, CONVERTED),
    boundInput: (candidate) => boundInput({ ...facts, model, stream }, candidate.model),
    estimateInput: (candidate) => estimateInput({ ...facts, model, stream }, candidate.model),
    output: {
      maxTokens: facts.maxOutputTokens,
      answers: facts.answers,
      predictionTokens: facts.predictionTokens,
      thinkingBudget: facts.thinkingBudget,
      fixed: facts.fixedOutput,
    },
    generations: facts.answers,
    oneHourCache: facts.oneHourCache,
    uses: (candidate) => usesOf(usedAt(converted, candidate, CONVERTED)),
    modalities: modalitiesOf({ ...facts, model, stream }),
    asksForReasoning: facts.asksForReasoning,
    unbounded: (candidate) => hasNoBound(usedAt(converted, candidate, CONVERTED)),
    wantsStreamUsage: facts.wantsStreamUsage,
    streamType: isArray ? JSON_ARRAY_TYPE : undefined,
    affinity: facts.affinity,
    converter: ({ target }) => {
      if (!target.endpoints.has('Chat')) return undefined;
      const converter = converterFor('Gemini', target.protocol);
      return isArray ? asJsonArray(converter) : converter;
    },
    unservable: () => onlyResponses(model),
  };
}
