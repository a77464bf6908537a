/**
 * [P] Makes the hashes of keys that statuses show. A SHA-256 would let its reader claim the key, or test guesses
 * unnoticed. An HMAC with the gateway's own key still shows which key is in force, and when it has changed.
 */
import { hash } from 'node:crypto';
import { hmacHex } from './gateway-key.ts';

interface WithHashes {
  readonly keyHash?: string;
  readonly previousKeys?: readonly { readonly keyHash: string }[];
}

/** The status with each SHA-256 replaced by its fingerprint. `key` is derived for the purpose `fingerprint`. */
export function withFingerprints<Status extends WithHashes>(status: Status, key: Uint8Array): Status {
  const { keyHash, previousKeys } = status;
  if (keyHash === undefined && previousKeys === undefined) return status;
  return {
    ...status,
    ...(keyHash !== undefined && { keyHash: hmacHex(key, keyHash) }),
    ...(previousKeys && { previousKeys: previousKeys.map((old) => ({ ...old, keyHash: hmacHex(key, old.keyHash) })) }),
  };
}

/** The fingerprint of a key: what a status shows while the key is in force. */
export function fingerprintOf(text: string, key: Uint8Array): string {
  return hmacHex(key, hash('sha256', text, 'hex'));
}
