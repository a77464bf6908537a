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

/** Contents by the texts around metadata, as many as are remembered. They are looked up by the longer one: both together would have to be copied first. */
export class KnownContents {
  readonly #byLonger = new Map<string, Remembered[]>();
  #remembered = 0;

  get(text: string, place: MetadataPlace): KnownContent | undefined {
    const { start, end } = place;
    for (const { before, after, content } of this.#byLonger.get(longerOf(text, place)) ?? NOTHING)
      if (before.length === start && after.length === text.length - end && text.startsWith(before) && text.endsWith(after)) return content;
    return undefined;
  }

  remember(text: string, place: MetadataPlace, content: KnownContent): void {
    if (this.#remembered >= MOST_REMEMBERED) return;
    this.#remembered++;
    const longer = longerOf(text, place);
    const remembered = { before: text.slice(0, place.start), after: text.slice(place.end), content };
    const others = this.#byLonger.get(longer);
    if (others) others.push(remembered);
    else this.#byLonger.set(longer, [remembered]);
  }
}

const NOTHING: readonly Remembered[] = [];

function longerOf(text: string, { start, end }: MetadataPlace): string {
  return start > text.length - end ? text.slice(0, start) : text.slice(end);
}

const SPACE = 0x20;

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}
