/**
 * A session is a sealed text in the browser's cookie and nothing on the server: who holds a key of the ring can serve it, and a
 * restart or a second replica signs nobody out. It ends 8 hours after signing in, or when it has not been used for one. That
 * somebody has signed out of it before is remembered for as long, by all replicas together (signed-out.ts).
 */
import { randomBytes } from 'node:crypto';
import type { Sealing } from './sealing.ts';

export interface Session {
  /** What the person showed when signing in. Never logged. */
  readonly token: string;
  /** What the tokens in forms are made of; known to this session only. */
  readonly csrfSecret: string;
  /** Milliseconds since the epoch. */
  readonly begunMs: number;
  /** Of the last renewal. */
  readonly seenMs: number;
}

export const SESSION_MS = 8 * 3_600_000;
export const IDLE_MS = 3_600_000;
/** A cookie is written anew at most so often: a page with its parts is one visit. */
const RENEW_MS = 300_000;
/** So much earlier another replica's clock may be. */
const CLOCK_SKEW_MS = 60_000;
const SECRET_BYTES = 32;
const PURPOSE = 'session 1';

/** A session that begins now. */
export function beginSession(token: string, nowMs: number): Session {
  return { token, csrfSecret: randomBytes(SECRET_BYTES).toString('base64url'), begunMs: nowMs, seenMs: nowMs };
}

/** As the browser keeps it. */
export function sealSession({ token, csrfSecret, begunMs, seenMs }: Session, sealing: Sealing): string {
  return sealing.seal(JSON.stringify([token, csrfSecret, begunMs, seenMs]), PURPOSE);
}

/** undefined: it is not ours, or over. */
export function openSession(sealed: string, sealing: Sealing, nowMs: number): Session | undefined {
  const text = sealing.open(sealed, PURPOSE);
  if (text === undefined) return undefined;
  const [token, csrfSecret, begunMs, seenMs]: readonly unknown[] = JSON.parse(text);
  if (typeof token !== 'string' || typeof csrfSecret !== 'string' || typeof begunMs !== 'number' || typeof seenMs !== 'number') return undefined;
  const over = nowMs >= begunMs + SESSION_MS || nowMs >= seenMs + IDLE_MS || seenMs > nowMs + CLOCK_SKEW_MS;
  return over ? undefined : { token, csrfSecret, begunMs, seenMs };
}

/** The session as it goes on from now; undefined: the cookie that the browser has is young enough. */
export function renewSession(session: Session, nowMs: number): Session | undefined {
  return nowMs - session.seenMs < RENEW_MS ? undefined : { ...session, seenMs: nowMs };
}

/** Until when the browser needs to keep it, in whole seconds. */
export function secondsLeft({ begunMs, seenMs }: Session, nowMs: number): number {
  return Math.max(0, Math.ceil((Math.min(begunMs + SESSION_MS, seenMs + IDLE_MS) - nowMs) / 1000));
}
