/** FLAC files, by the frames that they have: the count of samples at their start may be wrong, or missing. */

import { unreadableAudio } from './unreadable.ts';

const MARK = 'fLaC';
/** Bytes that may begin a frame. A file with more is refused: sound has one in 256. */
const MAX_MARKS = 2_000_000;
const LAST_BLOCK = 0x80;
const SYNC = 0xff;
const RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/** Codes of fields that the header has at its end, by their bytes; those of the rate count kHz, Hz or tens of Hz. */
const SIZE_BYTES: ReadonlyMap<number, number> = new Map([
  [6, 1],
  [7, 2],
]);
const RATE_FIELDS: ReadonlyMap<number, { readonly bytes: number; readonly hertz: number }> = new Map([
  [12, { bytes: 1, hertz: 1000 }],
  [13, { bytes: 2, hertz: 1 }],
  [14, { bytes: 2, hertz: 10 }],
]);

/** Undefined: no FLAC file, or one without a frame. */
export function flacSeconds(file: Buffer): number | undefined {
  if (file.toString('latin1', 0, 4) !== MARK || file.length < 42) return undefined;
  const rate = file.readUIntBE(18, 3) >> 4;
  let [seconds, left] = [0, MAX_MARKS];
  for (let at = file.indexOf(SYNC, afterBlocks(file)); at >= 0; at = file.indexOf(SYNC, at + 1)) {
    if (left-- === 0) throw unreadableAudio('too many bytes that may begin a frame');
    seconds += frameSeconds(file, at, rate);
  }
  return seconds === 0 ? undefined : seconds;
}

function afterBlocks(file: Buffer): number {
  for (let at = 4; at + 4 <= file.length;) {
    const kind = file[at] ?? 0;
    at += 4 + file.readUIntBE(at + 1, 3);
    if (kind >= LAST_BLOCK) return at;
  }
  return file.length;
}

/** 0: no frame begins there. */
function frameSeconds(file: Buffer, at: number, streamRate: number): number {
  const header = headerAt(file, at);
  if (!header || crc8(file, at, header.end) !== file[header.end]) return 0;
  const rate = rateOf(file, header.rate, header.rateCode) || streamRate;
  return rate > 0 ? samplesOf(file, header) / rate : 0;
}

interface Header {
  readonly sizeCode: number;
  readonly rateCode: number;
  /** Where fields of them are, if there are any, and the checksum after them. */
  readonly size: number;
  readonly rate: number;
  readonly end: number;
}

function headerAt(file: Buffer, at: number): Header | undefined {
  if (at + 5 > file.length) return undefined;
  const head = file.readUInt32BE(at);
  const [sizeCode, rateCode] = [(head >> 12) & 15, (head >> 8) & 15];
  if (((head >> 17) & 0x7f) !== 0x7c || sizeCode === 0 || rateCode === 15) return undefined;
  const size = at + 4 + numberBytes(file[at + 4] ?? 0);
  const rate = size + (SIZE_BYTES.get(sizeCode) ?? 0);
  const end = rate + (RATE_FIELDS.get(rateCode)?.bytes ?? 0);
  return end < file.length ? { sizeCode, rateCode, size, rate, end } : undefined;
}

function samplesOf(file: Buffer, { sizeCode, size, rate }: Header): number {
  return rate > size ? file.readUIntBE(size, rate - size) + 1 : tableSize(sizeCode);
}

/** 0: that of the stream. */
function rateOf(file: Buffer, at: number, code: number): number {
  const field = RATE_FIELDS.get(code);
  return field ? file.readUIntBE(at, field.bytes) * field.hertz : (RATES[code] ?? 0);
}

/** The number of the frame is written as UTF-8 writes a character. */
function numberBytes(first: number): number {
  return first < 0x80 ? 1 : Math.max(1, Math.clz32(~(first << 24)));
}

function tableSize(code: number): number {
  if (code === 1) return 192;
  return code < 6 ? 576 * 2 ** (code - 2) : 256 * 2 ** (code - 8);
}

function crc8(file: Buffer, start: number, end: number): number {
  let crc = 0;
  for (let at = start; at < end; at++) {
    crc ^= file[at] ?? 0;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  }
  return crc;
}
