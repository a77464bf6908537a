/**
 * States how each field of a protocol is handled: it is converted, dropped because nothing is lost, or refused by name.
 * A few are omitted: something is lost, and the response names them. Clients and providers have such tables
 * (clients/<dialect>/table.ts, providers/<name>/table.ts), and docs/reference/protocols is generated from them: a reader
 * can read only the fields that its table calls converted, and a field that is in no table is refused.
 */
import { isGiven } from './fields.ts';
import type { JsonRecord } from './fields.ts';

export type Handling =
  | { readonly action: 'Converted'; readonly to: string }
  | { readonly action: 'Dropped'; readonly why: string }
  /** Something is lost: the response names the field, unless its value means the default. */
  | { readonly action: 'Omitted'; readonly why: string; readonly neutral: readonly unknown[] }
  /** `neutral`: values that mean the default, compared as JSON, are dropped instead. */
  | { readonly action: 'Refused'; readonly why: string; readonly neutral: readonly unknown[] };

/** One kind of JSON object. `Converted` are the names that its converter may read. */
export interface ObjectTable<Converted extends string = string> {
  readonly title: string;
  readonly fields: ReadonlyMap<string, Handling>;
  /** Never set: it only carries the names in the type. */
  readonly converted?: Converted;
}

/** Objects that differ by one of their fields: messages by role, parts and blocks by type. */
export interface KindTable<Converted extends string = string> {
  readonly title: string;
  readonly kinds: ReadonlyMap<string, Handling>;
  readonly converted?: Converted;
}

/** Enumerated values of one protocol, with their counterparts in the other. */
export interface ValueTable<To extends string = string> {
  readonly title: string;
  readonly values: ReadonlyMap<string, To>;
}

/** The fields of an object that a converter may read. */
export type ConvertedFields<Converted extends string> = Readonly<Record<Converted, unknown>>;

type ConvertedNames<F> = {
  [Name in keyof F]: F[Name] extends {
    readonly action: 'Converted';
  }
    ? Name
    : never;
}[keyof F] &
  string;

/** `to`: the counterpart, for the documentation. */
export function converted(to: string): { readonly action: 'Converted'; readonly to: string } {
  return { action: 'Converted', to };
}

/** `why`: why nothing is lost, for the documentation. */
export function dropped(why: string): { readonly action: 'Dropped'; readonly why: string } {
  return { action: 'Dropped', why };
}

/** `why`: why it cannot be converted, for the documentation. */
export function omitted(
  why: string,
  neutral: readonly unknown[] = [],
): { readonly action: 'Omitted'; readonly why: string; readonly neutral: readonly unknown[] } {
  return { action: 'Omitted', why, neutral };
}

export function refused(
  why: string,
  neutral: readonly unknown[] = [],
): { readonly action: 'Refused'; readonly why: string; readonly neutral: readonly unknown[] } {
  return { action: 'Refused', why, neutral };
}

export function objectTable<const F extends Readonly<Record<string, Handling>>>(
  title: string,
  fields: F,
): ObjectTable<ConvertedNames<F>> {
  return { title, fields: new Map(Object.entries(fields)) };
}

export function kindTable<const F extends Readonly<Record<string, Handling>>>(
  title: string,
  kinds: F,
): KindTable<ConvertedNames<F>> {
  return { title, kinds: new Map(Object.entries(kinds)) };
}

export function valueTable<const To extends string>(
  title: string,
  values: Readonly<Record<string, To>>,
): ValueTable<To> {
  return { title, values: new Map(Object.entries(values)) };
}

/** Takes what has no place in a conversation; a subset of conversation/request.ts. */
export interface UnreadField {
  readonly path: string;
  readonly handling: 'Refused' | 'Omitted';
  readonly why: string | undefined;
}

/** The place of an object in a client's request, and the list of what is not read. */
export interface ReadPlace {
  readonly param: string;
  readonly unread: UnreadField[];
}

/** A client's object, as a view of its converted fields. What has no place in a conversation is listed. */
export function readFields<Converted extends string>(
  table: ObjectTable<Converted>,
  value: JsonRecord,
  { param, unread }: ReadPlace,
): ConvertedFields<Converted> {
  for (const field of Object.keys(value)) {
    const handling = table.fields.get(field);
    if (!isGiven(value[field]) || isHarmless(handling, value[field])) continue;
    unread.push(unreadField(param === '' ? field : `${param}.${field}`, handling));
  }
  return value;
}

/** The kind, if it is converted; else it is listed. */
export function kindOf<Converted extends string>(
  table: KindTable<Converted>,
  value: unknown,
  { param, unread }: ReadPlace,
): Converted | undefined {
  if (isConverted(table, value)) return value;
  unread.push(unreadField(param, typeof value === 'string' ? table.kinds.get(value) : undefined));
  return undefined;
}

function unreadField(path: string, handling: Handling | undefined): UnreadField {
  return {
    path,
    handling: handling?.action === 'Omitted' ? 'Omitted' : 'Refused',
    why: handling && 'neutral' in handling ? handling.why : undefined,
  };
}

/** A provider's object, as a view of its converted fields; all others are left out. */
export function convertedFields<Converted extends string>(
  _table: ObjectTable<Converted>,
  value: JsonRecord,
): ConvertedFields<Converted> {
  return value;
}

/** Whether the kind is one that the conversion leaves out and names. */
export function isOmittedKind(table: KindTable, value: unknown): boolean {
  return typeof value === 'string' && table.kinds.get(value)?.action === 'Omitted';
}

function isConverted<Converted extends string>(table: KindTable<Converted>, value: unknown): value is Converted {
  return typeof value === 'string' && table.kinds.get(value)?.action === 'Converted';
}

/** Nothing is lost of this value. */
function isHarmless(handling: Handling | undefined, value: unknown): boolean {
  if (!handling) return false;
  if (handling.action === 'Converted' || handling.action === 'Dropped') return true;
  return isNeutral(handling, value);
}

/** Whether a value means the default. */
export function isNeutral({ neutral }: { readonly neutral: readonly unknown[] }, value: unknown): boolean {
  const given = JSON.stringify(value);
  return neutral.some((harmless) => JSON.stringify(harmless) === given);
}
