/**
 * Decides what the provider does with one attempt at one channel, by seed, round, call and channel alone. `replyOf`
 * makes the answer, with whose figures the ledger is reconciled.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CUT, RESET, STALL } from '../support/mock-provider.ts';
import type { Reply, Step } from '../support/mock-provider.ts';
import {
  anthropicError,
  anthropicMessage,
  anthropicStream,
  json,
  openaiChat,
  openaiError,
  openaiImages,
  openaiStream,
  sse,
} from '../support/provider-answers.ts';
import type { ChannelName, Protocol } from './config.ts';
import { between, diceOf, weighted } from './dice.ts';
import type { Dice } from './dice.ts';
import { anthropicFigures, figuresOf, openaiFigures, withoutQuotes } from './figures.ts';
import type { Figures, FiguresAsked, Lie } from './figures.ts';
import { QUALITIES, REGION, SIZES, TIER } from './price-extras.ts';
import type { Look } from './price-extras.ts';

/** The properties of a request that decide its answer. */
export interface Asked extends FiguresAsked {
  readonly n: number;
  readonly channel: ChannelName;
  readonly stream: boolean;
  /** Output limit; undefined: none was sent. */
  readonly limit: number | undefined;
  /** Of images. */
  readonly look: Look;
  /** Of videos; 0: none. */
  readonly seconds: number;
}

export type Fate =
  | { readonly kind: 'refusal'; readonly status: number; readonly headMs: number }
  /** No byte of an answer is sent. */
  | { readonly kind: 'silence'; readonly how: 'cut' | 'reset' | 'stall'; readonly headMs: number }
  | { readonly kind: 'garbage'; readonly what: keyof typeof GARBAGE; readonly headMs: number }
  | AnswerFate;

export interface AnswerFate {
  readonly kind: 'answer';
  readonly headMs: number;
  readonly pieces: readonly string[];
  readonly pieceMs: number;
  readonly lie: Lie;
  /** The figures of usage; undefined: the answer has none. */
  readonly figures: Figures | undefined;
  /** The fraction of its steps after which the answer breaks off, and how; undefined: it ends well. */
  readonly broken: { readonly part: number; readonly how: 'cut' | 'reset' | 'stall' | 'error event' } | undefined;
  /** The service tier in its usage, or beside it; undefined: the answer names none. */
  readonly tier: string | undefined;
  /** The region in its usage, for channels of Anthropic's protocol; undefined: the answer names none. */
  readonly region: string | undefined;
  /** What it says of its images. */
  readonly look: Look;
  /** The length of its video as it says it, which may be false, and need not be a number. */
  readonly seconds: unknown;
  readonly videoId: string;
  /** Whether a stream has comments, unknown events and malformed events in between. */
  readonly noise: boolean;
}

/** A character that only generated text has, so that clients can count how much of it they saw. */
export const LETTER = '\u00a7';
export const LETTER_BYTES = 2;
const GARBAGE = {
  html: { type: 'text/html', body: '<html><body>502 Bad Gateway</body></html>' },
  empty: { type: 'application/json', body: '' },
  truncated: { type: 'application/json', body: '{"id":"x","choices":[{"index":0,"mess' },
  'other JSON': { type: 'application/json', body: '{"status":"ok"}' },
  bytes: { type: 'application/octet-stream', body: '\u0000\u0001\u0002 \ufffd' },
} as const;

export function fateOf(seed: number, round: number, asked: Asked): Fate {
  const dice = diceOf('fate', seed, round, asked.n, asked.channel);
  const headMs = dice.chance(0.5) ? 0 : dice.int(dice.chance(0.2) ? 900 : 150);
  switch (weighted(dice, { answer: 84, refusal: 9, silence: 4, garbage: 3 })) {
    case 'refusal':
      return {
        kind: 'refusal',
        headMs,
        status: dice.pick([429, 429, 500, 503, 529, 529, 408, 400, 401]),
      };
    case 'silence':
      return { kind: 'silence', headMs, how: weighted(dice, { cut: 3, reset: 3, stall: 2 }) };
    case 'garbage':
      return {
        kind: 'garbage',
        headMs,
        // bytes of any kind are speech
        what: dice.pick([
          'html',
          'empty',
          'truncated',
          'other JSON',
          asked.kind === 'speech' ? 'html' : 'bytes',
        ] as const),
      };
    case 'answer':
      return answerFate(dice, asked, headMs);
  }
}

