/**
 * [P] Hashes of keys as statuses show them. Whoever knew the SHA-256 of a key could claim it, or try guesses without
 * being seen; an HMAC by the gateway's own key still tells which key is in force, and when it has changed.
 */
import { hash } from 'node:crypto';
import { hmacHex } from './gateway-key.ts';

interface WithHashes {
  readonly keyHash?: string;
  readonly previousKeys?: readonly { readonly keyHash: string }[];
}

/** The status with each SHA-256 replaced by its fingerprint. `key`: derived for the purpose `fingerprint`. */
export function withFingerprints<Status extends WithHashes>(status: Status, key: Uint8Array): Status {
  const { keyHash, previousKeys } = status;
  if (keyHash === undefined && previousKeys === undefined) return status;
  return {
    ...status,
    ...keyHash !== undefined && { keyHash: hmacHex(key, keyHash) },
    ...previousKeys && { previousKeys: previousKeys.map((old) => ({ ...old, keyHash: hmacHex(key, old.keyHash) })) },
  };
}

/** The fingerprint of a key: what a status shows while the key is in force. */
export function fingerprintOf(text: string, key: Uint8Array): string {
  return hmacHex(key, hash('sha256', text, 'hex'));
}
