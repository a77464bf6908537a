/**
 * [P] Reads the hashes of an ApiKey's keys from its Secret. Only SHA-256 and a short prefix leave this file; a weak key
 * leaves neither, because it could be guessed from its hash.
 */
import { hash } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import type { Finding } from '../status/findings.ts';
import {
  KEY_ENTRY,
  KEY_LABEL,
  KEY_PREFIX_LENGTH,
  LONGEST_KEY,
  isCreatedFor,
  previousKeysOf,
  rotationOf,
  secretNameOf,
} from '#objects/key-secret.ts';
import type { PreviousKey } from '#objects/key-secret.ts';
import type { SecretObject } from '#objects/resources.ts';

const PREFIX = 'sk-';
const SHORTEST_KEY = 32;
const NO_PREVIOUS: readonly PreviousKey[] = [];

/** A key that is valid. */
interface PresentKey {
  readonly state: 'Present';
  readonly sha256: string;
  readonly prefix: string;
  /** The rotation that made a generated key. */
  readonly rotation: number | undefined;
  readonly previous: readonly PreviousKey[];
  /** True in a cluster, where a list of replaced keys without the operator's MAC is dropped before. */
  readonly isVerified: boolean;
}

export type KeyMaterial =
  | PresentKey
  | { readonly state: 'Missing'; readonly finding: Finding<'SecretPending' | 'SecretInvalid' | 'SecretTaken'> }
  | { readonly state: 'Weak'; readonly message: string };

/** An ApiKey with the content of its Secret. */
export interface GatheredKey {
  readonly metadata: ApiKey['metadata'];
  readonly apiKey: ApiKey;
  /** "namespace/name" of the Account that pays. */
  readonly account: string;
  readonly material: KeyMaterial;
  /** The hashes that it claims; the current one comes first. */
  readonly hashes: readonly string[];
}

/** Reads an ApiKey's keys from its Secret. */
export function readKeyMaterial(apiKey: ApiKey, secret: SecretObject | undefined, nowMs: number): KeyMaterial {
  const generated = apiKey.spec.key.type === 'Generated';
  const name = secretNameOf(apiKey);
  if (!secret)
    return missing(
      'SecretPending',
      generated
        ? `The key is being generated; it will be in the Secret "${name}".`
        : `Waiting for the Secret "${name}" with the key in its entry "${KEY_ENTRY}"; in a cluster the Secret ` +
            `also needs the label ${KEY_LABEL}: ${apiKey.metadata.name}.`,
    );
  if (generated && !isCreatedFor(secret, apiKey))
    return missing(
      'SecretTaken',
      `The Secret "${name}" exists but was not created for this ApiKey. Set another name in ` +
        'spec.key.secretRef, or use type Provided.',
    );
  const key = secret.data.get(KEY_ENTRY);
  if (key === undefined || key === '')
    return missing('SecretInvalid', `The Secret "${name}" has no entry "${KEY_ENTRY}" with a key in it.`);
  const fault = faultOfKey(key);
  if (fault !== undefined) return { state: 'Weak', message: `The key in the Secret "${name}" is invalid: ${fault}.` };
  return {
    state: 'Present',
    sha256: hash('sha256', key, 'hex'),
    prefix: key.slice(0, KEY_PREFIX_LENGTH),
    rotation: generated ? rotationOf(secret) : undefined,
    previous: generated ? previousKeysOf(secret, nowMs) : NO_PREVIOUS,
    isVerified: secret.live !== undefined,
  };
}

/** Why a key is refused, without repeating it; undefined if it is accepted. */
function faultOfKey(key: string): string | undefined {
  if (/[\r\n]$/.test(key)) return 'it ends with a line break; write it without one';
  if (/\s/.test(key)) return 'it has spaces or line breaks in it';
  if (!key.startsWith(PREFIX)) return `it does not start with "${PREFIX}"`;
  if (!/^[\x21-\x7e]*$/.test(key)) return 'it has characters other than visible ASCII';
  if (key.length < SHORTEST_KEY) return `it has ${key.length} characters; at least ${SHORTEST_KEY} are required`;
  if (key.length > LONGEST_KEY) return `it has more than ${LONGEST_KEY} characters`;
  return undefined;
}

function missing(reason: 'SecretPending' | 'SecretInvalid' | 'SecretTaken', message: string): KeyMaterial {
  return { state: 'Missing', finding: { reason, message } };
}

/** The hashes that a key claims, each once; the current one comes first. */
export function hashesOf(material: KeyMaterial): readonly string[] {
  if (material.state !== 'Present') return [];
  return [...new Set([material.sha256, ...material.previous.map(({ sha256 }) => sha256)])];
}

/**
 * True if a hash belongs to a replaced key, and the list that says so may be a tenant's own. It never wins against
 * another ApiKey's current key. A verified list does, by age: an owner that rotates stays the owner in the overlap.
 */
export function isUnverifiedPrevious({ material }: GatheredKey, hash: string): boolean {
  return material.state === 'Present' && material.sha256 !== hash && !material.isVerified;
}
