/** Views of bytes as a Node Buffer. */
import { Buffer } from 'node:buffer';

/** The same bytes, not a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Invalid UTF-8 becomes replacement characters. */
export function decodeUtf8(bytes: Uint8Array): string {
  return asBuffer(bytes).toString('utf8');
}
