/**
 * [P] One YAML document and the value that it should have → the smallest changes of its text: a value in its place, a line that
 * comes or goes. Everything else, comments and spaces included, stays byte for byte. Whoever calls reads the result again and
 * compares: what cannot be edited this way ends as an obstacle, never as another value.
 */
import { isAlias, isCollection, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Node, Pair, YAMLMap, YAMLSeq } from 'yaml';
import { isJsonObject } from '#crds/json.ts';
import type { Json, JsonObject } from '#crds/json.ts';
import { changeFlow } from './edit-flow.ts';
import { isList, sameValue } from './merge-patch.ts';
import { renderEntry, renderFlow, renderItems, renderKey, renderScalar } from './render-yaml.ts';
import type { QuoteStyle } from './render-yaml.ts';
import { EditObstacle, afterColon, columnOf, contentEnd, isEmptyScalar, isNode, jsonOf, keyOf, lineEnd, pairEnd, startOf, styleOf } from './yaml-text.ts';
import type { Editor, Splice } from './yaml-text.ts';

/** The text with this value. @throws EditObstacle */
export function editYaml(text: string, value: JsonObject): string {
  const document = parseDocument(text, { keepSourceTokens: true, merge: true, stringKeys: true, logLevel: 'error' });
  const [fault] = document.errors;
  if (fault) throw new EditObstacle('it is not good YAML', fault.pos[0]);
  const root = document.contents;
  if (!isMap(root)) throw new EditObstacle('it is not one object', 0);
  const editor: Editor = { text, document, style: styleOf(text, document), splices: [] };
  editNode(editor, root, value);
  return applySplices(text, editor.splices);
}

function applySplices(text: string, splices: readonly Splice[]): string {
  let result = '';
  let at = 0;
  // stable: what is inserted at one place keeps its order
  for (const { start, end, text: replacement } of splices.toSorted((a, b) => a.start - b.start)) {
    if (start < at) throw new EditObstacle('its changes overlap', start);
    result += text.slice(at, start) + replacement;
    at = end;
  }
  return result + text.slice(at);
}

/** Changes what a node says, as deep inside it as possible. */
function editNode(editor: Editor, node: Node, wanted: Json): void {
  const present = jsonOf(editor, node);
  if (sameValue(present, wanted)) return;
  if (isAlias(node)) throw new EditObstacle('it is an alias (*) of a part that stands elsewhere', startOf(node));
  if (node.anchor !== undefined) throw new EditObstacle(`it has an anchor (&${node.anchor}), so that the change would show elsewhere, too`, Math.max(0, editor.text.lastIndexOf(`&${node.anchor}`, startOf(node))));
  if (isMap(node) && isJsonObject(wanted) && isJsonObject(present)) editMap(editor, node, { present, wanted });
  else if (isSeq(node) && isList(wanted) && isList(present)) editList(editor, node, { present, wanted });
  else replaceScalar(editor, node, wanted);
}

interface Change<T> {
  readonly present: T;
  readonly wanted: T;
}

function editMap(editor: Editor, map: YAMLMap, { present, wanted }: Change<JsonObject>): void {
  const removed: Pair[] = [];
  for (const [field, value] of Object.entries(present)) {
    const target = wanted[field];
    if (target !== undefined && sameValue(value, target)) continue;
    const pair = pairOf(map, field);
    if (!pair) {
      if (target === undefined) throw new EditObstacle(`its field ${field} comes from a merged part (<<)`, startOf(map));
      continue; // a field of its own wins over a merged one
    }
    if (target === undefined) removed.push(pair);
    else editValue(editor, { map, pair }, target);
  }
  const added = Object.entries(wanted).filter(([field, value]) => !sameValue(present[field], value) && !pairOf(map, field));
  changePairs(editor, map, { removed, added });
}

function pairOf(map: YAMLMap, field: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && key.value === field);
}

interface Place {
  readonly map: YAMLMap;
  readonly pair: Pair;
}

/** In place where the sorts agree; otherwise all that stands after the key's colon is written anew. */
function editValue(editor: Editor, { map, pair }: Place, wanted: Json): void {
  const node = pair.value;
  if (isNode(node) && (isShared(node) || canEdit(node, wanted))) {
    editNode(editor, node, wanted);
    return;
  }
  const inFlow = map.flow === true || (isCollection(node) && node.flow === true);
  const text = inFlow ? ` ${renderFlow(wanted, editor.style.json)}` : renderEntry(wanted, columnOf(editor, startOf(keyOf(pair))), editor.style);
  editor.splices.push({ start: afterColon(editor, pair), end: pairEnd(editor, pair), text });
}

/** Whether the value can change where it stands; otherwise all of it is written anew. */
function canEdit(node: Node, wanted: Json): boolean {
  if (isMap(node)) return isJsonObject(wanted) && isFilled(wanted) && (isFilled(node.items) || node.flow === true);
  if (isSeq(node)) return isList(wanted) && isFilled(wanted) && isFilled(node.items);
  return isScalar(node) && !isEmptyScalar(node) && !isCollected(wanted);
}

function isCollected(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}

function isFilled(value: object): boolean {
  return Object.keys(value).length > 0;
}

/** Such a node is changed where it stands, or not at all. */
function isShared(node: Node): boolean {
  return isAlias(node) || node.anchor !== undefined;
}

function replaceScalar(editor: Editor, node: Node, wanted: Json): void {
  if (!isScalar(node)) throw new EditObstacle('it would have to be written anew', startOf(node));
  const text = renderScalar(wanted, quotesOf(node.type));
  editor.splices.push({ start: startOf(node), end: contentEnd(editor, node), text });
}