function answerFate(dice: Dice, asked: Asked, headMs: number): Fate {
  const limit = asked.limit ?? 1_000;
  const pieces = Array.from({ length: Math.min(limit, between(dice, 1, 14)) }, () =>
    LETTER.repeat(between(dice, 1, 60)),
  );
  const lie = weighted<Lie>(dice, {
    honest: 50,
    most: 8,
    none: 10,
    zero: 3,
    less: 4,
    more: 7,
    negative: 3,
    huge: 0.3,
    'beyond belief': 3,
    NaN: 3,
    text: 2,
    fraction: 3,
    half: 3,
  });
  return {
    kind: 'answer',
    headMs,
    pieces,
    lie,
    pieceMs: dice.chance(0.5) ? 0 : dice.int(120),
    figures: figuresOf(dice, lie, asked, { least: pieces.length, limit }),
    broken: dice.chance(0.2)
      ? { part: dice.next(), how: weighted(dice, { cut: 3, reset: 3, stall: 2, 'error event': 2 }) }
      : undefined,
    noise: dice.chance(0.1),
    tier: asked.kind === 'chat' && dice.chance(lie === 'most' ? 0.7 : 0.25) ? TIER : undefined,
    region: asked.protocol === 'Anthropic' ? dice.pick([REGION, 'global', undefined]) : undefined,
    look: asked.kind === 'images' ? lookOf(dice, asked) : {},
    seconds: secondsOf(dice, asked),
    videoId: `video_${dice.int(2 ** 31)}_${dice.int(2 ** 31)}`,
  };
}

/** What was asked for, less, more, or what no video has. */
function secondsOf(dice: Dice, { seconds }: Asked): unknown {
  const less = between(dice, 1, Math.max(1, seconds));
  const odd = [undefined, null, 0, -1, 1e300, '', 'long', [8], 86_401, '0x8', '1e3'];
  const said = dice.pick([seconds, less, less - 0.5, seconds + 1, seconds * 1_000, dice.pick(odd)]);
  return typeof said === 'number' && dice.chance(0.5) ? String(said) : said;
}

/** What was asked for, or nothing, or something else. */
function lookOf(dice: Dice, { look }: Asked): Look {
  const named = (wish: string | undefined, all: readonly string[]): string | undefined =>
    dice.chance(0.4) ? undefined : dice.chance(0.6) ? (wish ?? dice.pick(all)) : dice.pick([...all, '9x9']);
  return { size: named(look.size, SIZES), quality: named(look.quality, QUALITIES) };
}

/** The reply of a fate. `marked` is called when the last step begins: everything before it has been sent. */
export function replyOf(fate: Fate, asked: Asked, marked: () => void): Reply {
  const before = [wait(fate.headMs)];
  switch (fate.kind) {
    case 'refusal':
      return { ...refusal(fate.status, asked.protocol), beforeHead: [...before, mark(marked)] };
    case 'silence':
      return { beforeHead: [...before, mark(marked), ENDS[fate.how]], steps: [] };
    case 'garbage':
      return {
        headers: { 'content-type': GARBAGE[fate.what].type },
        beforeHead: [...before, mark(marked)],
        steps: [GARBAGE[fate.what].body],
      };
    case 'answer':
      return { ...answered(fate, asked, mark(marked)), beforeHead: before };
  }
}

const ENDS = { cut: CUT, reset: RESET, stall: STALL } as const;

function refusal(status: number, protocol: Protocol): Reply {
  const headers = status === 429 ? { 'retry-after': '1' } : {};
  return protocol === 'OpenAI'
    ? openaiError(status, 'refused by the mock', { headers })
    : anthropicError(status, status === 529 ? 'overloaded_error' : 'api_error', 'refused by the mock', headers);
}

