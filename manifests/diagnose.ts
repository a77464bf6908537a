/**
 * [P] Finds the positions of mistakes in a text. js-yaml, which reads manifests, is faster but does not report the
 * position of every key; the `yaml` package does. Import this file dynamically, because most folders have no mistakes.
 */
import { LineCounter, isAlias, isMap, isScalar, isSeq, parseAllDocuments } from 'yaml';
import type { Document, Node } from 'yaml';
import type { FieldPath, PathSegment } from '#crds/field-path.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { ParsedDocument } from './parse-document.ts';
import { syntaxErrors } from './syntax-errors.ts';
import type { SyntaxMistake } from './syntax-errors.ts';
import type { YamlError } from './yaml.ts';

/** A mistake with its line and column in the text, both from 1. */
type Mistake = Required<Pick<Diagnostic, 'line' | 'column' | 'path' | 'message'>> & Pick<Diagnostic, 'object'>;

const OPTIONS = { prettyErrors: false, merge: true, stringKeys: true, logLevel: 'silent' } as const;

/** All mistakes in the documents of a text. */
export function findMistakes(text: string, documents: readonly ParsedDocument[]): Mistake[] {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { ...OPTIONS, lineCounter: lines });
  const nodes = Array.isArray(parsed) ? parsed : [];
  const filled = nodes.filter((document) => !isEmpty(document));
  return documents.flatMap(({ id, errors, yamlError }, index) => {
    if (yamlError) {
      const found = nodes.flatMap((document) => syntaxErrors(document, text));
      return syntaxMistakes(yamlError, found, lines);
    }
    return errors.map(({ segments, path, message }) => {
      const document = filled[index];
      const place = position(lines, document ? offsetOf(document, segments) : 0);
      return { ...place, ...(id === undefined ? {} : { object: id }), path, message };
    });
  });
}

/** All syntax errors that `yaml` finds in a text that js-yaml cannot read. */
function syntaxMistakes(read: YamlError, found: readonly SyntaxMistake[], lines: LineCounter): Mistake[] {
  const { line, column, message } = read;
  if (found.length === 0) return [{ line, column, path: '', message: `YAML: ${message}` }];
  return found.map((error) => ({ ...position(lines, error.offset), path: '', message: `YAML: ${error.message}` }));
}

/** True for an empty document between or after separators, which kubectl accepts too. */
function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.value === null && contents.source === '');
}

/** The offset of a field's key or list item; if the field is missing, that of its nearest parent. */
function offsetOf(document: Document, path: FieldPath): number {
  let node = asNode(document.contents);
  let offset = node?.range?.[0] ?? 0;
  for (const segment of path) {
    const step = stepInto(isAlias(node) ? node.resolve(document) : node, segment);
    if (!step) return offset;
    ({ node, offset } = step);
  }
  return offset;
}

interface Step {
  readonly offset: number;
  readonly node: Node | undefined;
}

function stepInto(node: Node | undefined, segment: PathSegment): Step | undefined {
  if (isSeq(node) && typeof segment === 'number') {
    const item = asNode(node.items[segment]);
    return item?.range ? { offset: item.range[0], node: item } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && key.value === segment);
  const key = asNode(pair?.key);
  return key?.range ? { offset: key.range[0], node: asNode(pair?.value) } : undefined;
}

function asNode(value: unknown): Node | undefined {
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value) ? value : undefined;
}

function position(lines: LineCounter, offset: number): { line: number; column: number } {
  const { line, col } = lines.linePos(offset);
  return { line, column: col };
}
