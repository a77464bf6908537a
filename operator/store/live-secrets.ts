/**
 * The known Secrets by name, from watches and from the operator's own writes. A write is visible at once, and a watch
 * event of an earlier version is ignored.
 */
import { isNewer } from '#objects/relevance.ts';
import { namespacedName } from '#objects/resources.ts';
import type { SecretObject, SecretRef, Secrets } from '#objects/resources.ts';

export interface LiveSecrets {
  /** Applies a complete list of one watch. */
  replace(source: string, secrets: readonly SecretObject[]): void;
  /** Applies a Secret from a watch, or from the response to a write. */
  apply(source: string, secret: SecretObject): void;
  remove(source: string, secret: SecretObject): void;
  /** Removes what a watch's complete list, of "namespace/name", no longer has. */
  retain(source: string, listed: ReadonlySet<string>): void;
  /** Removes a Secret that exists, but that nobody needs. */
  forget(source: string, secret: SecretRef): void;
  /** The watches that report a Secret of this "namespace/name". */
  sourcesOf(id: string): readonly (readonly [source: string, secret: SecretObject])[];
  /** Removes everything that an ended watch reported. */
  drop(source: string): void;
  /** The same maps as long as nothing has changed. */
  all(): Secrets;
}

/** The Secrets of each watch, by "namespace/name". */
type Sources = Map<string, Map<string, SecretObject>>;

export function openLiveSecrets(onChange: () => void): LiveSecrets {
  const sources: Sources = new Map();
  let merged: Secrets = new Map();
  /** Secrets to merge again, by "namespace/name". */
  const stale = new Map<string, SecretRef>();

  function secretsOf(source: string): Map<string, SecretObject> {
    const known = sources.get(source) ?? new Map<string, SecretObject>();
    sources.set(source, known);
    return known;
  }

  function changed(secrets: Iterable<SecretObject>): void {
    for (const secret of secrets) stale.set(namespacedName(secret), { namespace: secret.namespace, name: secret.name });
    onChange();
  }

  function apply(source: string, secret: SecretObject): void {
    const secrets = secretsOf(source);
    const id = namespacedName(secret);
    if (!isNewer(secret.live?.resourceVersion, secrets.get(id)?.live?.resourceVersion)) return;
    secrets.set(id, secret);
    changed([secret]);
  }

  function remove(source: string, secret: SecretObject): void {
    const id = namespacedName(secret);
    const known = secretsOf(source).get(id);
    if (!known || !isNewer(secret.live?.resourceVersion, known.live?.resourceVersion)) return;
    secretsOf(source).delete(id);
    changed([known]);
  }

  return {
    apply,
    remove,
    replace(source, secrets) {
      const before = secretsOf(source);
      const now = new Map(secrets.map((secret) => [namespacedName(secret), secret]));
      const same =
        before.size === now.size &&
        secrets.every(
          (secret) => before.get(namespacedName(secret))?.live?.resourceVersion === secret.live?.resourceVersion,
        );
      sources.set(source, now);
      if (!same) changed([...before.values(), ...now.values()]);
    },
    retain(source, listed) {
      const gone = [...secretsOf(source).values()].filter((secret) => !listed.has(namespacedName(secret)));
      for (const secret of gone) secretsOf(source).delete(namespacedName(secret));
      if (gone.length > 0) changed(gone);
    },
    forget(source, secret) {
      const known = secretsOf(source).get(namespacedName(secret));
      if (!known) return;
      secretsOf(source).delete(namespacedName(secret));
      changed([known]);
    },
    sourcesOf: (id) =>
      [...sources].flatMap(([source, secrets]) => {
        const secret = secrets.get(id);
        return secret ? [[source, secret] as const] : [];
      }),
    drop(source) {
      const secrets = sources.get(source);
      if (sources.delete(source) && secrets) changed(secrets.values());
    },
    all() {
      if (stale.size === 0) return merged;
      const next = new Map(merged);
      for (const [namespace, changes] of Map.groupBy(stale.values(), (secret) => secret.namespace)) {
        const secrets = secretsAfter(changes, merged.get(namespace), sources);
        if (secrets.size > 0) next.set(namespace, secrets);
        else next.delete(namespace);
      }
      stale.clear();
      return (merged = next);
    },
  };
}

/** One namespace's Secrets by name, after some of them have changed. */
function secretsAfter(
  changes: readonly SecretRef[],
  before: ReadonlyMap<string, SecretObject> | undefined,
  sources: Sources,
): ReadonlyMap<string, SecretObject> {
  const now = new Map(before);
  for (const change of changes) {
    const newest = newestOf(sources, namespacedName(change));
    if (newest) now.set(newest.name, newest);
    else now.delete(change.name);
  }
  return now;
}

/** If two watches report a Secret, the newer version counts. */
function newestOf(sources: Sources, id: string): SecretObject | undefined {
  let newest: SecretObject | undefined;
  for (const secrets of sources.values()) {
    const secret = secrets.get(id);
    if (secret && (!newest || isNewer(secret.live?.resourceVersion, newest.live?.resourceVersion))) newest = secret;
  }
  return newest;
}
