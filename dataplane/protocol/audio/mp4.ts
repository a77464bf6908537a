/** MP4 files of AAC, ALAC and FLAC, by the frames in their tables: the durations that they state may be wrong. */
import { AAC_RATES, AAC_SAMPLES } from './aac.ts';
import { unreadableAudio } from './unreadable.ts';

interface Box {
  readonly name: string;
  /** Of its content. */
  readonly start: number;
  readonly end: number;
}

/** Boxes that hold boxes. */
const HOLDERS: ReadonlySet<string> = new Set(['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl', 'moof', 'traf']);
const MAX_DEPTH = 8;
/** Of a file; one with more is refused. */
const MAX_BOXES = 1_000_000;
/** A pause, and the track. More edits may play the same frames again. */
const MAX_EDITS = 2;
const DESCRIPTOR_AAC: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68]);

/** Boxes with a count, of frames, edits or descriptions, and where it is. */
const COUNTS: ReadonlyMap<string, number> = new Map([
  ['stsz', 8],
  ['stz2', 8],
  ['trun', 4],
  ['elst', 4],
  ['stsd', 4],
]);

/** Boxes by which a decoder plays something, also compressed ones and those that QuickTime takes in place of `moov`. */
const PLAYED: ReadonlySet<string> = new Set(['stsz', 'stz2', 'stsd', 'trun', 'hoov', 'cmov']);
const BOX_BYTES = 8;

/** What is found of one file. All tracks of sound count together. */
interface Found {
  frames: number;
  descriptions: number;
  /** Of the longest frame; 0: there is no sound. */
  frameSeconds: number;
  /** A track has sound of another codec, or plays in another way than once. */
  isOther: boolean;
}

/** Undefined: no MP4 file, or one whose sound is of another codec. */
export function mp4Seconds(file: Buffer): number | undefined {
  if (file.toString('latin1', 4, 8) !== 'ftyp') return undefined;
  const found: Found = { ...NOTHING };
  const seen: Seen = { boxes: 0, tables: 0, media: [] };
  readBoxes(file, { name: '', start: 0, end: file.length }, { found, seen, depth: 0 });
  refuseHidden(file, seen);
  const seconds = found.frames * found.frameSeconds;
  return found.isOther || seconds === 0 ? undefined : seconds;
}

const NOTHING: Found = { frames: 0, descriptions: 0, frameSeconds: 0, isOther: false };

/** What is seen of the whole file. */
interface Seen {
  boxes: number;
  /** Boxes of the names in PLAYED. */
  tables: number;
  /** Boxes of sound itself, in their order. */
  readonly media: Box[];
}

/** A decoder may enter boxes that this reader does not, or look for some in another way. */
function refuseHidden(file: Buffer, { tables, media }: Seen): void {
  let [left, from] = [tables, 0];
  for (const { start, end } of [...media, { start: file.length, end: file.length }]) {
    left -= namesIn(file.subarray(from, start));
    if (left < 0) throw unreadableAudio('sound in unusual places');
    from = end;
  }
}

function namesIn(bytes: Buffer): number {
  let count = 0;
  for (const name of bytes.length < BOX_BYTES ? [] : PLAYED)
    for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + name.length)) count++;
  return count;
}

interface Reading {
  readonly found: Found;
  readonly seen: Seen;
  readonly depth: number;
}

function readBoxes(file: Buffer, within: Box, { found, seen, depth }: Reading): void {
  // tables of tracks without sound count for none
  const own: Found = within.name === 'trak' ? { ...NOTHING } : found;
  for (const box of boxesIn(file, within)) {
    seen.boxes++;
    if (seen.boxes > MAX_BOXES) throw unreadableAudio('too many boxes');
    if (!HOLDERS.has(box.name)) readBox(file, box, { found: own, seen, depth });
    else if (depth < MAX_DEPTH) readBoxes(file, box, { found: own, seen, depth: depth + 1 });
    else throw unreadableAudio('too many boxes within each other');
  }
  if (own !== found) addTrack(found, own);
}

function addTrack(found: Found, own: Found): void {
  // frames that nothing describes may be sound
  own.isOther ||= own.descriptions === 0 && own.frames > 0;
  if (own.frameSeconds === 0 && !own.isOther) return;
  found.frames += own.frames;
  found.frameSeconds = Math.max(found.frameSeconds, own.frameSeconds);
  found.isOther ||= own.isOther;
}

function readBox(file: Buffer, box: Box, { found, seen, depth }: Reading): void {
  const { name, start, end } = box;
  noteBox(seen, box, depth);
  const at = start + (COUNTS.get(name) ?? 0);
  if (at === start || at + 4 > end) return;
  const count = file.readUInt32BE(at);
  if (name === 'elst') found.isOther ||= count > MAX_EDITS;
  else if (name === 'stsd') {
    found.descriptions++;
    readEntries(file, { name, start: at + 4, end }, found);
  } else found.frames += count;
}

