/**
 * A status book that is written when somebody reads it. On one machine statuses are for people who ask; ten thousand of them are
 * not to be put into words before the first call can be answered.
 */
import { openStatusBook } from './status-book.ts';
import type { StatusBook } from './status-book.ts';

export interface PatientBook extends StatusBook {
  /** To be entered before the book is used next. */
  later(entry: (book: StatusBook) => void): void;
}

/** What was observed, and what the proxy said of it. */
const MOST_WAITING = 2;

/** `onChanged` as of openStatusBook. */
export function openPatientBook(onChanged?: (id: string) => void): PatientBook {
  const book = openStatusBook(onChanged);
  const waiting: ((book: StatusBook) => void)[] = [];

  function current(): StatusBook {
    for (const enter of waiting.splice(0)) enter(book);
    return book;
  }

  return {
    later(entry) {
      if (waiting.length >= MOST_WAITING) current();
      waiting.push(entry);
    },
    observe: (...observed) => current().observe(...observed),
    programmed: (nowMs) => current().programmed(nowMs),
    rejected: (faults, nowMs) => current().rejected(faults, nowMs),
    spent: (id, spending, nowMs) => current().spent(id, spending, nowMs),
    knowsSpending: (id) => current().knowsSpending(id),
    refused: (id, refusal) => current().refused(id, refusal),
    expire: (nowMs) => current().expire(nowMs),
    judge: (ids, verdict, nowMs) => current().judge(ids, verdict, nowMs),
    list: () => current().list(),
    get: (id) => current().get(id),
    clear: () => current().clear(),
  };
}
