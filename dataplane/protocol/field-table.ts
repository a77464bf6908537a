/**
 * What becomes of each field when one protocol's messages are written in the other's: converted, left out because nothing is lost by
 * it, or refused by name. The tables (<pair>/table.ts) are what the conversions go by and what docs/protocols.md is made from:
 * a converter can read only the fields that its table calls converted, and a field that no table knows is refused.
 */
import type { RequestFault } from './call-facts.ts';
import { isGiven } from './fields.ts';
import type { JsonRecord } from './fields.ts';
import { unsupported } from './unsupported.ts';

export type Fate =
  | { readonly fate: 'Converted'; readonly to: string }
  | { readonly fate: 'Dropped'; readonly why: string }
  /** `neutral`: values that say nothing but the default, compared as JSON, are left out. */
  | { readonly fate: 'Refused'; readonly why: string; readonly neutral: readonly unknown[] };

/** One kind of JSON object. `Converted` are the names that its converter may read. */
export interface ObjectTable<Converted extends string = string> {
  readonly title: string;
  readonly fields: ReadonlyMap<string, Fate>;
  /** Never there: it only carries the names in the type. */
  readonly converted?: Converted;
}

/** Objects that are told apart by a word in them: roles, types of parts and blocks. */
export interface KindTable<Converted extends string = string> {
  readonly title: string;
  readonly kinds: ReadonlyMap<string, Fate>;
  readonly converted?: Converted;
}

/** Words of one protocol in the other's. */
export interface WordTable {
  readonly title: string;
  readonly words: ReadonlyMap<string, string>;
}

/** What a converter sees of an object. */
export type View<Converted extends string> = Readonly<Record<Converted, unknown>>;

type ConvertedNames<F> = { [Name in keyof F]: F[Name] extends { readonly fate: 'Converted' } ? Name : never }[keyof F] & string;

/** `to`: where it goes, for people. */
export function converted(to: string): { readonly fate: 'Converted'; readonly to: string } {
  return { fate: 'Converted', to };
}

/** `why`: what makes it harmless. */
export function dropped(why: string): { readonly fate: 'Dropped'; readonly why: string } {
  return { fate: 'Dropped', why };
}

export function refused(why: string, neutral: readonly unknown[] = []): { readonly fate: 'Refused'; readonly why: string; readonly neutral: readonly unknown[] } {
  return { fate: 'Refused', why, neutral };
}

export function objectTable<const F extends Readonly<Record<string, Fate>>>(title: string, fields: F): ObjectTable<ConvertedNames<F>> {
  return { title, fields: new Map(Object.entries(fields)) };
}

export function kindTable<const F extends Readonly<Record<string, Fate>>>(title: string, kinds: F): KindTable<ConvertedNames<F>> {
  return { title, kinds: new Map(Object.entries(kinds)) };
}

export function wordTable(title: string, words: Readonly<Record<string, string>>): WordTable {
  return { title, words: new Map(Object.entries(words)) };
}

/**
 * A client's object, of which only what is converted can be read. `param` is its path; '' for the request itself.
 * Throws RequestFault for the first field that cannot be expressed in the protocol of `upstream`.
 */
export function readObject<Converted extends string>(table: ObjectTable<Converted>, value: JsonRecord, { param, upstream }: Place): View<Converted> {
  for (const field of Object.keys(value)) {
    const said = value[field];
    if (isGiven(said) && isRefused(table.fields.get(field), said)) throw refusal(param === '' ? field : `${param}.${field}`, upstream, table.fields.get(field));
  }
  return value;
}

/** A provider's object: what is not converted is left out, known or not. */
export function viewOf<Converted extends string>(_table: ObjectTable<Converted>, value: JsonRecord): View<Converted> {
  return value;
}

/** The kind that a word names. Throws RequestFault for one that cannot be expressed in the protocol of `upstream`. */
export function readKind<Converted extends string>(table: KindTable<Converted>, word: unknown, { param, upstream }: Place): Converted {
  if (isConverted(table, word)) return word;
  throw refusal(param, upstream, typeof word === 'string' ? table.kinds.get(word) : undefined);
}

/** Where an object is in the request, and whose protocol it is to be written in. */
export interface Place {
  readonly param: string;
  readonly upstream: string;
}

function isConverted<Converted extends string>(table: KindTable<Converted>, word: unknown): word is Converted {
  return typeof word === 'string' && table.kinds.get(word)?.fate === 'Converted';
}

function isRefused(fate: Fate | undefined, value: unknown): boolean {
  if (!fate) return true;
  if (fate.fate !== 'Refused') return false;
  const said = JSON.stringify(value);
  return !fate.neutral.some((neutral) => JSON.stringify(neutral) === said);
}

function refusal(param: string, upstream: string, fate: Fate | undefined): RequestFault {
  return unsupported(param, upstream, fate?.fate === 'Refused' ? fate.why : undefined);
}
