/** Plans the realtime sessions of a round: what their clients ask for, when they leave, and what the provider does. */
import { between, diceOf, weighted } from '../dice.ts';
import { LOAD_MS } from '../plan.ts';
import type { SessionKey } from './config.ts';

export interface SessionPlan {
  /** Unique in its round. */
  readonly n: number;
  readonly startMs: number;
  readonly key: SessionKey;
  readonly asks: readonly AskPlan[];
  /** When the client leaves within its last response; undefined: it stays until that has ended. */
  readonly leaving: { readonly at: 'asked' | 'begun' | 'text'; readonly how: 'close' | 'break' } | undefined;
}

/** What the client adds to the conversation, and the response that it asks for then. */
interface AskPlan {
  /** The length of the audio that it sends as well, which a second model transcribes; 0: none. */
  readonly audioSeconds: number;
  readonly textBytes: number;
  readonly maxTokens: number | undefined;
}

/** What the provider does with a response. */
export interface ResponseFate {
  readonly beginMs: number;
  readonly pieces: readonly string[];
  readonly pieceMs: number;
  /** Cut, Orderly: it ends the session in place of the response's end. */
  readonly end: 'Usage' | 'NoUsage' | 'Failed' | 'Cut' | 'Orderly';
  readonly input: number;
  readonly cached: number;
  /** May be more than the model can write. */
  readonly output: number;
  /** Whether it reports the usage of a response that the gateway cancels. */
  readonly heedsCancel: boolean;
}

/** What the provider does with a piece of audio. */
export interface TranscriptionFate {
  readonly delayMs: number;
  readonly pieces: readonly string[];
  readonly end: 'Usage' | 'NoUsage' | 'Failed';
  /** The reported length, which may be longer than the audio. */
  readonly seconds: number;
}

const SESSIONS = [6, 14] as const;

export function planSessions(seed: number, round: number): readonly SessionPlan[] {
  const count = between(diceOf('sessions', seed, round), ...SESSIONS);
  return Array.from({ length: count }, (_, n) => planSession(seed, round, n));
}

function planSession(seed: number, round: number, n: number): SessionPlan {
  const dice = diceOf('session', seed, round, n);
  return {
    n,
    startMs: dice.int(LOAD_MS),
    key: weighted(dice, { talk: 4, tight: 1 }),
    asks: Array.from({ length: between(dice, 1, 6) }, () => ({
      audioSeconds: dice.chance(0.35) ? between(dice, 1, 6) : 0,
      textBytes: between(dice, 10, 900),
      maxTokens: dice.chance(0.7) ? between(dice, 50, 900) : undefined,
    })),
    leaving: dice.chance(0.35)
      ? { at: dice.pick(['asked', 'begun', 'text'] as const), how: dice.pick(['close', 'break'] as const) }
      : undefined,
  };
}

/** `k`: the response's number in its session. */
export function responseFate(
  seed: number,
  round: number,
  { n, k }: { readonly n: number; readonly k: number },
): ResponseFate {
  const dice = diceOf('response', seed, round, n, k);
  const input = between(dice, 20, 3_000);
  return {
    beginMs: dice.int(150),
    pieces: Array.from({ length: dice.int(8) }, () => 'x'.repeat(between(dice, 1, 300))),
    pieceMs: dice.chance(0.5) ? 0 : dice.int(150),
    end: weighted(dice, { Usage: 76, NoUsage: 8, Failed: 4, Cut: 8, Orderly: 4 }),
    input,
    cached: dice.chance(0.4) ? dice.int(input) : 0,
    output: dice.chance(0.1) ? between(dice, 1_001, 9_000) : between(dice, 1, 1_000),
    heedsCancel: dice.chance(0.7),
  };
}

/** `j`: the number of the piece of audio in its session. */
export function transcriptionFate(
  seed: number,
  round: number,
  { n, j }: { readonly n: number; readonly j: number },
): TranscriptionFate {
  const dice = diceOf('transcription', seed, round, n, j);
  return {
    delayMs: dice.int(400),
    pieces: Array.from({ length: dice.int(4) }, () => 'x'.repeat(between(dice, 1, 80))),
    end: weighted(dice, { Usage: 76, NoUsage: 14, Failed: 10 }),
    seconds: dice.chance(0.1) ? 86_400 : between(dice, 1, 7),
  };
}
