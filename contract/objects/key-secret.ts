/**
 * [P] The Secret of an ApiKey: its name, its entry, and the label and annotations of a generated key. They are the same
 * in a cluster and in the data folder.
 */
import { isJsonObject, parseJson } from '#crds/json.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import type { SecretObject, SecretRef } from './resources.ts';

/** The entry that holds the key. */
export const KEY_ENTRY = 'apiKey';
/** The longest key in characters. */
export const LONGEST_KEY = 512;
/** How many characters of a key may be shown: the length of `status.keyPrefix`. */
export const KEY_PREFIX_LENGTH = 8;
/** The label of a Secret that was created for an ApiKey; its value is the ApiKey's name. */
export const KEY_LABEL = 'modelgateway.dev/api-key';
/** The annotation with the rotation that made the key. */
export const ROTATION_ANNOTATION = 'modelgateway.dev/rotation';
/** The annotation with the hashes of replaced keys that still work: `[{"sha256": …, "notAfter": …}]`. */
export const PREVIOUS_ANNOTATION = 'modelgateway.dev/previous-keys';
/** The annotation with the MAC of that list. A list without it is ignored, because tenants may write their Secrets. */
export const PREVIOUS_MAC_ANNOTATION = 'modelgateway.dev/previous-keys-mac';

const SHA256_HEX = /^[0-9a-f]{64}$/;
/** Equal to the number that a status lists. */
const MAX_PREVIOUS = 16;
const NONE: readonly PreviousKey[] = [];

/** A replaced key that is still valid until `notAfterMs`. */
export interface PreviousKey {
  readonly sha256: string;
  readonly notAfterMs: number;
}

/** The name of the Secret that holds an ApiKey's key. */
export function secretNameOf(apiKey: ApiKey): string {
  return apiKey.spec.key.secretRef?.name ?? `${apiKey.metadata.name}-key`;
}

/** The namespace and name of that Secret. */
export function secretRefOf(apiKey: ApiKey): SecretRef {
  return { namespace: apiKey.metadata.namespace, name: secretNameOf(apiKey) };
}

/** True if the operator created this Secret for this ApiKey, and may therefore write it again. */
export function isCreatedFor(secret: SecretObject, apiKey: ApiKey): boolean {
  return secret.labels[KEY_LABEL] === apiKey.metadata.name && !isOrphaned(secret, apiKey);
}

/** True if it was created for a deleted ApiKey of the same name and is not garbage-collected yet. */
export function isOrphaned({ labels, live }: SecretObject, { metadata }: ApiKey): boolean {
  const owner = live?.ownerUid;
  return (
    labels[KEY_LABEL] === metadata.name && owner !== undefined && metadata.uid !== undefined && owner !== metadata.uid
  );
}

/** The rotation that made the key; 1 if the Secret does not say. */
export function rotationOf(secret: SecretObject): number {
  const rotation = Number(secret.annotations[ROTATION_ANNOTATION]);
  return Number.isSafeInteger(rotation) && rotation > 0 ? rotation : 1;
}

/**
 * The replaced keys that are still valid, each once, the last to expire first. Unreadable entries are ignored.
 */
export function previousKeysOf(secret: SecretObject, nowMs: number): readonly PreviousKey[] {
  const text = secret.annotations[PREVIOUS_ANNOTATION];
  if (text === undefined) return NONE;
  const valid = parsePrevious(text)
    .filter(({ notAfterMs }) => notAfterMs > nowMs)
    .sort((a, b) => a.notAfterMs - b.notAfterMs);
  // of a key that was replaced twice, the later end counts
  const byHash = new Map(valid.map((key) => [key.sha256, key]));
  return [...byHash.values()].sort((a, b) => b.notAfterMs - a.notAfterMs).slice(0, MAX_PREVIOUS);
}

/** Formats the annotation. */
export function formatPreviousKeys(keys: readonly PreviousKey[]): string {
  return JSON.stringify(
    keys.map(({ sha256, notAfterMs }) => ({ sha256, notAfter: new Date(notAfterMs).toISOString() })),
  );
}

function parsePrevious(text: string): PreviousKey[] {
  const list = parseJson(text);
  if (!Array.isArray(list)) return []; // the list was edited by hand; ending the overlap is the safe choice
  return list.flatMap((entry: unknown) => {
    const { sha256, notAfter } = isJsonObject(entry) ? entry : {};
    const notAfterMs = typeof notAfter === 'string' ? Date.parse(notAfter) : NaN;
    if (typeof sha256 !== 'string' || !SHA256_HEX.test(sha256) || Number.isNaN(notAfterMs)) return [];
    return [{ sha256, notAfterMs }];
  });
}
