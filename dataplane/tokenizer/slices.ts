/**
 * [P] Cuts texts into short slices, because the tokenizer's work grows with the square of an unbroken run of letters or
 * spaces. A slice ends at the end of a word if possible, so that few tokens are cut.
 */

const SLICE_LENGTH = 2_048;
/** How much shorter a slice may be to end at a word's end. */
const WORD_LENGTH = 256;
const BREAK = /[\s,.;:!?(){}[\]"'<>=/\\-](?=[^\s]*$)/;

export function* slicesOf(texts: readonly string[]): Generator<string, void, undefined> {
  for (const text of texts) {
    let at = 0;
    while (at < text.length) {
      const end = endOfSlice(text, at);
      yield text.slice(at, end);
      at = end;
    }
  }
}

function endOfSlice(text: string, at: number): number {
  const furthest = at + SLICE_LENGTH;
  if (furthest >= text.length) return text.length;
  const found = text.slice(furthest - WORD_LENGTH, furthest).search(BREAK);
  const end = found > 0 ? furthest - WORD_LENGTH + found : furthest;
  // not between the halves of a surrogate pair
  return isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** The first `length` characters of the texts. */
export function truncateTexts(texts: readonly string[], length: number): string[] {
  const first: string[] = [];
  let left = length;
  for (const text of texts) {
    if (left <= 0) break;
    first.push(text.length > left ? text.slice(0, left) : text);
    left -= text.length;
  }
  return first;
}
