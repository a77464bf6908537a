/**
 * [P] Thousands of manifests differ in nothing but their metadata. What stands around it is read and judged once, and known by its
 * text; a manifest that has the same around other metadata is read no further than that.
 */
import type { JsonObject } from '#crds/json.ts';
import type { KindSchema } from '#crds/kind-schema.ts';

/** What a manifest in plain YAML without mistakes has around its metadata. */
export interface KnownContent {
  readonly schema: KindSchema;
  /** Of the document, from 1, at which the object begins. */
  readonly line: number;
  /** As it was admitted, without metadata. */
  readonly content: JsonObject;
}

/** Where a manifest's text has the lines of its metadata. */
export interface MetadataPlace {
  readonly start: number;
  readonly end: number;
}

const BEGINNING = '\nmetadata:\n';
const MOST_CHARACTERS = 4096;
const MOST_REMEMBERED = 1000;

/**
 * Finds the metadata where it is a block at the left margin between two lines there that begin with a letter, of which the second
 * may be missing. Where the rest is a manifest in plain YAML, and the metadata too, the whole is what both are together.
 */
export function findMetadata(text: string): MetadataPlace | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const start = text.indexOf(BEGINNING) + 1;
  if (start === 0) return undefined;
  let end = text.indexOf('\n', start) + 1;
  while (text.charCodeAt(end) === SPACE) end = text.indexOf('\n', end) + 1 || text.length;
  return end === text.length || isLetter(text.charCodeAt(end)) ? { start, end } : undefined;
}

/** What was read of a text around metadata. */
interface Remembered {
  readonly before: string;
  readonly after: string;
  readonly content: KnownContent;
}

/**
 * Contents by the texts around metadata, as many as are remembered. A text is compared where it stands: as the key of a Map it would be
 * copied first.
 */
export class KnownContents {
  readonly #byNumber = new Map<number, Remembered[]>();
  #remembered = 0;

  get(text: string, { start, end }: MetadataPlace): KnownContent | undefined {
    for (const { before, after, content } of this.#byNumber.get(numberOf(text, { start, end })) ?? NOTHING)
      if (before.length === start && after.length === text.length - end && text.startsWith(before) && text.endsWith(after)) return content;
    return undefined;
  }

  remember(text: string, { start, end }: MetadataPlace, content: KnownContent): void {
    if (this.#remembered >= MOST_REMEMBERED) return;
    this.#remembered++;
    const number = numberOf(text, { start, end });
    const remembered = { before: text.slice(0, start), after: text.slice(end), content };
    const others = this.#byNumber.get(number);
    if (others) others.push(remembered);
    else this.#byNumber.set(number, [remembered]);
  }
}

const NOTHING: readonly Remembered[] = [];

/** Tells most texts around metadata from each other. */
function numberOf(text: string, { start, end }: MetadataPlace): number {
  let number = start;
  for (let at = 0; at < start; at++) number = (number * 31 + text.charCodeAt(at)) | 0;
  for (let at = end; at < text.length; at++) number = (number * 31 + text.charCodeAt(at)) | 0;
  return number;
}

const SPACE = 0x20;

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}
