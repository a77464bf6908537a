/** WAVE files of samples that are not compressed (PCM, floats, A-law, mu-law). */

const FORMATS: ReadonlySet<number> = new Set([1, 3, 6, 7]);
const EXTENSIBLE = 0xfffe;
const CONTAINERS: ReadonlySet<string> = new Set(['RIFF', 'RF64', 'BW64']);
const FORMAT_BYTES = 16;
/** Where the extensible format names the real one. */
const SUB_FORMAT = 24;

/** Every chunk of data is played, as FFmpeg does; one without a size goes on to the end. */
export function wavSeconds(file: Buffer): number | undefined {
  if (!CONTAINERS.has(file.toString('latin1', 0, 4)) || file.toString('latin1', 8, 12) !== 'WAVE') return undefined;
  let [bytesPerSecond, data, at] = [Infinity, 0, 12];
  while (at + 8 <= file.length) {
    const name = file.toString('latin1', at, at + 4);
    const left = file.length - at - 8;
    const stated = file.readUInt32LE(at + 4);
    const size = name === 'data' && stated === 0 ? left : Math.min(stated, left);
    if (name === 'data') data += size;
    if (name === 'fmt ') bytesPerSecond = Math.min(bytesPerSecond, rateOf(file.subarray(at + 8, at + 8 + size)));
    at += 8 + size + (size % 2);
  }
  return Number.isFinite(bytesPerSecond) && bytesPerSecond > 0 ? data / bytesPerSecond : undefined;
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
