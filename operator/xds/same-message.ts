/**
 * [P] Equality of messages. Every edit compares every object with its previous version, so keys, of which there are
 * many, are compared by a fixed list of fields; a test checks that the list is complete.
 */
import type { Key } from '#snapshot/snapshot.gen.ts';

/** Compares messages of any type; an absent field equals an undefined one. */
export function sameMessage(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return false;
  return Array.isArray(a) && Array.isArray(b) ? sameItems(a, b) : sameFields(a, b);
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((each, index) => sameMessage(each, b[index]));
}

function sameFields(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const name in a) if (!sameMessage(a[name], b[name])) return false;
  for (const name in b) if (b[name] !== undefined && a[name] === undefined) return false;
  return true;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

export function sameKey(a: Key, b: Key): boolean {
  return a === b || (sameIdentity(a, b) && sameAccess(a, b) && sameLimits(a, b));
}

function sameIdentity(a: Key, b: Key): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name && a.generation === b.generation &&
    a.prefix === b.prefix && sameHashes(a, b);
}

function sameHashes({ hashes: a }: Key, { hashes: b }: Key): boolean {
  return a.length === b.length &&
    a.every((hash, index) => hash.sha256 === b[index]?.sha256 && hash.notAfterMs === b[index]?.notAfterMs);
}

function sameAccess(a: Key, b: Key): boolean {
  return a.enabled === b.enabled && a.refusal === b.refusal && a.group === b.group && a.account === b.account &&
    a.expirationMs === b.expirationMs
    && (a.models === b.models || sameMessage(a.models, b.models));
}

function sameLimits(a: Key, b: Key): boolean {
  return a.limitNanoUsd === b.limitNanoUsd && a.period === b.period && a.whenShort === b.whenShort &&
    a.minOutputTokens === b.minOutputTokens && a.maxConcurrency === b.maxConcurrency;
}
