/**
 * Conversion without reading: of an event that was read and converted in full, what was written before and after its text. The like
 * of it becomes the same around its own text, whose escapes stay as they are. What else the events of a pattern change must be so
 * little that `heed` can tell it; that a state machine has not moved on since is its own to say (Skimming's `outdated`).
 */

/** A text that was found, with its escapes. */
export interface MatchedText {
  /** Its units in UTF-16. */
  readonly textLength: number;
  /** From the bytes that it was found in. */
  readText(store: Buffer): string;
}

/** What was written of the event that a pattern is made from. */
export interface Converted {
  readonly written: Uint8Array;
  /** Its end, from the quote that closes the text. */
  readonly after: string;
  readonly heed: Heed | undefined;
}

/** Told of each match, for those who remember its text or how long it was. */
export type Heed = (match: MatchedText, store: Buffer) => void;

export interface Rewrite {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  /** From one text to the next. */
  readonly between: Uint8Array;
  readonly heed: Heed | undefined;
}

/** Undefined: what was written is not one event around this text, just as it came. */
export function findRewrite(raw: Buffer, text: { readonly from: number; readonly to: number }, { written, after: end, heed }: Converted): Rewrite | undefined {
  const after = Buffer.from(end);
  const textEnd = written.length - after.length;
  const textStart = textEnd - (text.to - text.from);
  // a copy: a slice would keep alive the text, which may be long
  const before = Buffer.from(written.subarray(0, Math.max(0, textStart)));
  const whole = Buffer.concat([before, raw.subarray(text.from, text.to), after]);
  if (textStart <= 0 || !whole.equals(written) || !isOneEvent(whole)) return undefined;
  return { before, after, between: Buffer.concat([after, before]), heed };
}

function isOneEvent(written: Buffer): boolean {
  return written.indexOf('\n\n') === written.length - 2;
}
