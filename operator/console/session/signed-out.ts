/**
 * Sessions that somebody has signed out of before they would have ended by themselves: a copy of their cookie opens nothing any
 * more, here from that moment on, and elsewhere as soon as what all replicas remember has come there.
 */
import type { ConsoleMemory } from '../access/memory.ts';
import { createMutex } from '../../store/mutex.ts';
import type { Session } from './session.ts';
import { openSignedOutBook } from './signed-out-book.ts';
import type { SignedOutBounds } from './signed-out-book.ts';

export interface SignedOut {
  /** The session is over here at once. Resolves once it is kept for all, and rejects with AccessError where that cannot be said. */
  add(session: Session, nowMs: number): Promise<void>;
  has(session: Session): boolean;
}

/** Shares what it knows with all replicas. */
export function rememberSignedOut(memory: ConsoleMemory, bounds?: SignedOutBounds): SignedOut {
  const book = openSignedOutBook(bounds);
  let seen = '';
  const inTurn = createMutex();
  /** The writing that has not begun yet. */
  let next: Promise<void> | undefined;
  return {
    add(session, nowMs) {
      book.add(session);
      // who signs out while something is being written shares the next writing
      return next ??= inTurn(() => {
        next = undefined;
        return memory.change('signedOut', (text) => {
          book.load(text);
          return book.text(nowMs);
        });
      });
    },
    has(session) {
      const text = memory.read('signedOut');
      if (text !== seen) book.load(seen = text);
      return book.has(session);
    },
  };
}
