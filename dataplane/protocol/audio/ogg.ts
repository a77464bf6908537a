/** Ogg files of Opus and Vorbis, packet by packet: the positions that pages state may be wrong. */
import { opusSeconds } from './opus.ts';
import { unreadableAudio } from './unreadable.ts';

const PAGE = Buffer.from('OggS');
const PAGE_HEAD_BYTES = 27;
/** Whether the page goes on with the packet that the one before it has begun. */
const FLAGS = 5;
const CONTINUED = 1;
const SERIAL = 14;
const SEGMENTS = 26;
const FULL_SEGMENT = 255;
/** Pages and segments of a file, of which a packet has one or more; a file with more is refused. */
const MAX_SEGMENTS = 2_000_000;
const HEAD_LETTER = 0x4f;
const HEAD_BYTES = 8;
const HEADS: ReadonlySet<string> = new Set(['OpusHead', 'OpusTags']);

/** Seconds of one packet of Vorbis are those of half its longer block, at most. */
const VORBIS = '\x01vorbis';
const VORBIS_BYTES = 29;

/** What has been read of one stream of the file. */
interface Stream {
  /** Its packets say how long they are. */
  isOpus: boolean;
  /** Of each packet of Vorbis; 0: it is none. */
  packetSeconds: number;
  /** Its last packet goes on with the next page; its first bytes have said how long it is. */
  isWithinPacket: boolean;
}

export interface OggLength {
  readonly seconds: number;
  /** A stream is of a codec whose packets are not counted. */
  readonly isOther: boolean;
}

/**
 * Undefined: no Ogg file. Decoders pass by a page whose checksum is wrong, and may find others in what it holds: these
 * count as well.
 */
export function oggLength(file: Buffer): OggLength | undefined {
  if (file.indexOf(PAGE) !== 0) return undefined;
  const streams = new Map<number, Stream>();
  let [seconds, left, end] = [0, MAX_SEGMENTS, 0];
  for (let at = 0; at >= 0; at = file.indexOf(PAGE, at + PAGE.length)) {
    const start = at + PAGE_HEAD_BYTES + (file[at + SEGMENTS] ?? 0);
    if (start > file.length) continue;
    left -= start - at - PAGE_HEAD_BYTES + 1;
    if (left < 0) throw unreadableAudio('too many pages');
    const stream = streamOf(streams, file, { at, start });
    const isNested = at < end;
    if (isNested) stream.isWithinPacket = false;
    const page = readPackets(stream, file, { at, start });
    seconds += page.seconds;
    if (isNested) stream.isWithinPacket = false;
    else end = page.end;
  }
  return { seconds, isOther: streams.values().some((stream) => !stream.isOpus && stream.packetSeconds === 0) };
}

interface Page {
  readonly at: number;
  /** Where its content begins; the sizes of its segments, one byte each, are before it. */
  readonly start: number;
}

function streamOf(streams: Map<number, Stream>, file: Buffer, { at }: Page): Stream {
  const serial = file.readUInt32LE(at + SERIAL);
  const stream = streams.get(serial) ?? { isOpus: false, packetSeconds: 0, isWithinPacket: false };
  if (((file[at + FLAGS] ?? 0) & CONTINUED) === 0) stream.isWithinPacket = false;
  streams.set(serial, stream);
  return stream;
}

interface Packets {
  readonly seconds: number;
  /** Of the page. */
  readonly end: number;
}

function readPackets(stream: Stream, file: Buffer, page: Page): Packets {
  const { start } = page;
  let [seconds, packet, end] = [0, start, start];
  for (let at = page.at + PAGE_HEAD_BYTES; at < start; at++) {
    const size = file[at] ?? 0;
    end += size;
    if (size === FULL_SEGMENT && at < start - 1) continue;
    if (!stream.isWithinPacket) seconds += packetSeconds(stream, file, { at: packet, end });
    stream.isWithinPacket = size === FULL_SEGMENT;
    packet = end;
  }
  return { seconds, end };
}

function packetSeconds(
  stream: Stream,
  file: Buffer,
  { at, end }: { readonly at: number; readonly end: number },
): number {
  if (isHead(file, at)) stream.isOpus = true;
  else if (file.toString('latin1', at, at + VORBIS.length) === VORBIS) readVorbis(stream, file, at);
  else if (stream.isOpus) return Math.max(opusSeconds(file, at, end - at), stream.packetSeconds);
  // others are heads
  else if (end > at && ((file[at] ?? 0) & 1) === 0) return stream.packetSeconds;
  return 0;
}

function readVorbis(stream: Stream, file: Buffer, at: number): void {
  if (at + VORBIS_BYTES > file.length) return;
  const rate = file.readUInt32LE(at + 12);
  const blockSamples = 2 ** ((file[at + 28] ?? 0) >> 4);
  if (rate > 0) stream.packetSeconds = Math.max(stream.packetSeconds, blockSamples / 2 / rate);
}

/** Most packets begin with another letter. */
function isHead(file: Buffer, at: number): boolean {
  return file[at] === HEAD_LETTER && HEADS.has(file.toString('latin1', at, at + HEAD_BYTES));
}
