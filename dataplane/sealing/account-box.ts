/**
 * Encrypts what the gateway keeps for an account. Each account has keys of its own, derived from the gateway's sealing
 * key and the account's name, and each value a salt: one that was changed, swapped with another or taken from another
 * account does not open.
 *   1 byte: the version; 192-bit salt, ciphertext, 128-bit tag
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface AccountBox {
  /** `name`: what the value is; it opens under the same name only. */
  close(name: string, plain: Uint8Array): Buffer;
  /** Undefined: it is not of this account and name, was changed, or was closed under another of the gateway's keys. */
  open(name: string, closed: Uint8Array): Buffer | undefined;
}

const CIPHER = 'aes-256-gcm';
const VERSION = 1;
const SALT_BYTES = 24;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + SALT_BYTES;

/** Closes under the first of the gateway's keys, and opens what was closed under any. `account`: "namespace/name". */
export function createAccountBox(keys: readonly Uint8Array[], account: string): AccountBox {
  return {
    close(name, plain) {
      const [current] = keys;
      if (!current) throw new Error('keeping needs a sealing key');
      const salt = randomBytes(SALT_BYTES);
      const { key, nonce } = derive(current, salt, account);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(name));
      const encrypted = [cipher.update(plain), cipher.final()];
      return Buffer.concat([Buffer.of(VERSION), salt, ...encrypted, cipher.getAuthTag()]);
    },
    open(name, closed) {
      if (closed.length < HEAD_BYTES + TAG_BYTES || closed[0] !== VERSION) return undefined;
      const salt = closed.subarray(1, HEAD_BYTES);
      return keys
        .values()
        .map((key) => decrypt(derive(key, salt, account), name, closed.subarray(HEAD_BYTES)))
        .find((plain) => plain !== undefined);
    },
  };
}

interface Secret {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
}

function derive(key: Uint8Array, salt: Uint8Array, account: string): Secret {
  const derived = new Uint8Array(hkdfSync('sha256', key, salt, `mgw1_kept\n${account}`, KEY_BYTES + NONCE_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) };
}

function decrypt({ key, nonce }: Secret, name: string, encrypted: Uint8Array): Buffer | undefined {
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(name))
    .setAuthTag(encrypted.subarray(-TAG_BYTES));
  const plain = decipher.update(encrypted.subarray(0, -TAG_BYTES));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    // final() throws only for a wrong tag
    return undefined;
  }
}
