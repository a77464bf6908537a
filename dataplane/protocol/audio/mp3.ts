/**
 * MPEG audio of the layers I to III, and AAC in ADTS, frame by frame: a file may have any bit rates, and no header that
 * counts.
 */
import { AAC_RATES, AAC_SAMPLES } from './aac.ts';
import { unreadableAudio } from './unreadable.ts';

export interface Mp3Length {
  readonly seconds: number;
  /** Of what is neither a frame nor a tag. */
  readonly otherBytes: number;
}

interface Frame {
  readonly bytes: number;
  readonly seconds: number;
}

const V1 = 3;
const RESERVED = 1;
/** By version: 2.5, none, 2 and 1. */
const RATE_DIVISORS = [4, 1, 2, 1];
/** kbit/s by layer (I, II, III), of MPEG 1, and of MPEG 2 and 2.5. */
const RATES_V1 = [
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
const RATES_V2 = [
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const SAMPLE_RATES = [44_100, 48_000, 32_000];
const SYNC = 0xff;
const ADTS_BYTES = 7;
const NESTED_FRAMES = 4;
/** A file with more beside its frames is not searched for further ones. */
const MAX_OTHER_BYTES = 1024 * 1024;
/** ID3v1 at the end. */
const OLD_TAG_BYTES = 128;

/** Undefined: the file does not begin with two frames, or with one that is all of it. */
export function mp3Length(file: Buffer): Mp3Length | undefined {
  const first = frameAt(file, 0);
  if (!first) return undefined;
  if (first.bytes < endOf(file) && !frameAt(file, first.bytes)) return undefined;
  return sumFrames(file);
}

function sumFrames(file: Buffer): Mp3Length {
  const end = endOf(file);
  let [seconds, otherBytes, at] = [0, 0, 0];
  while (at < end) {
    if (otherBytes > MAX_OTHER_BYTES) return { seconds, otherBytes: otherBytes + end - at };
    const frame = frameAt(file, at);
    if (frame) {
      refuseNested(file, at + 1, Math.min(end, at + frame.bytes));
      seconds += frame.seconds;
      at += frame.bytes;
      continue;
    }
    const next = file.indexOf(SYNC, at + 1);
    const until = next < 0 ? end : Math.min(next, end);
    otherBytes += until - at;
    at = until;
  }
  return { seconds, otherBytes };
}

/** Decoders may play frames that are within others; several in a row are no coincidence. */
function refuseNested(file: Buffer, from: number, to: number): void {
  for (let at = file.indexOf(SYNC, from); at >= 0 && at < to; at = file.indexOf(SYNC, at + 1))
    if (isRow(file, at)) throw unreadableAudio('frames within frames');
}

function isRow(file: Buffer, start: number): boolean {
  let at = start;
  for (let count = 0; count < NESTED_FRAMES; count++) {
    const frame = frameAt(file, at);
    if (!frame) return false;
    at += frame.bytes;
  }
  return true;
}

function endOf(file: Buffer): number {
  const end = file.length - OLD_TAG_BYTES;
  return end > 0 && file.toString('latin1', end, end + 3) === 'TAG' ? end : file.length;
}

/** Undefined: no frame begins there. */
function frameAt(file: Buffer, at: number): Frame | undefined {
  if (at + 4 > file.length || file[at] !== SYNC) return undefined;
  return mpegFrame(file, at) ?? adtsFrame(file, at);
}

/** AAC: blocks of 1024 samples, of which a frame has up to four. */
function adtsFrame(file: Buffer, at: number): Frame | undefined {
  if (at + ADTS_BYTES > file.length || (file.readUInt16BE(at) & 0xfff6) !== 0xfff0) return undefined;
  const rate = AAC_RATES[((file[at + 2] ?? 0) >> 2) & 15];
  const bytes = (file.readUInt32BE(at + 2) >> 5) & 0x1fff;
  if (rate === undefined || bytes < ADTS_BYTES) return undefined;
  return { bytes, seconds: (((file[at + 6] ?? 0) & 3) + 1) * (AAC_SAMPLES / rate) };
}

/** Undefined: no frame begins there, or one of a free bit rate, whose size nobody knows. */
function mpegFrame(file: Buffer, at: number): Frame | undefined {
  const head = file.readUInt32BE(at);
  const [version, layer] = [(head >> 19) & 3, 4 - ((head >> 17) & 3)];
  if (((head >> 21) & 7) !== 7 || version === RESERVED || layer === 4) return undefined;
  const kbits = kbitsOf(version, layer, (head >> 12) & 15);
  const rate = rateOf(version, (head >> 10) & 3);
  if (kbits * rate === 0) return undefined;
  const samples = samplesOf(layer, version === V1);
  // layer I has slots of four bytes
  const slot = layer === 1 ? 4 : 1;
  const slots = Math.floor((samples * kbits * 125) / rate / slot) + ((head >> 9) & 1);
  return { bytes: slots * slot, seconds: samples / rate };
}

/** 0: a free bit rate, or none. */
function kbitsOf(version: number, layer: number, index: number): number {
  return (version === V1 ? RATES_V1 : RATES_V2)[layer - 1]?.[index] ?? 0;
}

/** Samples of a second; 0: none. */
function rateOf(version: number, index: number): number {
  return (SAMPLE_RATES[index] ?? 0) / (RATE_DIVISORS[version] ?? 1);
}

function samplesOf(layer: number, isFirstVersion: boolean): number {
  if (layer === 1) return 384;
  return layer === 3 && !isFirstVersion ? 576 : 1152;
}
