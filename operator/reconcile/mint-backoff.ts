/**
 * [P] Decides when keys whose Secret could not be written are tried again. A failure that concerns the namespace (a
 * quota, missing rights, a namespace that is being deleted) delays all keys of the namespace, any other failure only
 * its own key.
 */
import type { ApiKey } from '#crds/types.gen.ts';
import { namespacedName } from '#objects/resources.ts';

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
  readonly count: number;
  readonly untilMs: number;
  readonly message: string;
}

const FIRST_MS = 1_000;
const LONGEST_MS = 120_000;

export function createMintBackoff(): MintBackoff {
  /** By namespace, or by "namespace/name" of a single key. */
  const failing = new Map<string, Failing>();
  const cookieScopes = ({ metadata }: ApiKey): readonly string[] => [metadata.namespace, namespacedName(metadata)];
  return {
    blocked(apiKey, nowMs) {
      for (const scope of cookieScopes(apiKey)) {
        const found = failing.get(scope);
        if (found && found.untilMs > nowMs) return found;
      }
      return undefined;
    },
    isRetry: (apiKey) => cookieScopes(apiKey).some((scope) => failing.has(scope)),
    failed(apiKey, { message, namespaceWide }, nowMs) {
      const scope = namespaceWide ? apiKey.metadata.namespace : namespacedName(apiKey.metadata);
      const before = failing.get(scope);
      if (before && before.untilMs > nowMs) return; // keys that failed together count as one failure
      const count = (before?.count ?? 0) + 1;
      failing.set(scope, { count, message, untilMs: nowMs + Math.min(FIRST_MS * 2 ** (count - 1), LONGEST_MS) });
    },
    succeeded(apiKey) {
      for (const scope of cookieScopes(apiKey)) failing.delete(scope);
    },
    retain(apiKeys) {
      if (failing.size === 0) return;
      const scopes = new Set(apiKeys.flatMap(cookieScopes));
      for (const scope of failing.keys()) if (!scopes.has(scope)) failing.delete(scope);
    },
  };
}
