/**
 * The known Secrets by name, from watches and from the operator's own writes. A write is visible at once, and a watch
 * event of an earlier version is ignored.
 */
import { isNewer } from './relevance.ts';
import { namespacedName } from './resources.ts';
import type { SecretObject } from './resources.ts';

export interface LiveSecrets {
  /** Applies a complete list of one watch. */
  replace(source: string, secrets: readonly SecretObject[]): void;
  /** Applies a Secret from a watch, or from the response to a write. */
  apply(source: string, secret: SecretObject): void;
  remove(source: string, secret: SecretObject): void;
  /** Removes everything that an ended watch reported. */
  drop(source: string): void;
  /** By "namespace/name"; the same map as long as nothing has changed. */
  all(): ReadonlyMap<string, SecretObject>;
}

export function openLiveSecrets(onChange: () => void): LiveSecrets {
  const sources = new Map<string, Map<string, SecretObject>>();
  let merged: ReadonlyMap<string, SecretObject> = new Map();
  /** Names to merge again. */
  const stale = new Set<string>();

  function secretsOf(source: string): Map<string, SecretObject> {
    const known = sources.get(source) ?? new Map<string, SecretObject>();
    sources.set(source, known);
    return known;
  }

  function changed(ids: Iterable<string>): void {
    for (const id of ids) stale.add(id);
    onChange();
  }

  /** If two watches report a Secret, the newer version counts. */
  function newestOf(id: string): SecretObject | undefined {
    let newest: SecretObject | undefined;
    for (const secrets of sources.values()) {
      const secret = secrets.get(id);
      if (secret && (!newest || isNewer(secret.live?.resourceVersion, newest.live?.resourceVersion))) newest = secret;
    }
    return newest;
  }

  function apply(source: string, secret: SecretObject): void {
    const secrets = secretsOf(source);
    const id = namespacedName(secret);
    if (!isNewer(secret.live?.resourceVersion, secrets.get(id)?.live?.resourceVersion)) return;
    secrets.set(id, secret);
    changed([id]);
  }

  function remove(source: string, secret: SecretObject): void {
    const id = namespacedName(secret);
    const known = secretsOf(source).get(id);
    if (!known || !isNewer(secret.live?.resourceVersion, known.live?.resourceVersion)) return;
    secretsOf(source).delete(id);
    changed([id]);
  }

  return {
    apply,
    remove,
    replace(source, secrets) {
      const before = secretsOf(source);
      const now = new Map(secrets.map((secret) => [namespacedName(secret), secret]));
      const same = before.size === now.size && secrets.every((secret) =>
        before.get(namespacedName(secret))?.live?.resourceVersion === secret.live?.resourceVersion);
      sources.set(source, now);
      if (!same) changed([...before.keys(), ...now.keys()]);
    },
    drop(source) {
      const secrets = sources.get(source);
      if (sources.delete(source) && secrets) changed(secrets.keys());
    },
    all() {
      if (stale.size === 0) return merged;
      const next = new Map(merged);
      for (const id of stale) {
        const secret = newestOf(id);
        if (secret) next.set(id, secret);
        else next.delete(id);
      }
      stale.clear();
      merged = next;
      return merged;
    },
  };
}
