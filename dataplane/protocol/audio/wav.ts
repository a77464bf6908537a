/** WAVE files of samples that are not compressed (PCM, floats, A-law, mu-law). */

import { unreadableAudio } from './unreadable.ts';

const FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7]);
/** A-law and mu-law have a byte per sample, whatever the header says. */
const LAWS: ReadonlySet<number> = new Set([6, 7]);
const EXTENSIBLE = 0xfffe;
const CONTAINERS: ReadonlySet<string> = new Set(['RIFF', 'RF64', 'BW64']);
/** Of a file; one with more is refused. */
const MAX_CHUNKS = 100_000;
const FORMAT_BYTES = 16;
/** Where the extensible format names the real one. */
const SUB_FORMAT = 24;
/** Of a sample: how many bits of it are in use. */
const VALID_BITS = 18;
const MAX_BITS = 64;

/** Every chunk of data is played, as FFmpeg does; one without a size, or with one elsewhere, goes on to the end. */
export function wavSeconds(file: Buffer): number | undefined {
  if (!CONTAINERS.has(file.toString('latin1', 0, 4)) || file.toString('latin1', 8, 12) !== 'WAVE') return undefined;
  let [bytesPerSecond, data, left] = [Infinity, 0, MAX_CHUNKS];
  for (const { name, content } of chunksIn(file)) {
    if (left-- === 0) throw unreadableAudio('too many chunks');
    if (name === 'data') data += content.length;
    if (name === 'fmt ') bytesPerSecond = Math.min(bytesPerSecond, rateOf(content));
  }
  return Number.isFinite(bytesPerSecond) && bytesPerSecond > 0 ? data / bytesPerSecond : undefined;
}

interface Chunk {
  readonly name: string;
  readonly content: Buffer;
}

function* chunksIn(file: Buffer): Generator<Chunk, void, undefined> {
  const isLarge = file.toString('latin1', 0, 4) !== 'RIFF';
  for (let at = 12; at + 8 <= file.length;) {
    const name = file.toString('latin1', at, at + 4);
    const stated = file.readUInt32LE(at + 4);
    const content = file.subarray(at + 8, name === 'data' && (isLarge || stated === 0) ? undefined : at + 8 + stated);
    yield { name, content };
    at += 8 + content.length + (content.length % 2);
  }
}

/** Bytes of a second; 0: its samples are compressed. */
function rateOf(format: Buffer): number {
  if (format.length < FORMAT_BYTES) return 0;
  const tag = format.readUInt16LE(0);
  const isExtended = tag === EXTENSIBLE && format.length >= SUB_FORMAT + 2;
  const kind = isExtended ? format.readUInt16LE(SUB_FORMAT) : tag;
  if (!FORMATS.has(kind)) return 0;
  const bytesOfSample = LAWS.has(kind) ? 1 : Math.ceil(bitsOf(format, isExtended) / 8);
  return Math.min(format.readUInt16LE(2) * bytesOfSample, format.readUInt16LE(12)) * format.readUInt32LE(4);
}

function bitsOf(format: Buffer, isExtended: boolean): number {
  const bits = Math.min(MAX_BITS, format.readUInt16LE(14));
  const valid = isExtended ? format.readUInt16LE(VALID_BITS) : 0;
  return valid === 0 ? bits : Math.min(bits, valid);
}
