/**
 * Deletes the generated keys of deleted ApiKeys on a single machine, as a cluster's garbage collection does, so that an
 * ApiKey of the same name does not revive a revoked key. An edit in two steps may delete an ApiKey and bring it back, so
 * a key is first released, which its file says, and deleted after GRACE_MS.
 */
import { ALL_KINDS } from '#crds/kinds.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import { KEY_LABEL, secretNameOf } from '#objects/key-secret.ts';
import { namespacedName, objectsOf } from '#objects/resources.ts';
import type { Resources, SecretObject } from '#objects/resources.ts';
import type { MintedSecrets } from './minted-secrets.ts';

/** The annotation of a generated key whose ApiKey is gone: since when, RFC 3339. */
const RELEASED_ANNOTATION = 'modelgateway.dev/released-at';
export const GRACE_MS = 600_000;

export interface ReleasedKey {
  /** "namespace/name" of the ApiKey. */
  readonly apiKey: string;
  readonly state: 'Released' | 'Kept' | 'Deleted';
}

interface ReleaseOptions {
  readonly minted: Pick<MintedSecrets, 'secrets' | 'replace' | 'discard'>;
  readonly onChange: (key: ReleasedKey) => void;
}

/**
 * Releases, keeps and deletes what is due. Resolves with the time at which the next key is to be deleted, milliseconds
 * since the epoch. A folder without any object releases nothing: it is one that is not mounted. Rejects if a file
 * cannot be written or deleted.
 */
export async function releaseKeys(
  resources: Resources,
  nowMs: number,
  options: ReleaseOptions,
): Promise<number | undefined> {
  if (isEmpty(resources)) return undefined;
  let nextMs = Number.POSITIVE_INFINITY;
  for (const [namespace, secrets] of Map.groupBy(options.minted.secrets.values(), (secret) => secret.namespace)) {
    const isUsed = usesIn(resources.apiKeys.get(namespace) ?? []);
    for (const secret of secrets)
      nextMs = Math.min(nextMs, (await release(secret, { isUsed: isUsed(secret), nowMs, options })) ?? nextMs);
  }
  return nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs;
}

function isEmpty(resources: Resources): boolean {
  return ALL_KINDS.every((kind) => objectsOf(resources, kind).length === 0);
}

function usesIn(apiKeys: readonly ApiKey[]): (secret: SecretObject) => boolean {
  const names = new Set(apiKeys.map(({ metadata }) => metadata.name));
  const secretNames = new Set(apiKeys.map(secretNameOf));
  return ({ labels, name }) => secretNames.has(name) || names.has(labels[KEY_LABEL] ?? '');
}

interface Situation {
  readonly isUsed: boolean;
  readonly nowMs: number;
  readonly options: ReleaseOptions;
}

/** Resolves with the time at which the key is to be deleted; undefined if it is in use, or deleted. */
async function release(secret: SecretObject, { isUsed, nowMs, options }: Situation): Promise<number | undefined> {
  const { minted, onChange } = options;
  const owner = secret.labels[KEY_LABEL];
  if (owner === undefined) return undefined; // somebody else's file
  const { [RELEASED_ANNOTATION]: since, ...annotations } = secret.annotations;
  const apiKey = namespacedName({ namespace: secret.namespace, name: owner });
  const sinceMs = since === undefined ? Number.NaN : Date.parse(since);
  if (isUsed && since === undefined) return undefined;
  if (isUsed) {
    await minted.replace({ ...secret, annotations });
    onChange({ apiKey, state: 'Kept' });
    return undefined;
  }
  if (Number.isNaN(sinceMs)) {
    const released = { ...annotations, [RELEASED_ANNOTATION]: new Date(nowMs).toISOString() };
    await minted.replace({ ...secret, annotations: released });
    onChange({ apiKey, state: 'Released' });
    return nowMs + GRACE_MS;
  }
  if (nowMs < sinceMs + GRACE_MS) return sinceMs + GRACE_MS;
  await minted.discard(secret);
  onChange({ apiKey, state: 'Deleted' });
  return undefined;
}