function quotesOf(type: string | undefined): QuoteStyle {
  if (type === 'QUOTE_DOUBLE') return '"';
  return type === 'QUOTE_SINGLE' ? "'" : undefined;
}

interface PairChanges {
  readonly removed: readonly Pair[];
  readonly added: readonly (readonly [field: string, value: Json])[];
}

function changePairs(editor: Editor, map: YAMLMap, { removed, added }: PairChanges): void {
  if (map.flow === true) changeFlow(editor, map, { removed: removed.map((pair) => map.items.indexOf(pair)), added: added.map(([field, value]) => `${renderKey(field, editor.style.json)}: ${renderFlow(value, editor.style.json)}`) });
  else if (removed.length === map.items.length && added.length === 0) throw new EditObstacle('nothing would be left of it', startOf(map));
  else changeBlockMap(editor, map, { removed, added });
}

function changeBlockMap(editor: Editor, map: YAMLMap, { removed, added }: PairChanges): void {
  const last = map.items.at(-1);
  const [first] = map.items;
  if (!first || !last) throw new EditObstacle('it is empty', startOf(map));
  const column = columnOf(editor, startOf(keyOf(first)));
  for (const pair of removed) removeLines(editor, { start: startOf(keyOf(pair)), end: pairEnd(editor, pair), next: startOfNext(map, pair) });
  if (added.length === 0) return;
  const lines = added.map(([field, value]) => `${' '.repeat(column)}${renderKey(field)}:${renderEntry(value, column, editor.style)}`);
  insertAfterLine(editor, pairEnd(editor, last), lines);
}

function startOfNext(map: YAMLMap, pair: Pair): number | undefined {
  const next = map.items[map.items.indexOf(pair) + 1];
  return next && startOf(keyOf(next));
}

interface Lines {
  readonly start: number;
  readonly end: number;
  /** Where the next of its kind begins. */
  readonly next: number | undefined;
}

/** Takes whole lines away, comments behind them included; after a dash, what follows moves up to it. */
function removeLines({ text, splices }: Editor, { start, end, next }: Lines): void {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  if (text.slice(lineStart, start).trim() === '') {
    splices.push({ start: lineStart, end: lineEnd(text, end), text: '' });
    return;
  }
  if (next === undefined) throw new EditObstacle('nothing would be left of its line', start);
  splices.push({ start, end: next, text: '' });
}

function insertAfterLine({ text, style, splices }: Editor, end: number, lines: readonly string[]): void {
  const at = lineEnd(text, end);
  const block = lines.join(style.eol);
  const ended = at > 0 && text[at - 1] === '\n';
  splices.push({ start: at, end: at, text: ended ? block + style.eol : style.eol + block });
}

/** Keeps what both lists begin and end with; what is between changes item by item. */
function editList(editor: Editor, list: YAMLSeq, { present, wanted }: Change<readonly Json[]>): void {
  let before = 0;
  while (before < present.length && before < wanted.length && sameValue(present[before], wanted[before])) before++;
  let after = 0;
  while (after < present.length - before && after < wanted.length - before && sameValue(present.at(-1 - after), wanted.at(-1 - after))) after++;
  const both = Math.min(present.length, wanted.length) - before - after;
  for (let index = before; index < before + both; index++) editItem(editor, list, { index, wanted: wanted[index] ?? null });
  const removed = list.items.map((_, index) => index).slice(before + both, present.length - after);
  const added = wanted.slice(before + both, wanted.length - after);
  if (list.flow === true) changeFlow(editor, list, { removed, added: added.map((item) => renderFlow(item, editor.style.json)), at: before + both });
  else changeBlockList(editor, list, { removed, added, at: before + both });
}

function editItem(editor: Editor, list: YAMLSeq, { index, wanted }: { readonly index: number; readonly wanted: Json }): void {
  const node = list.items[index];
  if (!isNode(node)) throw new EditObstacle('it has an item without a value', startOf(list));
  if (isShared(node) || canEdit(node, wanted)) editNode(editor, node, wanted);
  else if (list.flow === true || isScalar(node)) editor.splices.push({ start: startOf(node), end: contentEnd(editor, node), text: renderFlow(wanted, editor.style.json) });
  else throw new EditObstacle('an item of it would have to be written anew', startOf(node));
}

function changeBlockList(editor: Editor, list: YAMLSeq, { removed, added, at }: { readonly removed: readonly number[]; readonly added: readonly Json[]; readonly at: number }): void {
  const dashes = dashesOf(list);
  for (const index of removed) {
    const item = list.items[index];
    removeLines(editor, { start: dashes[index] ?? startOf(list), end: isNode(item) ? contentEnd(editor, item) : (dashes[index] ?? 0) + 1, next: undefined });
  }
  if (added.length === 0) return;
  const column = columnOf(editor, dashes[0] ?? startOf(list));
  const lines = [renderItems(added, column, editor.style)];
  const previous = list.items[at - 1];
  if (isNode(previous)) insertAfterLine(editor, contentEnd(editor, previous), lines);
  else {
    const lineStart = editor.text.lastIndexOf('\n', (dashes[0] ?? 0) - 1) + 1;
    editor.splices.push({ start: lineStart, end: lineStart, text: `${lines.join(editor.style.eol)}${editor.style.eol}` });
  }
}

/** Offsets of the dashes before its items. */
function dashesOf(list: YAMLSeq): number[] {
  const token = list.srcToken;
  if (token?.type !== 'block-seq') throw new EditObstacle('it is no plain list', startOf(list));
  return token.items.flatMap(({ start }) => start.flatMap((each) => each.type === 'seq-item-ind' ? [each.offset] : []));
}
