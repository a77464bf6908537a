/** [P] Changes within brackets: {a: 1, b: 2} and [x, y], on one line or several. */
import { isMap } from 'yaml';
import type { Node, YAMLMap, YAMLSeq } from 'yaml';
import { EditObstacle, contentEnd, endOf, isNode, keyOf, startOf } from './yaml-text.ts';
import type { Editor, Splice } from './yaml-text.ts';

interface FlowChanges {
  readonly removed: readonly number[];
  readonly added: readonly string[];
  /** Before which item; absent: after the last. */
  readonly at?: number;
}

/** Within brackets: items go with the comma before them, or after them where they are first. */
export function changeFlow(editor: Editor, collection: YAMLMap | YAMLSeq, { removed, added, at }: FlowChanges): void {
  const { splices } = editor;
  const spans = collection.items.map((item) => spanOf(editor, item, collection));
  const [first, last] = [spans[0], spans.at(-1)];
  if (removed.length === spans.length && first && last) {
    splices.push({ start: first.start, end: last.end, text: added.join(', ') });
    return;
  }
  splices.push(...removed.flatMap((index) => removal(spans, removed, index)));
  if (added.length > 0) insertFlow(editor, { collection, spans, at: at ?? spans.length }, added.join(', '));
}

function removal(spans: readonly Span[], removed: readonly number[], index: number): Splice[] {
  const firstKept = spans.findIndex((_, other) => !removed.includes(other));
  const [previous, span, next] = [spans[index - 1], spans[index], spans[index + 1]];
  if (!span) return [];
  if (previous && index > firstKept) return [{ start: previous.end, end: span.end, text: '' }];
  return [{ start: span.start, end: next?.start ?? span.end, text: '' }];
}

interface FlowPlace {
  readonly collection: YAMLMap | YAMLSeq;
  readonly spans: readonly Span[];
  readonly at: number;
}

function insertFlow({ splices }: Editor, { collection, spans, at }: FlowPlace, text: string): void {
  const previous = spans[at - 1];
  const next = spans[at];
  if (previous) splices.push({ start: previous.end, end: previous.end, text: `, ${text}` });
  else if (next) splices.push({ start: next.start, end: next.start, text: `${text}, ` });
  else splices.push({ start: startOf(collection) + 1, end: startOf(collection) + 1, text });
}

interface Span {
  readonly start: number;
  readonly end: number;
}

function spanOf(editor: Editor, item: unknown, collection: Node): Span {
  if (isNode(item)) return { start: startOf(item), end: contentEnd(editor, item) };
  const pair = isMap(collection) ? collection.items.find((each) => each === item) : undefined;
  if (!pair) throw new EditObstacle('it has an item without a value', startOf(collection));
  const end = isNode(pair.value) ? contentEnd(editor, pair.value) : endOf(keyOf(pair));
  return { start: startOf(keyOf(pair)), end: Math.max(end, endOf(keyOf(pair))) };
}
