/**
 * Sessions that somebody has signed out of before they would have ended by themselves: a copy of their cookie opens nothing any
 * more. It is remembered in this process alone, and takes bounded memory. Where more are signed out than it holds, those that
 * began first are forgotten, and every session that began as early is over with them: room is made by ending more, never less.
 */
import { hash } from 'node:crypto';
import type { Session } from './session.ts';

export interface SignedOut {
  add(session: Session): void;
  has(session: Session): boolean;
}

interface Bounds {
  /** Sessions, of all tokens. */
  readonly most: number;
  /** Beyond it only sessions of the same token are ended: nobody ends those of others by signing in and out. */
  readonly mostOfToken: number;
}

/** Some two megabytes. Sessions last eight hours, so that few consoles ever see as many. */
const BOUNDS: Bounds = { most: 10_000, mostOfToken: 100 };

/** Of one token. */
interface Ended {
  /** When each began, by what tells it apart. */
  readonly begun: Map<string, number>;
  /** All that began up to here are over. */
  upToMs: number;
}

/** Neither tokens nor secrets are kept. */
export function rememberSignedOut({ most, mostOfToken }: Bounds = BOUNDS): SignedOut {
  const tokens = new Map<string, Ended>();
  let sessions = 0;
  let upToMs = -Infinity;

  function forgetToken(): void {
    const first = earliest([...tokens].map(([token, ended]) => [token, latestOf(ended)]));
    if (!first) return;
    const [token, lastBegunMs] = first;
    sessions -= tokens.get(token)?.begun.size ?? 0;
    tokens.delete(token);
    upToMs = Math.max(upToMs, lastBegunMs);
  }

  function forgetSession(ended: Ended): void {
    const first = earliest(ended.begun);
    if (!first) return;
    const [id, begunMs] = first;
    sessions--;
    ended.begun.delete(id);
    ended.upToMs = Math.max(ended.upToMs, begunMs);
  }

  const isOver = (session: Session): boolean => {
    if (session.begunMs <= upToMs) return true;
    const ended = tokens.get(digest(session.token));
    return ended !== undefined && (session.begunMs <= ended.upToMs || ended.begun.has(digest(session.csrfSecret)));
  };

  return {
    add(session) {
      if (isOver(session)) return;
      const token = digest(session.token);
      const ended = tokens.get(token) ?? { begun: new Map<string, number>(), upToMs: -Infinity };
      tokens.set(token, ended);
      ended.begun.set(digest(session.csrfSecret), session.begunMs);
      sessions++;
      if (ended.begun.size > mostOfToken) forgetSession(ended);
      if (sessions > most) forgetToken();
    },
    has: isOver,
  };
}

function latestOf({ begun, upToMs }: Ended): number {
  return Math.max(upToMs, ...begun.values());
}

/** The one with the earliest moment. */
function earliest(entries: Iterable<readonly [id: string, ms: number]>): readonly [id: string, ms: number] | undefined {
  let first: readonly [string, number] | undefined;
  for (const entry of entries) if (!first || entry[1] < first[1]) first = entry;
  return first;
}

function digest(text: string): string {
  return hash('sha256', text, 'buffer').toString('base64url', 0, 16);
}
