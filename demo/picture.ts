/** Makes a small picture for a prompt: a PNG with a gradient whose colours are derived from the words. */
import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

const SIZE = 64;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** The same seed gives the same picture. */
export function picture(seed: string): Buffer {
  const colours = createHash('sha256').update(seed).digest();
  const channel = (x: number, y: number, index: number): number =>
    Math.round(
      ((colours[index] ?? 0) * (SIZE - x) + (colours[index + 3] ?? 0) * x + (colours[index + 6] ?? 0) * y) / (2 * SIZE),
    ) & 0xff;
  const rows = Array.from({ length: SIZE }, (_, y) => [
    0,
    ...Array.from({ length: SIZE }, (_unused, x) => [0, 1, 2].map((index) => channel(x, y, index))).flat(),
  ]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  // 8 bits per channel, RGB.
  header.set([8, 2], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(rows.flat()))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}
