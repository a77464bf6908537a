/**
 * Text that only this console can read again: AES-256-GCM under the first key of a ring. Older keys of the ring still open, so
 * that a key can be replaced without signing everybody out.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';

export interface Sealing {
  /** `purpose` is not kept: what was sealed for one purpose opens for no other. */
  seal(text: string, purpose: string): string;
  /** undefined: it was not sealed here, or not for this purpose, or it was changed since. */
  open(sealed: string, purpose: string): string | undefined;
}

export const SEALING_KEY_BYTES = 32;
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ID_BYTES = 4;

/** @throws RangeError where there is no key, or one of another length. */
export function createSealing(keys: readonly Uint8Array[]): Sealing {
  const ring = keys.map((key) => ({ id: idOf(key), key }));
  const [first] = ring;
  if (first === undefined || keys.some((key) => key.length !== SEALING_KEY_BYTES)) throw new RangeError(`sealing needs keys of ${SEALING_KEY_BYTES} bytes`);
  return {
    seal(text, purpose) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, first.key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(purpose));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([first.id, nonce, cipher.getAuthTag(), body]).toString('base64url');
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64url');
      // exactly one text stands for one value
      if (bytes.length < ID_BYTES + NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
      const entry = ring.find(({ id }) => id.equals(bytes.subarray(0, ID_BYTES)));
      return entry && decrypt(entry.key, bytes.subarray(ID_BYTES), purpose);
    },
  };
}

function decrypt(key: Uint8Array, bytes: Buffer, purpose: string): string | undefined {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(purpose)).setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    return undefined; // the tag does not fit: whoever wrote this did not have the key
  }
}

/** Tells the keys of a ring apart, and nothing about them. */
function idOf(key: Uint8Array): Buffer {
  return Buffer.from(hash('sha256', Buffer.concat([Buffer.from('sealing key\0'), key]), 'buffer').subarray(0, ID_BYTES));
}
