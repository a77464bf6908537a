/**
 * Faults of the file on demand, for tests of what happens then: one shared integer that the file's thread looks at around
 * each commit. Without it nothing happens here.
 */

/** The values of the integer. */
export const FAULT = {
  none: 0,
  /** The commit fails, and nothing is written. */
  commitFails: 1,
  /** Everything is written, but the answer says that it failed. */
  answerFails: 2,
  /** The commit hangs until the value changes. */
  stalls: 3,
  /** The thread ends in the middle of the transaction. */
  threadDies: 4,
} as const;

export function injectFault(faults: Int32Array | undefined, moment: 'BeforeCommit' | 'AfterCommit'): void {
  if (!faults) return;
  const fault = Atomics.load(faults, 0);
  if (moment === 'AfterCommit') {
    if (fault === FAULT.answerFails) throw new Error('injected: the answer is lost');
    return;
  }
  if (fault === FAULT.commitFails) throw new Error('injected: the commit fails');
  if (fault === FAULT.stalls) Atomics.wait(faults, 0, FAULT.stalls);
  if (fault === FAULT.threadDies) process.exit(1);
}
