/** What a process restores in a bucket whose store has lost data, and the epoch that begins with it. */
import type { Operation } from './operations.ts';

/** Why a process restores data: it has just started, or the store was empty, or had lost its latest writes. */
export type RejoinReason = 'Start' | 'Empty' | 'Lost';

/** An epoch of a bucket. Its changes are numbered from `start`; those of earlier epochs have lower numbers. */
export interface Epoch {
  readonly id: string;
  readonly start: number;
}

export interface Restores {
  /** Sent at once. */
  readonly operations: readonly Operation[];
  /** Settlements that the epoch before may not have had: sent after the refill, when it is known what the store has. */
  readonly late: readonly Operation[];
}

export interface Rejoined {
  readonly reason: RejoinReason;
  /** How many operations restored something that the store did not have. */
  readonly restored: number;
  /** The epoch from now on. */
  readonly epoch: Epoch;
}
