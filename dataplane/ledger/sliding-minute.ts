/**
 * [P] What was taken in the last 60 seconds, counted by second. What is taken counts until 60 seconds after the end of
 * its second, so that no 60 seconds ever have more than the limit, and what was taken is free again up to a second later.
 */

const SECONDS = 60;

interface Second {
  /** Since the epoch. */
  readonly at: number;
  amount: number;
}

export interface SlidingMinute {
  /** Oldest first. */
  seconds: Second[];
  sum: number;
}

export function createSlidingMinute(): SlidingMinute {
  return { seconds: [], sum: 0 };
}

/** The second that a moment is in. */
export function secondOf(nowMs: number): number {
  return Math.floor(nowMs / 1000);
}

/** Forgets what no longer counts. A clock that is set back keeps what is there. */
export function forgetOld(minute: SlidingMinute, nowMs: number): void {
  const first = minute.seconds.findIndex(({ at }) => at + SECONDS >= secondOf(nowMs));
  const old = minute.seconds.splice(0, first === -1 ? minute.seconds.length : first);
  for (const { amount } of old) minute.sum -= amount;
}

/** Adds to what was taken in a second; a negative amount gives back. What no longer counts is forgotten by forgetOld. */
export function addToSecond(minute: SlidingMinute, second: number, amount: number): void {
  const known = minute.seconds.find(({ at }) => at === second);
  if (known) known.amount += amount;
  else if (amount > 0) insert(minute, { at: second, amount });
  else return;
  minute.sum += amount;
}

/** After how many milliseconds so much more can be taken under the limit; Infinity: it is more than the limit. */
export function waitMs({ seconds, sum }: SlidingMinute, { amount, limit }: Take, nowMs: number): number {
  let left = sum;
  if (amount === 0 || left + amount <= limit) return 0;
  for (const second of seconds) {
    left -= second.amount;
    if (left + amount <= limit) return endOf(second) - nowMs;
  }
  return Infinity;
}

interface Take {
  readonly amount: number;
  readonly limit: number;
}

/** After how many milliseconds nothing counts any more. */
export function emptyInMs({ seconds }: SlidingMinute, nowMs: number): number {
  const last = seconds.at(-1);
  return last ? endOf(last) - nowMs : 0;
}

function endOf({ at }: Second): number {
  return (at + SECONDS + 1) * 1000;
}

function insert({ seconds }: SlidingMinute, second: Second): void {
  const next = seconds.findIndex(({ at }) => at > second.at);
  seconds.splice(next === -1 ? seconds.length : next, 0, second);
}