function answered(fate: AnswerFate, asked: Asked, marked: Step): Reply {
  const whole = wholeAnswer(fate, asked);
  const steps = asked.stream ? paced(fate, whole.steps) : halved(whole.steps);
  if (!fate.broken) return { ...whole, steps: steps.toSpliced(-1, 0, marked) };
  const at = Math.floor(fate.broken.part * steps.length);
  return { ...whole, steps: [...steps.slice(0, at), marked, ...brokenEnd(fate.broken.how, asked)] };
}

function brokenEnd(how: NonNullable<AnswerFate['broken']>['how'], { protocol, stream }: Asked): Step[] {
  if (how !== 'error event') return [ENDS[how]];
  if (!stream) return [CUT];
  return [
    protocol === 'OpenAI'
      ? sse({ data: { error: { message: 'the mock is tired', type: 'server_error', code: null } } })
      : sse({
          event: 'error',
          data: { type: 'error', error: { type: 'overloaded_error', message: 'the mock is tired' } },
        }),
  ];
}

function wholeAnswer(fate: AnswerFate, asked: Asked): Reply {
  const { figures, pieces } = fate;
  if (asked.kind === 'images') return openaiImages(asked.answers, { ...fate.look });
  if (asked.kind === 'speech') return spoken(pieces);
  if (asked.kind === 'videos')
    return json({ id: fate.videoId, object: 'video', status: 'completed', seconds: fate.seconds });
  if (asked.kind === 'embeddings')
    return unquoted(
      json({
        object: 'list',
        model: 'mock',
        data: [
          {
            object: 'embedding',
            index: 0,
            embedding: [0.5],
          },
        ],
        ...(figures ? { usage: openaiFigures(figures) } : {}),
      }),
    );
  if (asked.protocol === 'OpenAI') {
    const usage = figures ? openaiFigures(figures) : null;
    const options = { usage, ...(fate.tier !== undefined && { extra: { service_tier: fate.tier } }) };
    return unquoted(asked.stream ? openaiStream(pieces, options) : openaiChat({ content: pieces, ...options }));
  }
  const usage = figures ? anthropicFigures(figures, fate) : null;
  return unquoted(asked.stream ? anthropicStream(pieces, { usage }) : anthropicMessage({ content: pieces, usage }));
}

/** More audio than the gateway holds back for the end. */
function spoken(pieces: readonly string[]): Reply {
  const bytes = `ID3${'~'.repeat(1_000)}`.repeat(pieces.length);
  return { headers: { 'content-type': 'audio/mpeg' }, steps: [{ kind: 'send', bytes, tokens: 1 }] };
}

function unquoted(reply: Reply): Reply {
  return {
    ...reply,
    steps: reply.steps.map((step): Step => {
      if (typeof step === 'string') return withoutQuotes(step);
      return 'bytes' in step && typeof step.bytes === 'string' ? { ...step, bytes: withoutQuotes(step.bytes) } : step;
    }),
  };
}

/** Sends the pieces with pauses and noise in between. */
function paced({ pieceMs, noise }: AnswerFate, steps: readonly Step[]): Step[] {
  const noises = [': still here\n\n', 'data: {"no": json\n\n', 'event: unheard-of\ndata: {"type":"unheard-of"}\n\n'];
  return steps.flatMap((step, index) => [
    ...(pieceMs > 0 && index > 0 ? [wait(pieceMs)] : []),
    ...(noise && index > 0 && index <= noises.length ? [noises[index - 1] as string] : []),
    step,
  ]);
}

/** Cuts an answer into two pieces, so that it can break off between them. */
function halved(steps: readonly Step[]): Step[] {
  const bytes = Buffer.concat(
    steps.map((step) => Buffer.from(typeof step === 'object' && 'bytes' in step ? (step.bytes as string) : '')),
  );
  return [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)];
}

function wait(ms: number): Step {
  return gateOf(async () => {
    if (ms > 0) await sleep(ms);
  });
}

function mark(marked: () => void): Step {
  return gateOf(() => Promise.resolve(marked()));
}

/** A gate that opens by itself. */
function gateOf(pass: () => Promise<void>): Step {
  return { kind: 'gate', reached: Promise.resolve(), open: () => undefined, pass };
}
