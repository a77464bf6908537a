/** Makes a short film for a prompt: an uncompressed AVI whose moving colours are derived from the words. */
import { createHash } from 'node:crypto';

const SIZE = 64;
const FRAMES_PER_SECOND = 8;
const FRAMES = 16;
const FRAME_BYTES = SIZE * SIZE * 3;

/** The same seed gives the same film. */
export function film(seed: string): Buffer {
  const frames = Array.from({ length: FRAMES }, (_none, index) =>
    chunk('00db', frame(createHash('sha256').update(seed).digest(), index)),
  );
  const header = list('hdrl', [
    chunk('avih', mainHeader()),
    list('strl', [chunk('strh', streamHeader()), chunk('strf', bitmapHeader())]),
  ]);
  const body = Buffer.concat([Buffer.from('AVI '), header, list('movi', frames)]);
  return Buffer.concat([Buffer.from('RIFF'), number(body.length), body]);
}

/** Rows from the bottom up, blue first, as in bitmaps. */
function frame(colours: Buffer, index: number): Buffer {
  const pixels = Buffer.alloc(FRAME_BYTES);
  for (let at = 0; at < FRAME_BYTES; at++) {
    const [x, y] = [Math.floor(at / 3) % SIZE, Math.floor(at / 3 / SIZE)];
    pixels[at] = ((colours[at % 3] ?? 0) + (x + index * 4) * 2 + ((colours[(at % 3) + 3] ?? 0) * y) / SIZE) & 0xff;
  }
  return pixels;
}

/**
 * dwMicroSecPerFrame, dwMaxBytesPerSec, dwPaddingGranularity, dwFlags, dwTotalFrames, dwInitialFrames, dwStreams, size,
 * width, height, reserved.
 */
function mainHeader(): Buffer {
  return numbers(
    1_000_000 / FRAMES_PER_SECOND,
    FRAME_BYTES * FRAMES_PER_SECOND,
    0,
    0,
    FRAMES,
    0,
    1,
    FRAME_BYTES,
    SIZE,
    SIZE,
    0,
    0,
    0,
    0,
  );
}

/**
 * Type, codec (none), flags, priority, initial frames, scale, rate, start, length, size, quality, sample size, frame.
 */
function streamHeader(): Buffer {
  return Buffer.concat([
    Buffer.from('vids'),
    numbers(0, 0, 0, 0, 1, FRAMES_PER_SECOND, 0, FRAMES, FRAME_BYTES, 0xffffffff, 0, 0, SIZE | (SIZE << 16)),
  ]);
}

/** Size of this, width, height, planes and bits per pixel, compression, image size, and four unused fields. */
function bitmapHeader(): Buffer {
  return numbers(40, SIZE, SIZE, 1 | (24 << 16), 0, FRAME_BYTES, 0, 0, 0, 0);
}

function list(type: string, chunks: readonly Buffer[]): Buffer {
  return chunk('LIST', Buffer.concat([Buffer.from(type), ...chunks]));
}

function chunk(id: string, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from(id), number(data.length), data]);
}

function numbers(...values: readonly number[]): Buffer {
  return Buffer.concat(values.map(number));
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}
