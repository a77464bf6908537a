/** Responses as the events that make them: reasoning, text with its probabilities and sources, images and calls. */
import fc from 'fast-check';
import type { ReportedUsage } from '../../../../../dataplane/protocol/converter.ts';
import type {
  ConversationEvent,
  FinishReason,
  TokenProbability,
} from '../../../../../dataplane/protocol/conversation/events.ts';
import { base64, callArguments, callId, said } from './arbitrary-conversations.ts';

const optional = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(value, { nil: undefined });
const word = fc.string({ unit: fc.constantFrom('a', 'Z', '_', '-'), minLength: 1, maxLength: 12 });

const PLAIN = { noNullPrototype: true };

/** A text in pieces. */
const pieces = fc.array(said, { minLength: 1, maxLength: 3 });

const logProbability = fc.constantFrom(-0.5, -1.25, -3);
const probability: fc.Arbitrary<TokenProbability> = fc.record(
  {
    token: said,
    logProbability,
    alternatives: fc.array(fc.record({ token: said, logProbability }, PLAIN), { maxLength: 2 }),
  },
  PLAIN,
);

interface Content {
  readonly reasoning: readonly string[] | undefined;
  readonly signature: string | undefined;
  readonly text: readonly string[] | undefined;
  readonly probabilities: readonly TokenProbability[] | undefined;
  readonly source: string | undefined;
  readonly refusal: readonly string[] | undefined;
  readonly image: string | undefined;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[];
  readonly isCut: boolean;
}

const content: fc.Arbitrary<Content> = fc.record({
  reasoning: optional(pieces),
  signature: optional(base64),
  text: optional(pieces),
  probabilities: optional(fc.array(probability, { minLength: 1, maxLength: 3 })),
  source: optional(word.map((each) => `https://example.com/${each}`)),
  refusal: fc.option(pieces, { nil: undefined, freq: 4 }),
  image: optional(base64),
  calls: fc.array(fc.record({ id: callId, name: word, arguments: callArguments }), { maxLength: 3 }),
  isCut: fc.boolean(),
});

/** What a response may hold besides text, reasoning, refusals and calls. */
export interface ResponseVocabulary {
  readonly candidates: number;
  readonly images: boolean;
  /** Reasoning has Anthropic's signature. */
  readonly signatures: boolean;
}

export function responses({
  candidates,
  images,
  signatures,
}: ResponseVocabulary): fc.Arbitrary<readonly ConversationEvent[]> {
  return fc
    .array(content, { minLength: 1, maxLength: candidates })
    .map((all) => [
      { type: 'start', model: 'the-model' },
      ...all.flatMap((each, at) =>
        eventsOf({ ...each, ...(!images && { image: undefined }), ...(!signatures && { signature: undefined }) }, at),
      ),
    ]);
}

function eventsOf(given: Content, index: number): readonly ConversationEvent[] {
  const candidate = index === 0 ? {} : { candidate: index };
  const { reasoning = [], signature, text = [], probabilities, source, refusal = [], image, calls } = given;
  const length = text.join('').length;
  const events: (ConversationEvent | false | undefined)[] = [
    ...reasoning.map((each): ConversationEvent => ({ type: 'reasoning-delta', ...candidate, text: each })),
    reasoning.length > 0 && {
      type: 'reasoning-end',
      ...candidate,
      proof: signature === undefined ? undefined : { maker: 'Anthropic', signature },
    },
    text.length > 0 && probabilities && { type: 'log-probabilities', ...candidate, tokens: probabilities },
    ...text.map((each): ConversationEvent => ({ type: 'text-delta', ...candidate, text: each })),
    text.length > 0 &&
      source !== undefined && { type: 'citation', ...candidate, url: source, title: 'a', start: 0, end: length },
    ...refusal.map((each): ConversationEvent => ({ type: 'refusal-delta', ...candidate, text: each })),
    image !== undefined && { type: 'image', ...candidate, mediaType: 'image/png', data: image },
    ...calls.flatMap(({ id, name, arguments: value }, at): readonly ConversationEvent[] => [
      { type: 'call-start', ...candidate, id: `${id}_${index}x${at}`, name },
      { type: 'call-delta', ...candidate, text: JSON.stringify(value) },
      { type: 'call-end', ...candidate },
    ]),
    { type: 'finish', ...candidate, ...endOf(given) },
  ];
  return events.filter((event) => event !== undefined && event !== false);
}

function endOf({ refusal, calls, isCut }: Content): {
  readonly reason: FinishReason;
  readonly detail: string | undefined;
} {
  if (refusal) return { reason: 'Refusal', detail: refusal.join('') };
  const reason = isCut ? 'Length' : calls.length > 0 ? 'ToolCalls' : 'Stop';
  return { reason, detail: undefined };
}

const tokens = fc.integer({ min: 1, max: 100_000 });

export const usages: fc.Arbitrary<ReportedUsage> = fc
  .record({
    input: tokens,
    cached: tokens,
    cacheWrite5m: tokens,
    output: tokens,
    reasoning: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ reasoning, output, ...counts }) => ({
    ...counts,
    cacheWrite1h: undefined,
    output: output + reasoning,
    details: { reasoning },
    serviceTier: 'standard',
  }));
