/**
 * A session lives in the browser's cookies only, so any replica serves it and a restart signs nobody out. It ends 8
 * hours after signing in, or after one hour without a request. revocations.ts has the sessions that people signed out
 * of.
 */
import { randomBytes } from 'node:crypto';

export interface Session {
  /** The credential with which the person signed in. Never logged. */
  readonly token: string;
  /** The tokens in forms derive from it. It also tells this session from others of the same token. */
  readonly csrfSecret: string;
  /** Milliseconds since the epoch. */
  readonly begunMs: number;
  /** Of the last renewal. */
  readonly seenMs: number;
}

export const SESSION_MS = 8 * 3_600_000;
export const IDLE_MS = 3_600_000;
/** The least time between two renewals, because each one writes the cookies. */
const RENEW_MS = 300_000;
/** The clock of another replica may be ahead by this much. */
const CLOCK_SKEW_MS = 60_000;
const SECRET_BYTES = 24;

type SessionData = Readonly<Partial<Record<keyof Session, unknown>>>;

/** A session that begins now. */
export function beginSession(token: string, nowMs: number): Session {
  return { token, csrfSecret: randomBytes(SECRET_BYTES).toString('base64url'), begunMs: nowMs, seenMs: nowMs };
}

/** The session that a cookie holds; undefined if it is none, or over. */
export function parseSession(data: SessionData, nowMs: number): Session | undefined {
  const { token, csrfSecret, begunMs, seenMs } = data;
  if (typeof token !== 'string' || typeof csrfSecret !== 'string') return undefined;
  if (typeof begunMs !== 'number' || typeof seenMs !== 'number') return undefined;
  const over = nowMs >= begunMs + SESSION_MS || nowMs >= seenMs + IDLE_MS || seenMs > nowMs + CLOCK_SKEW_MS;
  return over ? undefined : { token, csrfSecret, begunMs, seenMs };
}

/** The session as renewed now; undefined if its last renewal is recent enough. */
export function renewSession(session: Session, nowMs: number): Session | undefined {
  return nowMs - session.seenMs < RENEW_MS ? undefined : { ...session, seenMs: nowMs };
}

/** How long the browser keeps it, in whole seconds. */
export function secondsLeft({ begunMs, seenMs }: Session, nowMs: number): number {
  return Math.max(0, Math.ceil((Math.min(begunMs + SESSION_MS, seenMs + IDLE_MS) - nowMs) / 1000));
}
