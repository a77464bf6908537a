/**
 * Injects disk faults for tests: the journal's writer and the file's thread check a shared integer around each write.
 * Without the integer nothing happens.
 */

/** The values of the integer. */
export const FAULT = {
  none: 0,
  /** A write to the journal fails, and nothing is written. */
  commitFails: 1,
  /** A write to the journal succeeds but reports a failure. */
  answerFails: 2,
  /** Writes to the journal block until the value changes. */
  stalls: 3,
  /** The file's thread exits within its transaction. */
  threadDies: 4,
  /** A write to the journal fails half-way. */
  writeTears: 5,
  /** A sync of the journal fails (`--ledger-sync full`). */
  syncFails: 6,
  /** Checkpoints fail; the journal works. */
  fileFails: 7,
} as const;

type FaultPoint = 'BeforeWrite' | 'AfterWrite' | 'AfterSync' | 'WithinCheckpoint';

/** The faults that make each point fail. */
const FAILING: Readonly<Record<FaultPoint, readonly number[]>> = {
  BeforeWrite: [FAULT.commitFails, FAULT.writeTears],
  AfterWrite: [FAULT.answerFails],
  AfterSync: [FAULT.syncFails],
  WithinCheckpoint: [FAULT.fileFails],
};

export function injectFault(faults: Int32Array | undefined, moment: FaultPoint, tear?: () => void): void {
  if (!faults) return;
  const fault = Atomics.load(faults, 0);
  if (moment === 'WithinCheckpoint' && fault === FAULT.threadDies) process.exit(1);
  if (!FAILING[moment].includes(fault)) return;
  if (fault === FAULT.writeTears) tear?.();
  throw new Error(`injected: fault ${fault}`);
}

export function isStalled(faults: Int32Array | undefined): boolean {
  return faults !== undefined && Atomics.load(faults, 0) === FAULT.stalls;
}
