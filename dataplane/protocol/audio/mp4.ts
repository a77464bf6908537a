/** MP4 files of AAC, by the frames in their tables: the durations that they state may be wrong. */

interface Box {
  readonly name: string;
  /** Of its content. */
  readonly start: number;
  readonly end: number;
}

/** Boxes that hold boxes. */
const HOLDERS: ReadonlySet<string> = new Set(['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl', 'moof', 'traf']);
const MAX_DEPTH = 8;
/** Of a file; one with more is not read. */
const MAX_BOXES = 1_000_000;
/** A pause, and the track. More edits may play the same frames again. */
const MAX_EDITS = 2;
const FRAME_SAMPLES = 1024;
const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];
const DESCRIPTOR_AAC: ReadonlySet<number> = new Set([0x40, 0x66, 0x67, 0x68]);

/** Boxes with a count, of frames, edits or descriptions, and where it is. */
const COUNTS: ReadonlyMap<string, number> = new Map([
  ['stsz', 8],
  ['stz2', 8],
  ['trun', 4],
  ['elst', 4],
  ['stsd', 4],
]);

/** What is found of one file. All tracks of AAC count together. */
interface Found {
  frames: number;
  boxes: number;
  /** Of the slowest track; Infinity: there is none. */
  rate: number;
  /** A track has sound of another codec, or plays in another way than once. */
  isOther: boolean;
}

/** Undefined: no MP4 file, or one whose sound is of another codec. */
export function mp4Seconds(file: Buffer): number | undefined {
  if (file.toString('latin1', 4, 8) !== 'ftyp') return undefined;
  const found: Found = { frames: 0, boxes: 0, rate: Infinity, isOther: false };
  readBoxes(file, { name: '', start: 0, end: file.length }, { found, depth: 0 });
  if (found.isOther || found.frames === 0 || !Number.isFinite(found.rate)) return undefined;
  return (found.frames * FRAME_SAMPLES) / found.rate;
}

interface Reading {
  readonly found: Found;
  readonly depth: number;
}

function readBoxes(file: Buffer, within: Box, { found, depth }: Reading): void {
  // tables of tracks without sound count for none
  const own: Found = within.name === 'trak' ? { frames: 0, boxes: 0, rate: Infinity, isOther: false } : found;
  for (const box of boxesIn(file, within)) {
    own.boxes++;
    if (own.boxes > MAX_BOXES) return void (found.isOther = true);
    if (!HOLDERS.has(box.name)) readBox(file, box, own);
    else if (depth < MAX_DEPTH) readBoxes(file, box, { found: own, depth: depth + 1 });
    else own.isOther = true;
  }
  if (own === found || (!Number.isFinite(own.rate) && !own.isOther)) return;
  found.frames += own.frames;
  found.rate = Math.min(found.rate, own.rate);
  found.isOther ||= own.isOther;
}

function readBox(file: Buffer, { name, start, end }: Box, found: Found): void {
  const at = start + (COUNTS.get(name) ?? 0);
  if (at === start || at + 4 > end) return;
  const count = file.readUInt32BE(at);
  if (name === 'elst') found.isOther ||= count > MAX_EDITS;
  else if (name === 'stsd') readEntries(file, { name, start: at + 4, end }, found);
  else found.frames += count;
}

const SOUND_ENTRY_BYTES = 28;

/** Entries of pictures and texts are passed by. */
function readEntries(file: Buffer, entries: Box, found: Found): void {
  for (const { name, start, end } of boxesIn(file, entries)) {
    if (name === 'mp4a') {
      const rate = aacRate(file.subarray(start + SOUND_ENTRY_BYTES, end));
      if (rate === undefined) found.isOther = true;
      else found.rate = Math.min(found.rate, rate);
    } else if (!isOfPictures(name)) found.isOther = true;
  }
}

const PICTURES =
  /^(?:avc|hvc|hev|av01|vp0|mp4v|jpeg|mjp|png|ap4|apc|dv|encv|s263|tx3g|wvtt|stpp|text|tmcd|rtmd|mett|metx|c608)/;

function isOfPictures(name: string): boolean {
  return PICTURES.test(name);
}

/** The rate of the decoder's own description. Undefined: it is of another codec, or cannot be read. */
function aacRate(entry: Buffer): number | undefined {
  const decoder = decoderAt(entry);
  if (decoder === undefined || !DESCRIPTOR_AAC.has(entry[decoder] ?? 0)) return undefined;
  const specific = descriptorAt(entry, decoder + 13, 5);
  return specific === undefined || specific + 2 > entry.length ? undefined : RATES[rateIndex(entry, specific)];
}

/** The box has a version, and then descriptors within each other: of the stream, the decoder, and its configuration. */
function decoderAt(entry: Buffer): number | undefined {
  const at = entry.indexOf('esds');
  const isOnly = at >= 0 && entry.lastIndexOf('esds') === at;
  const stream = isOnly ? descriptorAt(entry, at + 8, 3) : undefined;
  // flags announce fields that no file of sound has
  if (stream === undefined || (entry[stream + 2] ?? 0) >= 0x20) return undefined;
  return descriptorAt(entry, stream + 3, 4);
}

/** Five bits name the kind of AAC, and four the rate. */
function rateIndex(entry: Buffer, at: number): number {
  const bits = entry.readUInt16BE(at);
  return bits >> 11 === 31 ? RATES.length : (bits >> 7) & 15;
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
