/**
 * Encrypts what the gateway keeps for an account. Each account has keys of its own, derived from the gateway's sealing
 * key and the account's name, and each value a salt: one that was changed, swapped with another or taken from another
 * account does not open.
 *   1 byte: the version; 192-bit salt, ciphertext, 128-bit tag
 */
import { randomBytes } from 'node:crypto';
import { decrypt, deriveSecret, encrypt, SALT_BYTES, TAG_BYTES } from './salted-cipher.ts';

export interface AccountBox {
  /** `name`: what the value is; it opens under the same name only. */
  close(name: string, plain: Uint8Array): Buffer;
  /** Undefined: it is not of this account and name, was changed, or was closed under another of the gateway's keys. */
  open(name: string, closed: Uint8Array): Buffer | undefined;
}

const VERSION = 1;
const HEAD_BYTES = 1 + SALT_BYTES;

/** Closes under the first of the gateway's keys, and opens what was closed under any. `account`: "namespace/name". */
export function createAccountBox(keys: readonly Uint8Array[], account: string): AccountBox {
  const info = `mgw1_kept\n${account}`;
  return {
    close(name, plain) {
      const [current] = keys;
      if (!current) throw new Error('keeping needs a sealing key');
      const salt = randomBytes(SALT_BYTES);
      return Buffer.concat([Buffer.of(VERSION), salt, encrypt(deriveSecret(current, salt, info), name, plain)]);
    },
    open(name, closed) {
      if (closed.length < HEAD_BYTES + TAG_BYTES || closed[0] !== VERSION) return undefined;
      const salt = closed.subarray(1, HEAD_BYTES);
      return keys
        .values()
        .map((key) => decrypt(deriveSecret(key, salt, info), name, closed.subarray(HEAD_BYTES)))
        .find((plain) => plain !== undefined);
    },
  };
}
