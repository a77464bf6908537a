/** A response, whole or streamed, that is written for a client and read as its provider's is the response that it was. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import type { ReportedUsage } from '../../../../../dataplane/protocol/converter.ts';
import type { ConversationEvent } from '../../../../../dataplane/protocol/conversation/events.ts';
import { fold } from '../../../../../dataplane/protocol/conversation/response.ts';
import type {
  Candidate,
  ConversationResponse,
  ResponsePart,
} from '../../../../../dataplane/protocol/conversation/response.ts';
import type { EventReader, ReadResponse } from '../../../../../dataplane/protocol/providers/chat-provider.ts';
import { SseFramer } from '../../../../../dataplane/protocol/sse.ts';
import type { SseEvent } from '../../../../../dataplane/protocol/sse.ts';
import { responses, usages } from './arbitrary-responses.ts';
import type { ResponseVocabulary } from './arbitrary-responses.ts';
import { SIDES } from './round-trips.ts';
import type { Side } from './round-trips.ts';

const RUNS = { numRuns: 100 };
const ID = 'req-1';
/** The client asks to see thoughts, and there is nothing to seal. */
const NOTES = { includeThoughts: true };
const CONTEXT = { id: ID, createdSeconds: 1, nowSeconds: () => 1, model: 'the-model', notes: NOTES, seal: undefined };

/** What a response in a dialect holds of what there is. */
interface Holds extends ResponseVocabulary {
  readonly citations: boolean;
  readonly probabilities: boolean;
  /** What the model says when it refuses is no text. */
  readonly refusals: boolean;
  readonly model: boolean;
  readonly usage: (usage: ReportedUsage) => ReportedUsage;
}

const same = (usage: ReportedUsage): ReportedUsage => usage;
const ALL: Holds = {
  candidates: 3,
  images: true,
  // other clients keep proofs in forms of the gateway's (kept-reasoning.test.ts)
  signatures: false,
  citations: true,
  probabilities: true,
  refusals: true,
  model: true,
  usage: same,
};
const HOLDS: Readonly<Record<Side['client']['dialect'], Holds>> = {
  OpenAI: ALL,
  Responses: { ...ALL, candidates: 1 },
  Anthropic: {
    ...ALL,
    candidates: 1,
    images: false,
    signatures: true,
    citations: false,
    probabilities: false,
    refusals: false,
  },
  Gemini: {
    ...ALL,
    citations: false,
    refusals: false,
    model: false,
    // Gemini's usage counts cache writes as plain input, and names no service tier that the others know
    usage: ({ input = 0, cacheWrite5m = 0, serviceTier: _other, ...usage }) => ({
      ...usage,
      input: input + cacheWrite5m,
      cacheWrite5m: undefined,
    }),
  },
};

function expected({ model, candidates, error }: ConversationResponse, holds: Holds): ConversationResponse {
  return {
    model: holds.model ? model : undefined,
    candidates: candidates.map((candidate) => expectedCandidate(candidate, holds)),
    error,
  };
}

function expectedCandidate({ parts, citations, logProbabilities, finish }: Candidate, holds: Holds): Candidate {
  return {
    parts: parts.map((part) => (part.type === 'Refusal' && !holds.refusals ? { ...part, type: 'Text' } : part)),
    citations: holds.citations ? citations : [],
    logProbabilities: holds.probabilities ? logProbabilities : [],
    finish,
  };
}

/** Texts that follow each other are one, and arguments a value. */
function plain({ candidates, ...response }: ConversationResponse): unknown {
  return {
    ...response,
    candidates: candidates.map(({ parts, citations, ...candidate }) => ({
      ...candidate,
      citations: citations.map(({ candidate: _same, ...citation }) => citation),
      parts: joined(parts).map((part) =>
        part.type === 'ToolCall' ? { ...part, arguments: JSON.parse(part.arguments || '{}') as unknown } : part,
      ),
    })),
  };
}

function joined(parts: readonly ResponsePart[]): readonly ResponsePart[] {
  return parts.reduce<readonly ResponsePart[]>((before, part) => {
    const last = before.at(-1);
    if (part.type !== 'Text' || last?.type !== 'Text') return [...before, part];
    return [...before.slice(0, -1), { ...last, text: last.text + part.text }];
  }, []);
}

const plainUsage = (usage: ReportedUsage): unknown =>
  Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined && value !== 0));

function readWhole(
  { client, provider }: Side,
  events: readonly ConversationEvent[],
  usage: ReportedUsage,
): ReadResponse {
  return provider.read(client.write(fold(events), usage, CONTEXT), { id: ID, notes: undefined });
}

function readStreamed(
  { client, provider }: Side,
  events: readonly ConversationEvent[],
  usage: ReportedUsage,
): ReadResponse {
  const writer = client.stream({ ...CONTEXT, usage: () => usage, wantsStreamUsage: true });
  const text = events.map((event) => writer.write(event)).join('') + writer.end();
  const reader = provider.stream({ id: ID, notes: undefined });
  const read = [...eventsIn(text)].flatMap((event) => [...reader.read(event)]);
  return { events: [...read, ...endOf(reader)], meter: reader.meter };
}

function endOf(reader: EventReader): readonly ConversationEvent[] {
  const rest = reader.end();
  assert.ok(rest, 'the stream was cut off');
  return rest;
}

function* eventsIn(text: string): Generator<SseEvent> {
  const framer = new SseFramer(text.length * 4);
  framer.append(Buffer.from(text));
  for (let event = framer.next(); event; event = framer.next()) yield event;
}

for (const side of SIDES)
  describe(`a response in ${side.name}`, () => {
    const holds = HOLDS[side.client.dialect];
    for (const [how, read] of [
      ['whole', readWhole],
      ['streamed', readStreamed],
    ] as const)
      test(`${how}, written and read`, () => {
        fc.assert(
          fc.property(responses(holds), usages, (events, usage) => {
            const { events: found, meter } = read(side, events, usage);
            assert.deepEqual(plain(fold(found)), plain(expected(fold(events), holds)));
            assert.deepEqual(plainUsage(meter.reported), plainUsage(holds.usage(usage)));
          }),
          RUNS,
        );
      });
  });
