/**
 * Seals what clients keep for the gateway between two calls: encrypted reasoning, ids of stored responses. A sealed
 * value names the channel that made it, so that a later call is routed there although the gateway keeps no state. Only
 * replicas with the same key can open or make one.
 *   mgw1_<kind>_<base64url of: 192-bit salt, ciphertext, 128-bit tag>
 * The tag covers version and kind, so that a value cannot be used as another kind.
 */
import { randomBytes } from 'node:crypto';
import { SEALED_PREFIX } from '../protocol/sealed-values.ts';
import type { SealedData } from '../protocol/sealed-values.ts';
import { decrypt, deriveSecret, encrypt, KEY_BYTES, NONCE_BYTES, SALT_BYTES, TAG_BYTES } from './salted-cipher.ts';

/** The content of a sealed value, without what the data means. */
type Opened = Omit<SealedData, 'images'>;

/** The length of the field before the channel's name, which holds the name's length in bytes. */
const LENGTH_BYTES = 2;
const KIND = /^[a-z]{1,16}$/;
const SEALED = /^(mgw1_([a-z]{1,16}))_([\w-]+)$/;

export interface Sealer {
  /** `kind` has 1 to 16 letters from a to z, and stays readable. Throws if it does not. */
  seal(kind: string, channel: string, data: string): string;
  /** Returns undefined if the value was changed, or was not sealed under one of these keys. */
  open(sealed: string): Opened | undefined;
}

/** Seals under the first key, and opens what was sealed under any. Throws if a key does not have 32 bytes. */
export function createSealer(keys: readonly Uint8Array[]): Sealer {
  const [current] = keys;
  if (!current || keys.some((key) => key.length !== KEY_BYTES))
    throw new Error(`sealing needs at least one key, and each must have ${KEY_BYTES} bytes`);
  return {
    seal: (kind, channel, data) => seal(current, kind, pack(channel, data)),
    open: (sealed) => open(keys, sealed),
  };
}

function seal(key: Uint8Array, kind: string, plain: Uint8Array): string {
  if (!KIND.test(kind)) throw new Error('the kind of a sealed value has 1 to 16 letters from a to z');
  const salt = randomBytes(SALT_BYTES);
  const head = SEALED_PREFIX + kind;
  const encrypted = encrypt(deriveSecret(key, salt, head), head, plain);
  return `${head}_${Buffer.concat([salt, encrypted]).toString('base64url')}`;
}

function open(keys: readonly Uint8Array[], sealed: string): Opened | undefined {
  if (!sealed.startsWith(SEALED_PREFIX)) return undefined;
  const [, head, kind, encoded] = SEALED.exec(sealed) ?? [];
  if (head === undefined || kind === undefined || encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64url');
  for (const key of keys) {
    const plain = openSalted(key, head, bytes) ?? openUnsalted(key, head, bytes);
    if (plain) return { kind, ...unpack(plain) };
  }
  return undefined;
}

function openSalted(key: Uint8Array, head: string, bytes: Buffer): Buffer | undefined {
  if (bytes.length < SALT_BYTES + TAG_BYTES + LENGTH_BYTES) return undefined;
  return decrypt(deriveSecret(key, bytes.subarray(0, SALT_BYTES), head), head, bytes.subarray(SALT_BYTES));
}

/** Opens values that earlier versions sealed under the gateway's key itself, with a random nonce in front. */
function openUnsalted(key: Uint8Array, head: string, bytes: Buffer): Buffer | undefined {
  if (bytes.length < NONCE_BYTES + TAG_BYTES + LENGTH_BYTES) return undefined;
  return decrypt({ key, nonce: bytes.subarray(0, NONCE_BYTES) }, head, bytes.subarray(NONCE_BYTES));
}

function pack(channel: string, data: string): Uint8Array {
  const name = Buffer.from(channel);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(name.length);
  return Buffer.concat([length, name, Buffer.from(data)]);
}

function unpack(plain: Buffer): Omit<Opened, 'kind'> {
  const end = LENGTH_BYTES + plain.readUInt16BE(0);
  return { channel: plain.toString('utf8', LENGTH_BYTES, end), data: plain.toString('utf8', end) };
}
