/** [P] A YAML text beside its parsed form: where its parts begin and end, and what shall be changed of it. */
import { isAlias, isMap, isScalar, isSeq, visit } from 'yaml';
import type { Document, Node, Pair } from 'yaml';
import type { Json } from '#crds/json.ts';
import type { YamlStyle } from './render-yaml.ts';

/** Why a text cannot be edited, at an offset of it. */
export class EditObstacle extends Error {
  override readonly name = 'EditObstacle';
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface Editor {
  readonly text: string;
  readonly document: Document;
  readonly style: YamlStyle;
  readonly splices: Splice[];
}

/** Where a node's last character stands, comments and line breaks behind it left out. */
export function contentEnd(editor: Editor, node: Node): number {
  if (isMap(node) && node.flow !== true) return node.items.reduce((end, pair) => Math.max(end, pairEnd(editor, pair)), startOf(node));
  if (isSeq(node) && node.flow !== true) return node.items.reduce<number>((end, item) => isNode(item) ? Math.max(end, contentEnd(editor, item)) : end, startOf(node));
  const { text } = editor;
  let end = endOf(node);
  while (end > startOf(node) && /\s/.test(text[end - 1] ?? '')) end--;
  return end;
}

export function jsonOf({ document }: Editor, node: Node): Json {
  try {
    const value: Json = node.toJS(document);
    return value;
  } catch {
    throw new EditObstacle('it has too many aliases', startOf(node));
  }
}

/** Behind the line break of the line on which this offset is. */
export function lineEnd(text: string, offset: number): number {
  const at = text.indexOf('\n', offset);
  return at === -1 ? text.length : at + 1;
}

export function columnOf({ text }: Editor, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}

export function keyOf(pair: Pair): Node {
  if (!isScalar(pair.key)) throw new EditObstacle('it has a key that is no word', 0);
  return pair.key;
}

export function isNode(value: unknown): value is Node {
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value);
}

export function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

export function endOf(node: Node): number {
  return node.range?.[1] ?? 0;
}

/** Where a pair's value ends, or its colon where it has none. */
export function pairEnd(editor: Editor, pair: Pair): number {
  const colon = afterColon(editor, pair);
  return isNode(pair.value) && !isEmptyScalar(pair.value) ? Math.max(colon, contentEnd(editor, pair.value)) : colon;
}

/** Behind the colon of a pair. */
export function afterColon(editor: Editor, pair: Pair): number {
  return editor.text.indexOf(':', endOf(keyOf(pair))) + 1;
}

/** As the text does it: by how much the first map below a key is indented. */
export function styleOf(text: string, document: Document): YamlStyle {
  let step: number | undefined;
  visit(document, {
    Pair(_key, { key, value }) {
      if (!isScalar(key) || !isMap(value) || value.flow === true) return undefined;
      const first = value.items[0]?.key;
      if (!isScalar(first)) return undefined;
      const column = (offset: number): number => offset - (text.lastIndexOf('\n', offset - 1) + 1);
      step = column(startOf(first)) - column(startOf(key));
      return step > 0 ? visit.BREAK : undefined;
    },
  });
  const json = isMap(document.contents) && document.contents.flow === true;
  return { json, step: step !== undefined && step > 0 ? step : 2, eol: text.includes('\r\n') ? '\r\n' : '\n' };
}

/** A value that is not there: "key:" and nothing. */
export function isEmptyScalar(node: Node): boolean {
  return isScalar(node) && startOf(node) === endOf(node);
}
