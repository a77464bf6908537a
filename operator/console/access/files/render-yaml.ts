/**
 * [P] Values → YAML as a person would write it, for a place in a text: block style below a key or a dash, flow style within
 * brackets. Words that YAML 1.1 takes for booleans or times are quoted, since other tools read the same files.
 */
import { isJsonObject } from '#crds/json.ts';
import type { Json } from '#crds/json.ts';
import { isList } from './merge-patch.ts';

/** How a text is written that the value goes into. */
export interface YamlStyle {
  /** Columns by which a map below a key is indented. */
  readonly step: number;
  readonly eol: string;
  /** The whole text is one JSON value: keys and texts are quoted. */
  readonly json: boolean;
}

export type QuoteStyle = '"' | "'" | undefined;

const PLAIN = /^[A-Za-z/][\w./-]*(?: [\w./-]+)*$/;
/** Of YAML 1.1: what is no text there, or might not be. */
const RESERVED = /^(?:y|yes|n|no|true|false|on|off|null|~)$/i;

/** One line. `quotes`: those that the place had before. */
export function renderScalar(value: Json, quotes?: QuoteStyle): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const needsDouble = /[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/.test(value);
  if (quotes === "'" && !needsDouble) return `'${value.replaceAll("'", "''")}'`;
  if (quotes === undefined && PLAIN.test(value) && !RESERVED.test(value)) return value;
  return JSON.stringify(value).replaceAll('\u007f', '\\x7f').replace(/[\u0080-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Within brackets, or where a value stands on its key's line. */
export function renderFlow(value: Json, json = false): string {
  if (isList(value)) return `[${value.map((item) => renderFlow(item, json)).join(', ')}]`;
  if (!isJsonObject(value)) return renderScalar(value, json ? '"' : undefined);
  const fields = Object.entries(value).map(([field, inner]) => `${renderKey(field, json)}: ${renderFlow(inner, json)}`);
  return fields.length === 0 ? '{}' : `{${fields.join(', ')}}`;
}

/** What follows "key:" of a key at this column: a space and a scalar, or lines below it. */
export function renderEntry(value: Json, column: number, style: YamlStyle): string {
  if (isEmpty(value)) return ` ${renderFlow(value)}`;
  if (isList(value)) return `${style.eol}${renderItems(value, column, style)}`;
  if (isJsonObject(value)) return `${style.eol}${renderFields(value, column + style.step, style)}`;
  return ` ${renderScalar(value)}`;
}

/** Fields, the first of them indented too, without a line break at the end. */
export function renderFields(value: { readonly [field: string]: Json }, column: number, style: YamlStyle): string {
  return Object.entries(value).map(([field, inner]) => `${' '.repeat(column)}${renderKey(field)}:${renderEntry(inner, column, style)}`).join(style.eol);
}

/** List items with their dashes at this column. */
export function renderItems(items: readonly Json[], column: number, style: YamlStyle): string {
  return items.map((item) => `${' '.repeat(column)}- ${renderItem(item, column, style)}`).join(style.eol);
}

/** What follows "- ". */
function renderItem(item: Json, column: number, style: YamlStyle): string {
  if (!isJsonObject(item) || isEmpty(item)) return renderFlow(item);
  return renderFields(item, column + 2, style).slice(column + 2);
}

export function renderKey(field: string, json = false): string {
  return !json && /^[A-Za-z][\w./-]*$/.test(field) && !RESERVED.test(field) ? field : JSON.stringify(field);
}

function isEmpty(value: Json): boolean {
  return (isList(value) && value.length === 0) || (isJsonObject(value) && Object.keys(value).length === 0);
}
