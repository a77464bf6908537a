/**
 * [P] A field's path → where it stands in the YAML it came from.
 */
import type { Document, Node } from 'yaml';
import type { FieldPath, Segment } from '#crds/field-path.ts';
import { yaml } from './yaml.ts';

/** The offset of a field: of its key, or of its list item's beginning. Where the field is missing, that of the nearest one around it. */
export function locate(document: Document, path: FieldPath): number {
  let node = asNode(document.contents);
  let offset = node?.range?.[0] ?? 0;
  for (const segment of path) {
    const step = node && stepInto(resolve(node, document), segment);
    if (!step) return offset;
    offset = step.offset;
    node = step.node;
  }
  return offset;
}

interface Step {
  readonly offset: number;
  readonly node: Node | undefined;
}

function stepInto(node: Node | undefined, segment: Segment): Step | undefined {
  const { isMap, isScalar, isSeq } = yaml();
  if (isSeq(node) && typeof segment === 'number') {
    const item = asNode(node.items[segment]);
    return item?.range ? { offset: item.range[0], node: item } : undefined;
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && key.value === segment);
  const key = asNode(pair?.key);
  return key?.range ? { offset: key.range[0], node: asNode(pair?.value) } : undefined;
}

function resolve(node: Node, document: Document): Node | undefined {
  return yaml().isAlias(node) ? node.resolve(document) : node;
}

function asNode(value: unknown): Node | undefined {
  const { isAlias, isMap, isScalar, isSeq } = yaml();
  return isMap(value) || isSeq(value) || isScalar(value) || isAlias(value) ? value : undefined;
}
