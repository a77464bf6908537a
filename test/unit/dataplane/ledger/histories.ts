/**
 * Random histories of a few keys and calls, for what is compared with the model.
 */
import fc from 'fast-check';
import type { QuotaPeriod } from '#ledger/spending.ts';
import type { HoldRequest, JobBill, Settlement } from '../../../../dataplane/ledger/ledger.ts';
import { DAY_MS, holdRequest, NOON_MS, progress, settlement } from './calls.ts';
import type { AccountWindow, Spending } from './calls.ts';

export type Step =
  | {
      readonly kind: 'hold';
      readonly slot: number;
      readonly amount: bigint;
      readonly minimum: number;
      readonly progress: bigint;
      readonly stale: boolean;
    }
  | { readonly kind: 'confirm' | 'withdraw'; readonly slot: number }
  | { readonly kind: 'progress' | 'settle' | 'settleAgain'; readonly slot: number; readonly cost: bigint }
  /** The job of a slot's latest settled call ends, with this bill. */
  | { readonly kind: 'finish'; readonly slot: number; readonly cost: bigint }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'setBack' }
  | { readonly kind: 'flush' | 'crash' }
  | {
      readonly kind: 'editKey';
      readonly key: number;
      readonly limit: bigint | null;
      readonly period: QuotaPeriod;
      readonly timeZone: string;
    }
  | {
      readonly kind: 'editAccount';
      readonly account: number;
      readonly credit: bigint;
      readonly limits: readonly AccountWindow[];
    };

/** Clocks are changed in two of them between the histories' beginning and the days that they reach. */
export const TIME_ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Auckland', 'Asia/Kathmandu'];
const timeZone = fc.constantFrom(...TIME_ZONES);

export const PERIODS = ['Never', 'Daily', 'Weekly', 'Monthly'] as const satisfies readonly QuotaPeriod[];
const slot = fc.nat({ max: 6 });
const amount = fc.bigInt({ min: 0n, max: 70n });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('hold' as const),
      slot,
      amount,
      minimum: fc.nat({ max: 100 }),
      progress: amount,
      stale: fc.integer({ min: 0, max: 9 }).map((n) => n === 9),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('confirm' as const), slot }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('withdraw' as const), slot }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('progress' as const), slot, cost: amount }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('settle' as const), slot, cost: amount }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('settleAgain' as const), slot, cost: amount }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('finish' as const), slot, cost: amount }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 3_600_000, DAY_MS, 20 * DAY_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('setBack' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('flush' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('editKey' as const),
      key: fc.nat({ max: 2 }),
      limit: fc.option(fc.bigInt({ min: 0n, max: 250n })),
      period: fc.constantFrom(...PERIODS),
      timeZone,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('editAccount' as const),
      account: fc.nat({ max: 1 }),
      credit: fc.bigInt({ min: -50n, max: 500n }),
      limits: fc.array(
        fc.record({
          amountNanoUsd: fc.bigInt({ min: 0n, max: 250n }),
          window: fc.constantFrom('Total' as const, 'Day' as const, 'Week' as const, 'Month' as const),
          timeZone,
        }),
        { maxLength: 3 },
      ),
    }),
  },
);

export const histories = fc.array(step, { minLength: 1, maxLength: 120, size: 'max' });

export const KEYS = ['key-0', 'key-1', 'key-2'];
export const ACCOUNTS = ['team-a/a', 'team-b/b'];

/** The configuration and the clock that a history goes through. Keys 0 and 1 share an account. */
export class HistoryState {
  nowMs = NOON_MS;
  readonly #keys = KEYS.map(() => ({
    limit: 120n as bigint | null,
    period: 'Never' as QuotaPeriod,
    timeZone: 'UTC',
    generation: 1n,
  }));
  readonly #accounts = ACCOUNTS.map(() => ({ credit: 300n, limits: [] as readonly AccountWindow[], generation: 1n }));
  readonly #epochs = new Map<number, number>();
  #latestMs = NOON_MS;

  /** The call that is running in a slot, or the next one. */
  callId(slot: number): string {
    return `call-${slot}-${this.#epochs.get(slot) ?? 0}`;
  }

  /** The slot's call is over. */
  endCall(slot: number): void {
    this.#epochs.set(slot, (this.#epochs.get(slot) ?? 0) + 1);
  }

  previousCallId(slot: number): string {
    return `call-${slot}-${(this.#epochs.get(slot) ?? 0) - 1}`;
  }

  edit(step: Extract<Step, { kind: 'editKey' | 'editAccount' }>): void {
    if (step.kind === 'editKey')
      Object.assign(this.#keys[step.key]!, {
        limit: step.limit,
        period: step.period,
        timeZone: step.timeZone,
        generation: this.#keys[step.key]!.generation + 1n,
      });
    else
      Object.assign(this.#accounts[step.account]!, {
        credit: step.credit,
        limits: step.limits,
        generation: this.#accounts[step.account]!.generation + 1n,
      });
  }

  /** Forwards by so much, or back by a day from the latest moment. */
  turnClock(step: Extract<Step, { kind: 'pass' | 'setBack' }>): void {
    this.nowMs = step.kind === 'pass' ? this.nowMs + step.ms : this.#latestMs - DAY_MS;
    this.#latestMs = Math.max(this.#latestMs, this.nowMs);
  }

  request(step: Extract<Step, { kind: 'hold' }>): HoldRequest {
    const key = step.slot % KEYS.length;
    const account = key === 2 ? 1 : 0;
    const { limit, period, timeZone, generation } = this.#keys[key]!;
    const limits: Spending = {
      keyLimitNanoUsd: limit,
      period,
      timeZone,
      keyGeneration: step.stale ? generation - 1n : generation,
      accountCreditNanoUsd: this.#accounts[account]!.credit,
      accountGeneration: this.#accounts[account]!.generation,
      accountLimits: this.#accounts[account]!.limits,
    };
    const origin = { keyUid: KEYS[key]!, account: ACCOUNTS[account]!, createdMs: this.nowMs };
    return holdRequest(this.callId(step.slot), step.amount, {
      origin,
      limits,
      minimum: (step.amount * BigInt(step.minimum)) / 100n,
      progress: progress(step.progress),
    });
  }
}

/** A settlement that charges what its job's bill replaces. */
export function chargeFor(callId: string, costNanoUsd: bigint): Settlement {
  return settlement(callId, costNanoUsd, { job: { jobId: callId, pollMs: NOON_MS, terms: 'terms' } });
}

export function billOf(costNanoUsd: bigint): JobBill {
  return { status: 'Succeeded', progress: progress(costNanoUsd) };
}
