/**
 * [P] The gateway's own key: random bytes that no user has, from which a key for each purpose is derived, so that a
 * leaked key reveals nothing about the others.
 */
import { createHmac, hkdfSync } from 'node:crypto';

export const GATEWAY_KEY_BYTES = 32;
const DERIVED_BYTES = 32;

/**
 * `previous-keys` authenticates annotations of Secrets, `fingerprint` makes the hashes that statuses show, `sealing`
 * encrypts what clients keep for the gateway.
 */
export type KeyPurpose = 'previous-keys' | 'fingerprint' | 'sealing';

/** A key of 32 bytes for one purpose, by HKDF with SHA-256 (RFC 5869). */
export function deriveKey(gatewayKey: Uint8Array, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', gatewayKey, '', `model-gateway ${purpose}`, DERIVED_BYTES));
}

/** HMAC-SHA-256 in lower-case hexadecimal. */
export function hmacHex(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}
