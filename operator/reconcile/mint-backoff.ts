/**
 * [P] Decides when keys whose Secret could not be written are tried again. A failure that concerns the namespace (a
 * quota, missing rights, a namespace that is being deleted) delays all keys of the namespace, any other failure only
 * its own key.
 */
import type { ApiKey } from '#crds/types.gen.ts';
import { namespacedName } from '#objects/resources.ts';
import { pauseAfter } from '#runtime/backoff.ts';

/** A failed write of a key's Secret. */
export interface MintFailure {
  readonly message: string;
  /** True if other keys of the namespace would fail too. */
  readonly namespaceWide: boolean;
}

export interface MintBackoff {
  /** Until when a key must not be tried, and why; undefined if it may be tried now. */
  blocked(apiKey: ApiKey, nowMs: number): { readonly untilMs: number; readonly message: string } | undefined;
  /** True if the key or its namespace failed before; new keys are tried first. */
  isRetry(apiKey: ApiKey): boolean;
  failed(apiKey: ApiKey, failure: MintFailure, nowMs: number): void;
  succeeded(apiKey: ApiKey): void;
  /** Drops the failures of keys and namespaces that have no key to create any more. */
  retain(apiKeys: readonly ApiKey[]): void;
}

interface Failing {
  readonly failures: number;
  readonly untilMs: number;
  readonly message: string;
}

const RETRY = { firstMs: 1_000, longestMs: 120_000 } as const;

export function createMintBackoff(): MintBackoff {
  /** By namespace, or by "namespace/name" of a single key. */
  const failing = new Map<string, Failing>();
  const scopesOf = ({ metadata }: ApiKey): readonly string[] => [metadata.namespace, namespacedName(metadata)];
  return {
    blocked(apiKey, nowMs) {
      for (const scope of scopesOf(apiKey)) {
        const found = failing.get(scope);
        if (found && found.untilMs > nowMs) return found;
      }
      return undefined;
    },
    isRetry: (apiKey) => scopesOf(apiKey).some((scope) => failing.has(scope)),
    failed(apiKey, { message, namespaceWide }, nowMs) {
      const scope = namespaceWide ? apiKey.metadata.namespace : namespacedName(apiKey.metadata);
      const before = failing.get(scope);
      if (before && before.untilMs > nowMs) return; // keys that failed together count as one failure
      const failures = before?.failures ?? 0;
      failing.set(scope, { failures: failures + 1, message, untilMs: nowMs + pauseAfter(failures, RETRY) });
    },
    succeeded(apiKey) {
      for (const scope of scopesOf(apiKey)) failing.delete(scope);
    },
    retain(apiKeys) {
      if (failing.size === 0) return;
      const scopes = new Set(apiKeys.flatMap(scopesOf));
      for (const scope of failing.keys()) if (!scopes.has(scope)) failing.delete(scope);
    },
  };
}
