/**
 * Who is behind a token, remembered for a short time, so that a page with its parts does not ask for each of them. What a person
 * may do is not decided by this: every read and change is.
 */
import { hash } from 'node:crypto';
import type { ConsoleAccess, PersonAccess } from '../access/access.ts';

export interface People {
  /** undefined: nobody is known by this token. Rejects with AccessError where nobody can tell. */
  find(token: string, nowMs: number): Promise<PersonAccess | undefined>;
  /** The token has turned out to be worth nothing. */
  forget(token: string): void;
}

/** So long a token that was revoked still opens pages that ask the API server nothing. */
const REMEMBERED_MS = 10_000;
const MOST_REMEMBERED = 1_000;

/** Tokens themselves are not kept. */
export function rememberPeople(access: ConsoleAccess): People {
  const known = new Map<string, { readonly person: Promise<PersonAccess | undefined>; readonly untilMs: number }>();
  return {
    async find(token, nowMs) {
      const id = hash('sha256', token, 'hex');
      const before = known.get(id);
      if (before && nowMs < before.untilMs) return before.person;
      const person = access.signIn({ token });
      const entry = { person, untilMs: nowMs + REMEMBERED_MS };
      known.delete(id);
      const [oldest] = known.keys();
      if (known.size >= MOST_REMEMBERED && oldest !== undefined) known.delete(oldest);
      known.set(id, entry);
      const drop = (): void => { if (known.get(id) === entry) known.delete(id); };
      // strangers and failures are not worth remembering
      person.then((found) => found === undefined ? drop() : undefined, drop);
      return person;
    },
    forget(token) { known.delete(hash('sha256', token, 'hex')); },
  };
}
