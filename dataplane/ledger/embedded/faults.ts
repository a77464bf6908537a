/**
 * Faults of the disk on demand, for tests of what happens then: one shared integer that the journal's writer and the
 * file's thread look at around each write. Without it nothing happens here.
 */

/** The values of the integer. */
export const FAULT = {
  none: 0,
  /** A write to the journal fails, and nothing is written. */
  commitFails: 1,
  /** Everything is written to the journal, but the answer says that it failed. */
  answerFails: 2,
  /** The journal's disk takes nothing until the value changes. */
  stalls: 3,
  /** The file's thread ends in the middle of its transaction. */
  threadDies: 4,
  /** A write to the journal ends half-way. */
  writeTears: 5,
  /** The disk says that it could not keep the journal (`--ledger-sync full`). */
  syncFails: 6,
  /** The file takes nothing; the journal works. */
  fileFails: 7,
} as const;

type Moment = 'BeforeWrite' | 'AfterWrite' | 'AfterSync' | 'WithinCheckpoint';

/** Where each fault happens, and what is said of it. */
const FAILING: Readonly<Record<Moment, readonly number[]>> = {
  BeforeWrite: [FAULT.commitFails, FAULT.writeTears], AfterWrite: [FAULT.answerFails],
  AfterSync: [FAULT.syncFails], WithinCheckpoint: [FAULT.fileFails],
};

export function injectFault(faults: Int32Array | undefined, moment: Moment, tear?: () => void): void {
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
