/**
 * Injects disk faults for tests: the ledger's file and its checkpoint thread check a shared integer. Without the integer
 * nothing happens.
 */

/** The values of the integer. */
export const FAULT = {
  none: 0,
  /** A commit fails, and its transaction is rolled back. */
  commitFails: 1,
  /** Another program has the file locked. */
  stalls: 2,
  /** The checkpoint thread exits. */
  threadDies: 3,
  /** Syncs of the log (`--ledger-sync full`) and checkpoints fail. */
  syncFails: 4,
  /** Checkpoints fail; commits work. */
  checkpointFails: 5,
} as const;

type FaultPoint = 'WithinCommit' | 'AfterSync' | 'WithinCheckpoint';

/** The faults that make each point fail. */
const FAILING: Readonly<Record<FaultPoint, readonly number[]>> = {
  WithinCommit: [FAULT.commitFails],
  AfterSync: [FAULT.syncFails],
  WithinCheckpoint: [FAULT.syncFails, FAULT.checkpointFails],
};

export function injectFault(faults: Int32Array | undefined, moment: FaultPoint): void {
  if (!faults) return;
  const fault = Atomics.load(faults, 0);
  if (moment === 'WithinCheckpoint' && fault === FAULT.threadDies) process.exit(1);
  if (FAILING[moment].includes(fault)) throw new Error(`injected: fault ${fault}`);
}

export function isStalled(faults: Int32Array | undefined): boolean {
  return faults !== undefined && Atomics.load(faults, 0) === FAULT.stalls;
}
