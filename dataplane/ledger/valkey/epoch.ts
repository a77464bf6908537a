/** Types of an epoch and of what a process restores in a bucket whose store has lost data. */
import type { Operation } from './operations.ts';

/** Why a process restores data: it has just started, or the store was empty, or had lost its latest writes. */
export type RestoreReason = 'Start' | 'Empty' | 'Lost';

/** An epoch of a bucket. Its changes are numbered from `start`; those of earlier epochs have lower numbers. */
export interface Epoch {
  readonly id: string;
  readonly start: number;
}

export interface RestorePlan {
  /** Operations to send at once. */
  readonly operations: readonly Operation[];
  /**
   * Settlements that the previous epoch may have lost. They are sent after the refill, when it is known what the store
   * has.
   */
  readonly late: readonly Operation[];
}

export interface RestoreResult {
  readonly reason: RestoreReason;
  /** How many operations restored something that the store did not have. */
  readonly restored: number;
  /** The epoch from now on. */
  readonly epoch: Epoch;
}
