/**
 * Sessions that people signed out of: a copy of their cookies opens nothing any more, here at once, and at other
 * replicas as soon as they have read the shared state. The list is bounded. A full list forgets the sessions that began
 * first, and revokes every session that began as early: it makes room by ending more sessions, never fewer.
 */
import { hash } from 'node:crypto';
import { isJsonObject, itemsOf, parseJson } from '#crds/json.ts';
import type { Json } from '#crds/json.ts';
import { createMutex } from '#runtime/mutex.ts';
import type { SharedState } from '../access/shared-state.ts';
import { SESSION_MS } from './session.ts';
import type { Session } from './session.ts';

interface RevocationBounds {
  /** The most sessions of all tokens together. */
  readonly most: number;
  /** Beyond it only sessions of the same token end, so nobody ends those of others by signing in and out. */
  readonly mostOfToken: number;
}

/** At most 400 KB as text: a Secret holds a megabyte. */
const BOUNDS: RevocationBounds = { most: 5_000, mostOfToken: 100 };
/** A session that began earlier is over by itself, whatever a replica's clock says. */
const KEPT_MS = SESSION_MS + 3_600_000;

export interface Revocations {
  /** Revokes it here at once. Resolves once all replicas will know; rejects with AccessError where they may not. */
  add(session: Session, nowMs: number): Promise<void>;
  has(session: Session): boolean;
}

/** Revocations that all replicas share. */
export function shareRevocations(state: SharedState, bounds?: RevocationBounds): Revocations {
  const list = createRevocationList(bounds);
  const exclusively = createMutex();
  let loaded = '';
  /** The write that has not begun yet. */
  let pending: Promise<void> | undefined;
  return {
    add(session, nowMs) {
      list.add(session);
      // sign-outs during a write share the next one
      return (pending ??= exclusively(() => {
        pending = undefined;
        return state.change('signedOut', (text) => {
          list.merge(text);
          return list.serialize(nowMs);
        });
      }));
    },
    has(session) {
      const text = state.read('signedOut');
      if (text !== loaded) list.merge((loaded = text));
      return list.has(session);
    },
  };
}

/** Revoked sessions of one token. */
interface Ended {
  /** When each began, by the session's hash. */
  readonly begun: Map<string, number>;
  /** All sessions that began up to here are revoked; 0: none. */
  upToMs: number;
}

interface RevocationList {
  add(session: Session): void;
  has(session: Session): boolean;
  /** Adds what another list has serialized, in any order, any number of times. Any other text counts for nothing. */
  merge(text: string): void;
  /** Leaves out expired sessions. Contains neither tokens nor secrets. */
  serialize(nowMs: number): string;
}

/** An empty list. */
export function createRevocationList({ most, mostOfToken }: RevocationBounds = BOUNDS): RevocationList {
  const tokens = new Map<string, Ended>();
  let sessions = 0;
  let upToMs = 0;

  function endedOf(token: string): Ended {
    const ended = tokens.get(token) ?? { begun: new Map<string, number>(), upToMs: 0 };
    tokens.set(token, ended);
    return ended;
  }

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

  function isOver(token: string, id: string, begunMs: number): boolean {
    if (begunMs <= upToMs) return true;
    const ended = tokens.get(token);
    return ended !== undefined && (begunMs <= ended.upToMs || ended.begun.has(id));
  }

  function end(token: string, id: string, begunMs: number): void {
    if (isOver(token, id, begunMs)) return;
    const ended = endedOf(token);
    ended.begun.set(id, begunMs);
    sessions++;
    if (ended.begun.size > mostOfToken) forgetSession(ended);
    if (sessions > most) forgetToken();
  }

  /** Drops sessions that began so early that they have expired. */
  function dropOver(beforeMs: number): void {
    for (const [token, ended] of tokens) {
      for (const [id, begunMs] of ended.begun) if (begunMs <= beforeMs && ended.begun.delete(id)) sessions--;
      if (ended.begun.size === 0 && ended.upToMs <= beforeMs) tokens.delete(token);
    }
  }

  return {
    add: ({ token, csrfSecret, begunMs }) => end(digest(token), digest(csrfSecret), begunMs),
    has: ({ token, csrfSecret, begunMs }) => isOver(digest(token), digest(csrfSecret), begunMs),
    merge(text) {
      const read = parseList(text);
      upToMs = Math.max(upToMs, read.upToMs);
      for (const [token, tokenUpToMs, begun] of read.tokens) {
        if (tokenUpToMs > 0) {
          const ended = endedOf(token);
          ended.upToMs = Math.max(ended.upToMs, tokenUpToMs);
        }
        for (const [id, begunMs] of begun) end(token, id, begunMs);
      }
    },
    serialize(nowMs) {
      dropOver(nowMs - KEPT_MS);
      const entries = [...tokens].map(([token, ended]) => [token, ended.upToMs, [...ended.begun]]);
      return JSON.stringify({ upToMs, tokens: entries });
    },
  };
}

type BegunEntry = readonly [id: string, begunMs: number];
type TokenEntry = readonly [token: string, upToMs: number, begun: readonly BegunEntry[]];

/** Parses a list; malformed entries are left out. */
function parseList(text: string): { readonly upToMs: number; readonly tokens: readonly TokenEntry[] } {
  const list = parseJson(text);
  if (!isJsonObject(list)) return { upToMs: 0, tokens: [] };
  const { upToMs = 0, tokens = [] } = list;
  return { upToMs: msOf(upToMs), tokens: itemsOf(tokens).flatMap((each) => tokenEntry(itemsOf(each))) };
}

function tokenEntry([token = null, upToMs = null, begun = null]: readonly Json[]): TokenEntry[] {
  if (typeof token !== 'string') return [];
  return [
    [
      token,
      msOf(upToMs),
      itemsOf(begun).flatMap((each): BegunEntry[] => {
        const [id = null, begunMs = null] = itemsOf(each);
        return typeof id === 'string' ? [[id, msOf(begunMs)]] : [];
      }),
    ],
  ];
}

function msOf(value: Json): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
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
