/** The steps of the contract's scenarios. */
import type { Ledger } from '../../../../dataplane/ledger/ledger.ts';
import type { TestClock } from './calls.ts';

export interface LedgerUnderTest {
  readonly ledger: Ledger;
  /** The process dies without closing anything, and the next one opens its data (and reaps it). */
  crash(): Promise<LedgerUnderTest>;
  /** It is closed and opened again. */
  reopen(): Promise<LedgerUnderTest>;
  /** Closes it, and its successors after a crash or a reopening. */
  close(): Promise<void>;
}

export type OpenLedger = (clock: TestClock) => Promise<LedgerUnderTest>;

export type Scenario = (subject: LedgerUnderTest, clock: TestClock) => Promise<void>;

export type AddScenario = (title: string, body: Scenario) => void;

export const HELD = (heldNanoUsd: bigint) => ({ outcome: 'Held', heldNanoUsd });
export const SHORT = (short: string, availableNanoUsd: bigint) => ({
  outcome: 'Short',
  short,
  availableNanoUsd,
});
