/**
 * AES-256-GCM with a key and nonce of its own for each value, derived by HKDF from one of the gateway's keys and a salt
 * that no other value has, so that the gateway's key may encrypt any number of values.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

export const SALT_BYTES = 24;
export const KEY_BYTES = 32;
export const NONCE_BYTES = 12;
export const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** The key and nonce that encrypt one value. */
export interface Secret {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
}

/** `info` separates uses of the same key. */
export function deriveSecret(key: Uint8Array, salt: Uint8Array, info: string): Secret {
  const derived = new Uint8Array(hkdfSync('sha256', key, salt, info, KEY_BYTES + NONCE_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) };
}

/** Returns ciphertext and tag, which covers `name` too. */
export function encrypt({ key, nonce }: Secret, name: string, plain: Uint8Array): Buffer {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(name));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Returns undefined if the value was encrypted under another secret or name, or was changed. */
export function decrypt({ key, nonce }: Secret, name: string, encrypted: Uint8Array): Buffer | undefined {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(name))
    .setAuthTag(encrypted.subarray(-TAG_BYTES));
  const plain = decipher.update(encrypted.subarray(0, -TAG_BYTES));
  try {
    decipher.final();
  } catch {
    // final() throws only for a wrong tag
    return undefined;
  }
  return plain;
}
