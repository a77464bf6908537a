/**
 * [P] Edits a YAML document so that it has a wanted value and keeps its comments and field order. The caller parses the
 * result again and compares. Import this file dynamically: only edits need `yaml`.
 */
import { isDeepStrictEqual } from 'node:util';
import { isAlias, isCollection, isMap, isNode, isPair, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node, Pair, ToStringOptions, YAMLMap, YAMLSeq } from 'yaml';
import { isJsonArray, isJsonObject, parseJson } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';

/** Why a text cannot be edited, with the offset of the problem. */
export class UneditableError extends Error {
  override readonly name = 'UneditableError';
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** The text with this value. @throws UneditableError */
export function editYaml(text: string, value: JsonObject): string {
  const edited = isJsonObject(parseJson(text)) ? formatJson(value, text) : editDocument(text, value);
  return text.includes('\r\n') ? edited.replaceAll(/\r?\n/g, '\r\n') : edited;
}

/** Manifests may be JSON, which is YAML too; it stays JSON, indented as it was. */
function formatJson(value: JsonObject, before: string): string {
  const indent = /\n([ \t]+)/.exec(before)?.[1];
  return `${JSON.stringify(value, undefined, indent)}\n`;
}

function editDocument(text: string, value: JsonObject): string {
  // compat: words that YAML 1.1 takes for booleans or times are quoted, since other tools read the same files
  const document = parseDocument(text, { merge: true, stringKeys: true, compat: 'yaml-1.1', logLevel: 'error' });
  const [error] = document.errors;
  if (error) throw new UneditableError('it is not valid YAML', error.pos[0]);
  const root = document.contents;
  if (!isMap(root)) throw new UneditableError('it is not one object', 0);
  editNode({ document, text }, root, value);
  return document.toString({ lineWidth: 0, ...styleOf(document, text) });
}

/** The text's own style: the indentation of maps and lists, and whether a space follows a bracket. */
function styleOf(document: Document, text: string): ToStringOptions {
  const column = (node: Node): number => {
    const offset = node.range?.[0] ?? 0;
    return offset - (text.lastIndexOf('\n', offset - 1) + 1);
  };
  let indent = 2;
  let indentSeq = false;
  visit(document, {
    Pair(_, { key, value }) {
      if (!isScalar(key) || !isCollection(value) || value.flow === true) return;
      const step = column(value) - column(key);
      if (isMap(value) && step > 0) indent = step;
      if (isSeq(value)) indentSeq = step > 0;
    },
  });
  return { indent, indentSeq, flowCollectionPadding: /[[{] +[^\s#]/.test(text) };
}

interface Edit {
  readonly document: Document;
  readonly text: string;
}

/** Changes what a map or list holds, as deep inside it as possible. */
function editNode(edit: Edit, node: YAMLMap | YAMLSeq, wanted: Json): void {
  const present = jsonOf(edit, node);
  if (isMap(node) && isJsonObject(present) && isJsonObject(wanted)) editMap(edit, node, { present, wanted });
  else if (isSeq(node) && isJsonArray(present) && isJsonArray(wanted)) editList(edit, node, { present, wanted });
  bracketIfEmpty(node);
}

/** An empty collection is written as brackets; unless it is marked as such, `yaml` misplaces them beside a comment. */
function bracketIfEmpty(node: unknown): void {
  if (isCollection(node) && node.items.length === 0) node.flow = true;
}

interface Change<T> {
  readonly present: T;
  readonly wanted: T;
}

function editMap(edit: Edit, map: YAMLMap, { present, wanted }: Change<JsonObject>): void {
  for (const field of Object.keys(present)) if (!Object.hasOwn(wanted, field)) removePair(edit, map, field);
  for (const [field, value] of Object.entries(wanted)) {
    if (Object.hasOwn(present, field) && isDeepStrictEqual(present[field], value)) continue;
    const index = indexOf(map, field);
    const pair = map.items[index];
    if (pair) pair.value = edited(edit, { of: map, index, node: pair.value }, value);
    else addPair(edit, map, edit.document.createPair(field, value));
  }
}

/** -1: the map itself has no such field. */
function indexOf(map: YAMLMap, field: string): number {
  return map.items.findIndex(({ key }) => isScalar(key) && key.value === field);
}

function removePair(edit: Edit, map: YAMLMap, field: string): void {
  const index = indexOf(map, field);
  if (index === -1) throw new UneditableError(`its field ${field} comes from a merged part (<<)`, map.range?.[0] ?? 0);
  const [pair] = map.items.splice(index, 1);
  assertOwn(edit, pair?.value);
  putComments(map, index, takeCommentsBelow(pair?.value, edit.text));
}

function addPair({ text }: Edit, map: YAMLMap, pair: Pair): void {
  putComments(map, map.items.length, takeCommentsBelow(map.items.at(-1)?.value, text));
  map.items.push(pair);
}

/** Keeps what both lists begin and end with; changes what is between item by item. */
function editList(edit: Edit, list: YAMLSeq, { present, wanted }: Change<readonly Json[]>): void {
  const shorter = Math.min(present.length, wanted.length);
  let before = 0;
  while (before < shorter && isDeepStrictEqual(present[before], wanted[before])) before++;
  let after = 0;
  while (after < shorter - before && isDeepStrictEqual(present.at(-1 - after), wanted.at(-1 - after))) after++;
  const end = shorter - after;
  for (let index = before; index < end; index++)
    list.items[index] = edited(edit, { of: list, index, node: list.items[index] }, wanted[index] ?? null);
  const added = wanted.slice(end, wanted.length - after).map((item) => edit.document.createNode(item));
  const removed = list.items.splice(end, present.length - shorter, ...added);
  for (const item of removed) assertOwn(edit, item);
  putComments(
    list,
    end,
    removed.flatMap((item) => takeCommentsBelow(item, edit.text)),
  );
}

/** A value in a map or list. */
interface Place {
  readonly of: YAMLMap | YAMLSeq;
  readonly index: number;
  readonly node: unknown;
}

/**
 * The node with another value: itself where both are maps or lists, otherwise a new one with its comments and quotes.
 */
function edited(edit: Edit, { of, index, node }: Place, wanted: Json): unknown {
  assertOwn(edit, node);
  const isSame = isSameKind(node, wanted);
  if (!isSame || isEmpty(wanted)) putComments(of, index + 1, takeCommentsBelow(node, edit.text));
  if (isSame) {
    editNode(edit, node, wanted);
    return node;
  }
  const fresh = edit.document.createNode(wanted);
  bracketIfEmpty(fresh);
  copyStyle(node, fresh);
  return fresh;
}

function copyStyle(node: unknown, fresh: Node): void {
  if (!isNode(node) || isAlias(node)) return;
  fresh.comment = node.comment ?? null;
  fresh.commentBefore = node.commentBefore ?? null;
  if (!isScalar(fresh) || !isScalar(node)) return;
  if (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE') fresh.type = node.type;
}

/**
 * Takes the comments on the lines below a value, which may be about what follows, before the value goes. `yaml` gives
 * them to the innermost value that ends above them.
 */
function takeCommentsBelow(node: unknown, text: string): string[] {
  if (!isNode(node) || isAlias(node)) return [];
  const comments = preformatted(node.comment);
  node.comment = isSetOff(node, text) ? null : (comments.shift() ?? null);
  const last = isBlock(node) ? node.items.at(-1) : undefined;
  return [...takeCommentsBelow(isPair(last) ? last.value : last, text), ...comments];
}

/** Whether the first line of a node's comment is below its value, not beside it. */
function isSetOff(node: Node, text: string): boolean {
  if (isBlock(node) || (isScalar(node) && node.source === '')) return true;
  return /^[ \t]*\r?\n/.test(text.slice(node.range?.[1], node.range?.[2]));
}

function isBlock(node: Node): node is YAMLMap | YAMLSeq {
  return isCollection(node) && node.flow !== true;
}

/** Puts comments before an item, or after the last one. */
function putComments(collection: YAMLMap | YAMLSeq, index: number, comments: readonly string[]): void {
  if (comments.length === 0) return;
  const item = collection.items[index];
  const next = isPair(item) ? item.key : item;
  if (isNode(next)) next.commentBefore = [...comments, ...preformatted(next.commentBefore)].join('\n');
  else collection.comment = [...comments, ...preformatted(collection.comment)].join('\n');
}

function preformatted(comment: string | null | undefined): string[] {
  return comment === undefined || comment === null ? [] : comment.split('\n');
}

function isSameKind(node: unknown, wanted: Json): node is YAMLMap | YAMLSeq {
  return (isMap(node) && isJsonObject(wanted)) || (isSeq(node) && isJsonArray(wanted));
}

/** Refuses to edit a part that an alias repeats. */
function assertOwn({ text }: Edit, node: unknown): void {
  if (!isNode(node)) return;
  const start = node.range?.[0] ?? 0;
  if (isAlias(node)) throw new UneditableError('it is an alias (*) of a part that stands elsewhere', start);
  if (node.anchor === undefined) return;
  const words = `it has an anchor (&${node.anchor}), so that the change would show elsewhere, too`;
  throw new UneditableError(words, Math.max(0, text.lastIndexOf(`&${node.anchor}`, start)));
}

function jsonOf({ document }: Edit, node: Node): Json {
  const value: Json = node.toJS(document);
  return value;
}

function isEmpty(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
