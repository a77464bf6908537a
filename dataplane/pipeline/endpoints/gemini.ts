/** The endpoints of Google's protocol, whose paths say the model and whether the answer streams. */
import type { ConversationFacts, GeminiFacts } from '../../protocol/body-kinds.ts';
import type { ChatFacts } from '../../protocol/call-facts.ts';
import { asJsonArray, JSON_ARRAY_TYPE } from '../../protocol/gemini/json-array.ts';
import { converterFor } from '../../protocol/providers.ts';
import { checkAllowed, usedAt } from './allowed-features.ts';
import type { Conversion } from './allowed-features.ts';
import { chatOutputOf, conversation, servingApiAt } from './conversation.ts';
import type { Endpoint } from './endpoint.ts';

export interface GeminiPath {
  readonly model: string;
  readonly stream: boolean;
  /** The stream is a JSON array. */
  readonly isArray: boolean;
}

type GenerateFacts = ConversationFacts & {
  readonly isArray: boolean;
  /** What a provider gets of it. */
  readonly sent: Pick<ChatFacts, 'images' | 'imageParam' | 'unbounded'>;
};

/** Every conversion leaves out the tools that Google would run, and its service tiers. */
const CONVERTED: Conversion = { ofTools: true, ofTiers: true };

/** generateContent and streamGenerateContent; `kind`: GeminiCount reads the request of a token count. */
export function generateContent(path: GeminiPath, kind: 'Gemini' | 'GeminiCount' = 'Gemini'): Endpoint<GenerateFacts> {
  return conversation<GenerateFacts>({
    read: async ({ body }) => factsOf(await body.facts(kind), path),
    asks: (facts) => ({
      output: chatOutputOf(facts),
      streamType: facts.isArray ? JSON_ARRAY_TYPE : undefined,
    }),
    used: ({ sent }, candidate) => usedAt(sent, candidate, CONVERTED),
    check: ({ sent }, candidate) => checkAllowed(sent, candidate, CONVERTED),
    converter: (facts, candidate) => {
      const converter = converterFor('Gemini', candidate.target.protocol, servingApiAt(candidate, facts));
      return facts.isArray ? asJsonArray(converter) : converter;
    },
  });
}

function factsOf(generate: GeminiFacts, path: GeminiPath): GenerateFacts {
  const { images, imageParam, unbounded } = generate;
  const sent = { images, imageParam, unbounded: unbounded.filter(({ feature }) => feature !== 'ServiceTiers') };
  return { ...generate, ...path, sent };
}
