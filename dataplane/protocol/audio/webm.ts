/** WebM files of Opus, block by block: browsers that record write no length. */
import { opusSeconds } from './opus.ts';
import { unreadableAudio } from './unreadable.ts';

const FILE = 0x1a45dfa3;
const CLUSTER = 0x1f43b675;
const CLUSTER_ID = Buffer.from('1f43b675', 'hex');
/** Names an element that is elsewhere, in a list of them. */
const SEEK_ID = 0x53ab;
/** Elements that hold elements, of which browsers do not know the size: their content is read as it comes. */
const HOLDERS: ReadonlySet<number> = new Set([0x18538067, CLUSTER, 0x1654ae6b, 0xa0, 0x114d9b74, 0x4dbb]);
const TRACK = 0xae;
const TRACK_NUMBER = 0xd7;
const CODEC = 0x86;
/** Of the blocks of a track, whose first bytes may be left out. */
const ENCODINGS = 0x6d80;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;
/** Of a file; one with more is refused. */
const MAX_ELEMENTS = 2_000_000;
const LACING = 0x06;

/** What has been read of the file. */
interface Found {
  seconds: number;
  /** Ids of clusters, also in lists. */
  clusters: number;
  /** The tracks of Opus. */
  readonly sounds: Set<number>;
  /** A track has other sound, a block several packets, or an element no end. */
  isOther: boolean;
}

/** Undefined: no WebM file, or one with other sound, or with several packets in a block. */
export function webmSeconds(file: Buffer): number | undefined {
  if (file.length < 4 || file.readUInt32BE(0) !== FILE) return undefined;
  const found: Found = { seconds: 0, clusters: 0, sounds: new Set(), isOther: false };
  let left = MAX_ELEMENTS;
  for (let next = elementAt(file, 0); next && !found.isOther;) {
    if (left-- === 0) throw unreadableAudio('too many elements');
    readElement(found, file, next);
    next = elementAt(file, HOLDERS.has(next.id) ? next.start : next.end);
  }
  if (!found.isOther) refuseHidden(file, found.clusters);
  return found.isOther || found.seconds === 0 ? undefined : found.seconds;
}

/** Decoders look for clusters where an element is wrong, and may play some that are within it. */
function refuseHidden(file: Buffer, clusters: number): void {
  let left = clusters;
  for (let at = file.indexOf(CLUSTER_ID); at >= 0; at = file.indexOf(CLUSTER_ID, at + CLUSTER_ID.length))
    if (left-- === 0) throw unreadableAudio('sound within other elements');
}

/** Undefined: none begins there. One of an unknown size ends with the file. */
function elementAt(file: Buffer, at: number): Element | undefined {
  const id = readId(file, at);
  const size = id && readSize(file, at + id.bytes);
  if (!id || !size) return undefined;
  const start = at + id.bytes + size.bytes;
  const end = start + size.value;
  return { id: id.value, start, end: Math.min(file.length, end), isOpen: end > file.length };
}

interface Element {
  readonly id: number;
  /** Of its content. */
  readonly start: number;
  readonly end: number;
  /** It says that it ends beyond the file, or does not say where. */
  readonly isOpen: boolean;
}

function readElement(found: Found, file: Buffer, element: Element): void {
  const isBlock = element.id === SIMPLE_BLOCK || element.id === BLOCK;
  // what is behind another open element may be played as well
  if (element.isOpen && !isBlock && !HOLDERS.has(element.id)) found.isOther = true;
  if (isClusterId(file, element)) found.clusters++;
  if (element.id === TRACK) readTrack(found, file, element);
  if (isBlock) readBlock(found, file, element);
}

function isClusterId(file: Buffer, { id, start, end }: Element): boolean {
  return id === CLUSTER || (id === SEEK_ID && file.subarray(start, end).equals(CLUSTER_ID));
}

function readTrack(found: Found, file: Buffer, { start, end }: Element): void {
  let [number, codec] = [0, ''];
  for (let next = elementAt(file, start); next && next.start <= end; next = elementAt(file, next.end)) {
    const content = file.subarray(next.start, next.end);
    if (next.id === TRACK_NUMBER) number = content.reduce((value, byte) => value * 256 + byte, 0);
    if (next.id === CODEC) codec = content.toString('latin1');
    if (next.id === ENCODINGS) found.isOther = true;
  }
  if (codec === 'A_OPUS') found.sounds.add(number);
  else found.isOther ||= codec.startsWith('A_');
}

/** The number of a track, a time of two bytes, flags, and the packet. */
function readBlock(found: Found, file: Buffer, { start, end }: Element): void {
  const track = readSize(file, start);
  if (!track || !found.sounds.has(track.value)) return;
  const flags = start + track.bytes + 2;
  found.isOther ||= ((file[flags] ?? 0) & LACING) !== 0;
  found.seconds += opusSeconds(file, flags + 1, Math.max(0, end - flags - 1));
}

interface Vint {
  readonly value: number;
  readonly bytes: number;
}

/** An id keeps the mark of its length. */
function readId(file: Buffer, at: number): Vint | undefined {
  const bytes = Math.clz32((file[at] ?? 0) << 24) + 1;
  if (bytes > 4 || at + bytes > file.length) return undefined;
  return { value: file.readUIntBE(at, bytes), bytes };
}

/** A size of ones only is not known. */
function readSize(file: Buffer, at: number): Vint | undefined {
  const bytes = Math.clz32((file[at] ?? 0) << 24) + 1;
  if (bytes > 8 || at + bytes > file.length) return undefined;
  let value = (file[at] ?? 0) & (0xff >> bytes);
  for (let index = 1; index < bytes; index++) value = value * 256 + (file[at + index] ?? 0);
  return { value: value >= 2 ** (7 * bytes) - 1 ? Infinity : value, bytes };
}
