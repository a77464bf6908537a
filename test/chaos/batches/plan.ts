/** Plans the batches of a round, and how each of their requests ends at the provider. */
import { between, diceOf } from '../dice.ts';
import type { BatchProtocol } from './config.ts';
import { BATCH_OUTPUT_TOKENS } from './config.ts';

export interface BatchPlan {
  /** Unique in its round. */
  readonly n: number;
  /** The prefix of its requests' ids, by which it is found at the provider; unique among all rounds and seeds. */
  readonly mark: string;
  readonly startMs: number;
  readonly protocol: BatchProtocol;
  /** How long the provider works on it. */
  readonly workMs: number;
  /** If expired or cancelled, the provider returns nothing for requests that have not succeeded. */
  readonly end: 'completed' | 'expired' | 'cancelled';
  /** The requests that succeed, by their ids. */
  readonly usages: ReadonlyMap<string, RequestUsage>;
  /** The ids of all requests. */
  readonly ids: readonly string[];
}

export interface RequestUsage {
  readonly input: number;
  readonly output: number;
}

const BATCHES = [3, 7] as const;
const LAST_START_MS = 8_000;

export function planBatches(seed: number, round: number): readonly BatchPlan[] {
  const count = between(diceOf('batches', seed, round), ...BATCHES);
  return Array.from({ length: count }, (_, n) => planBatch(seed, round, n));
}

function planBatch(seed: number, round: number, n: number): BatchPlan {
  const dice = diceOf('batch', seed, round, n);
  const mark = `s${seed}r${round}b${n}`;
  const ids = Array.from({ length: between(dice, 1, 60) }, (_, index) => `${mark}-${index}`);
  const end = dice.pick(['completed', 'completed', 'completed', 'expired', 'cancelled'] as const);
  const succeeded = ids.filter(() => dice.chance(end === 'completed' ? 0.9 : 0.5));
  const usageOf = (): RequestUsage => ({
    input: between(dice, 1, 60),
    output: between(dice, 1, BATCH_OUTPUT_TOKENS),
  });
  return {
    n,
    mark,
    startMs: dice.int(LAST_START_MS),
    protocol: dice.pick(['OpenAI', 'Anthropic'] as const),
    workMs: dice.int(4_000),
    end,
    ids,
    usages: new Map(succeeded.map((id) => [id, usageOf()])),
  };
}
