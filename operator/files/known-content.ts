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

/** A manifest's text in two. */
export interface CutText {
  /** The lines of its metadata. */
  readonly metadata: string;
  /** All others. */
  readonly rest: string;
}

const BEGINNING = '\nmetadata:\n';
const MOST_CHARACTERS = 4096;
const MOST_REMEMBERED = 1000;

/**
 * Cuts the metadata out where it is a block at the left margin between two lines there that begin with a letter, of which the second
 * may be missing. Where the rest is a manifest in plain YAML, and the metadata too, the whole is what both are together.
 */
export function cutMetadata(text: string): CutText | undefined {
  if (text.length > MOST_CHARACTERS) return undefined;
  const start = text.indexOf(BEGINNING) + 1;
  if (start === 0) return undefined;
  let end = text.indexOf('\n', start) + 1;
  while (text.charCodeAt(end) === SPACE) end = text.indexOf('\n', end) + 1 || text.length;
  return end === text.length || isLetter(text.charCodeAt(end)) ? { metadata: text.slice(start, end), rest: text.slice(0, start) + text.slice(end) } : undefined;
}

/** Contents by their texts, as many as are remembered. */
export class KnownContents {
  readonly #byText = new Map<string, KnownContent>();

  get(text: string): KnownContent | undefined {
    return this.#byText.get(text);
  }

  remember(text: string, content: KnownContent): void {
    if (this.#byText.size < MOST_REMEMBERED) this.#byText.set(text, content);
  }
}

const SPACE = 0x20;

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}