/** Those that are not read are hidden. */
function noteBox(seen: Seen, box: Box, depth: number): void {
  if (box.name === 'mdat' && depth === 0) seen.media.push(box);
  if (COUNTS.has(box.name) && PLAYED.has(box.name)) seen.tables++;
}

const SOUND_ENTRY_BYTES = 28;

/** Entries of pictures and texts are passed by. */
function readEntries(file: Buffer, entries: Box, found: Found): void {
  for (const { name, start, end } of boxesIn(file, entries)) {
    const read = FRAME_READERS.get(name);
    const seconds = read?.(file.subarray(start + SOUND_ENTRY_BYTES, end));
    if (seconds !== undefined) found.frameSeconds = Math.max(found.frameSeconds, seconds);
    else if (read || !isOfPictures(name)) found.isOther = true;
  }
}

const PICTURES =
  /^(?:avc|hvc|hev|av01|vp0|mp4v|jpeg|mjp|png|ap4|apc|dv|encv|s263|tx3g|wvtt|stpp|text|tmcd|rtmd|mett|metx|c608)/;

function isOfPictures(name: string): boolean {
  return PICTURES.test(name);
}

/** Seconds of a frame by the decoder's own description; undefined: it is of another codec, or cannot be read. */
const FRAME_READERS: ReadonlyMap<string, (entry: Buffer) => number | undefined> = new Map([
  ['mp4a', aacFrame],
  ['alac', alacFrame],
  ['fLaC', flacFrame],
]);

function aacFrame(entry: Buffer): number | undefined {
  const rate = aacRate(entry);
  return rate === undefined ? undefined : AAC_SAMPLES / rate;
}

/** The box has a version, the length of a frame, and further the rate. */
function alacFrame(entry: Buffer): number | undefined {
  const at = onlyBox(entry, 'alac');
  if (at === undefined || at + 32 > entry.length) return undefined;
  return secondsOf(entry.readUInt32BE(at + 8), entry.readUInt32BE(at + 28));
}

/** The box has a version, and then the blocks that a FLAC file begins with. */
function flacFrame(entry: Buffer): number | undefined {
  const at = onlyBox(entry, 'dfLa');
  if (at === undefined || at + 25 > entry.length || ((entry[at + 8] ?? 0) & 0x7f) !== 0) return undefined;
  return secondsOf(entry.readUInt16BE(at + 14), entry.readUIntBE(at + 22, 3) >> 4);
}

function secondsOf(samples: number, rate: number): number | undefined {
  return samples > 0 && rate > 0 ? samples / rate : undefined;
}

/** Where its name is; undefined: there is none, or more than one. */
function onlyBox(entry: Buffer, name: string): number | undefined {
  const at = entry.indexOf(name);
  return at >= 0 && entry.lastIndexOf(name) === at ? at : undefined;
}

/** Undefined: it is of another codec, or cannot be read. */
function aacRate(entry: Buffer): number | undefined {
  const decoder = decoderAt(entry);
  if (decoder === undefined || !DESCRIPTOR_AAC.has(entry[decoder] ?? 0)) return undefined;
  const specific = descriptorAt(entry, decoder + 13, 5);
  return specific === undefined || specific + 2 > entry.length ? undefined : AAC_RATES[rateIndex(entry, specific)];
}

/** The box has a version, and then descriptors within each other: of the stream, the decoder, and its configuration. */
function decoderAt(entry: Buffer): number | undefined {
  const at = onlyBox(entry, 'esds');
  const stream = at === undefined ? undefined : descriptorAt(entry, at + 8, 3);
  // flags announce fields that no file of sound has
  if (stream === undefined || (entry[stream + 2] ?? 0) >= 0x20) return undefined;
  return descriptorAt(entry, stream + 3, 4);
}

/** Five bits name the kind of AAC, and four the rate. */
function rateIndex(entry: Buffer, at: number): number {
  const bits = entry.readUInt16BE(at);
  return bits >> 11 === 31 ? AAC_RATES.length : (bits >> 7) & 15;
}

/** Where the content of a descriptor with this tag begins; undefined: another one is there. */
function descriptorAt(entry: Buffer, at: number, tag: number): number | undefined {
  if (entry[at] !== tag) return undefined;
  let content = at + 1;
  while (content < at + 4 && (entry[content] ?? 0) >= 0x80) content++;
  return content + 1;
}

/** Iterates over the boxes; one that ends beyond its holder ends with it. */
function* boxesIn(file: Buffer, { start, end }: Box): Generator<Box, void, undefined> {
  for (let at = start; at + 8 <= end;) {
    const stated = file.readUInt32BE(at);
    const isLarge = stated === 1 && at + 16 <= end;
    const size = isLarge ? Number(file.readBigUInt64BE(at + 8)) : stated;
    const head = isLarge ? 16 : 8;
    const boxEnd = size < head ? end : Math.min(end, at + size);
    yield { name: file.toString('latin1', at + 4, at + 8), start: at + head, end: boxEnd };
    at = boxEnd;
  }
}
