/** WAVE files of samples that are not compressed (PCM, floats, A-law, mu-law). */

const FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7]);
const EXTENSIBLE = 0xfffe;
const CONTAINERS: ReadonlySet<string> = new Set(['RIFF', 'RF64', 'BW64']);
/** Of a file; one with more is not read. */
const MAX_CHUNKS = 100_000;
const FORMAT_BYTES = 16;
/** Where the extensible format names the real one. */
const SUB_FORMAT = 24;

/** Every chunk of data is played, as FFmpeg does; one without a size goes on to the end. */
export function wavSeconds(file: Buffer): number | undefined {
  if (!CONTAINERS.has(file.toString('latin1', 0, 4)) || file.toString('latin1', 8, 12) !== 'WAVE') return undefined;
  let [bytesPerSecond, data, left] = [Infinity, 0, MAX_CHUNKS];
  for (const { name, content } of chunksIn(file)) {
    if (left-- === 0) return undefined;
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
  for (let at = 12; at + 8 <= file.length;) {
    const name = file.toString('latin1', at, at + 4);
    const stated = file.readUInt32LE(at + 4);
    const content = file.subarray(at + 8, name === 'data' && stated === 0 ? undefined : at + 8 + stated);
    yield { name, content };
    at += 8 + content.length + (content.length % 2);
  }
}

/** Bytes of a second; 0: its samples are compressed. */
function rateOf(format: Buffer): number {
  if (format.length < FORMAT_BYTES) return 0;
  const tag = format.readUInt16LE(0);
  const isExtended = tag === EXTENSIBLE && format.length >= SUB_FORMAT + 2;
  if (!FORMATS.has(isExtended ? format.readUInt16LE(SUB_FORMAT) : tag)) return 0;
  const bytesOfSample = Math.floor((format.readUInt16LE(2) * format.readUInt16LE(14)) / 8);
  return Math.min(bytesOfSample, format.readUInt16LE(12)) * format.readUInt32LE(4);
}
