/** [P] What a status says: its name, how bad it is, and why. */

/** bad: calls are refused. quiet: it is intended. info: it is temporary. */
export type StatusTone = 'good' | 'warn' | 'bad' | 'info' | 'quiet';

export interface StatusMark {
  readonly label: string;
  readonly tone: StatusTone;
  /** Why, and what to do; empty: no explanation is needed. */
  readonly message: string;
}
