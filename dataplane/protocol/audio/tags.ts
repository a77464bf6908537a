/** ID3 tags (version 2), which may be before sound of any format. */

const MARK = 'ID3';
const HEAD_BYTES = 10;
const UNUSED = 0xff;
/** The size has seven bits in each byte. */
const SIZE_BITS = 0x80;
const FLAGS = 5;
const FOOTER = 0x10;

/** What follows the tags at the start, and zeros before each, as decoders skip them. */
export function withoutTags(file: Buffer): Buffer {
  let at = 0;
  for (let end = tagEnd(file, at); end !== undefined; end = tagEnd(file, at)) at = end;
  return file.subarray(at);
}

/** Where the first byte that is not zero is. */
export function afterZeros(file: Buffer, start = 0): number {
  let at = start;
  while (file[at] === 0) at++;
  return at;
}

/** Undefined: no tag begins there, or none that something follows. */
function tagEnd(file: Buffer, start: number): number | undefined {
  const at = afterZeros(file, start);
  if (at + HEAD_BYTES > file.length || file.toString('latin1', at, at + 3) !== MARK) return undefined;
  const size = file.subarray(at + 6, at + HEAD_BYTES);
  if (file[at + 3] === UNUSED || file[at + 4] === UNUSED || size.some((byte) => byte >= SIZE_BITS)) return undefined;
  const footer = ((file[at + FLAGS] ?? 0) & FOOTER) === 0 ? 0 : HEAD_BYTES;
  const end = at + HEAD_BYTES + size.reduce((sum, byte) => sum * SIZE_BITS + byte, 0) + footer;
  return end < file.length ? end : undefined;
}
