/** Ogg files of Opus, packet by packet: the positions that pages state may be wrong. */
import { opusSeconds } from './opus.ts';

const PAGE = Buffer.from('OggS');
const PAGE_HEAD_BYTES = 27;
/** Whether the page goes on with the packet that the one before it has begun. */
const FLAGS = 5;
const CONTINUED = 1;
const SERIAL = 14;
const SEGMENTS = 26;
const FULL_SEGMENT = 255;
/** Pages and segments of a file, of which a packet has one or more; a file with more is not read. */
const MAX_SEGMENTS = 2_000_000;
const HEAD_LETTER = 0x4f;
const HEAD_BYTES = 8;
const HEADS: ReadonlySet<string> = new Set(['OpusHead', 'OpusTags']);

/** What has been read of one stream of the file. */
interface Stream {
  seconds: number;
  /** Its last packet goes on with the next page; its first bytes have said how long it is. */
  isWithinPacket: boolean;
}

/** Undefined: no Ogg file, or one with another codec. */
export function oggSeconds(file: Buffer): number | undefined {
  if (file.indexOf(PAGE) !== 0) return undefined;
  const streams = new Map<number, Stream>();
  let left = MAX_SEGMENTS;
  for (let at = 0; at >= 0; at = file.indexOf(PAGE, at)) {
    const start = at + PAGE_HEAD_BYTES + (file[at + SEGMENTS] ?? 0);
    if (start > file.length) break;
    left -= start - at - PAGE_HEAD_BYTES + 1;
    const stream = streamOf(streams, file, { at, start });
    if (!stream || left < 0) return undefined;
    const end = readPackets(stream, file, { at, start });
    at = Math.max(at + PAGE.length, Math.min(end, file.length));
  }
  return streams.values().reduce((sum, { seconds }) => sum + seconds, 0);
}

interface Page {
  readonly at: number;
  /** Where its content begins; the sizes of its segments, one byte each, are before it. */
  readonly start: number;
}

/** The stream of a page. Undefined: it begins with a packet that is not Opus'. */
function streamOf(streams: Map<number, Stream>, file: Buffer, { at, start }: Page): Stream | undefined {
  const serial = file.readUInt32LE(at + SERIAL);
  const known = streams.get(serial);
  if (!known && !isHead(file, start)) return undefined;
  const stream = known ?? { seconds: 0, isWithinPacket: false };
  if (((file[at + FLAGS] ?? 0) & CONTINUED) === 0) stream.isWithinPacket = false;
  streams.set(serial, stream);
  return stream;
}

/** Returns where the page ends. */
function readPackets(stream: Stream, file: Buffer, page: Page): number {
  const { start } = page;
  let [packet, end] = [start, start];
  for (let at = page.at + PAGE_HEAD_BYTES; at < start; at++) {
    const size = file[at] ?? 0;
    end += size;
    if (size === FULL_SEGMENT && at < start - 1) continue;
    if (!stream.isWithinPacket && !isHead(file, packet)) stream.seconds += opusSeconds(file, packet, end - packet);
    stream.isWithinPacket = size === FULL_SEGMENT;
    packet = end;
  }
  return end;
}

/** Most packets begin with another letter. */
function isHead(file: Buffer, at: number): boolean {
  return file[at] === HEAD_LETTER && HEADS.has(file.toString('latin1', at, at + HEAD_BYTES));
}
