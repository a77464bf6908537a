/**
 * [P] Kubernetes label selectors, and which namespaces a Group admits by them.
 */
import type { Group, LabelSelector, LabelSelectorMatchExpression } from '#crds/types.gen.ts';
import { labelsOfNamespace } from './resources.ts';
import type { Labels } from './resources.ts';

/** True if labels match a selector; an empty selector matches everything. */
export function matchesSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every((expression) => matchesExpression(expression, labels))
  );
}

type Operator = LabelSelectorMatchExpression['operator'];

/** By operator: returns whether a label's value, which may be absent, matches the expression. */
const OPERATORS: Readonly<Record<Operator, (value: string | undefined, values: readonly string[]) => boolean>> = {
  In: (value, values) => value !== undefined && values.includes(value),
  NotIn: (value, values) => value === undefined || !values.includes(value),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
};

function matchesExpression({ key, operator, values = [] }: LabelSelectorMatchExpression, labels: Labels): boolean {
  return OPERATORS[operator](labelOf(labels, key), values);
}

/** A label's value; ignores properties that every object inherits, such as "constructor". */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** True if a Group's allowedNamespaces admits a namespace. */
export function admitsNamespace(
  { metadata, spec }: Group,
  namespace: string,
  namespaces: ReadonlyMap<string, Labels>,
): boolean {
  const { from, selector } = spec.allowedNamespaces;
  if (from === 'All') return true;
  if (from === 'Same') return namespace === metadata.namespace;
  return selector !== undefined && matchesSelector(selector, labelsOfNamespace(namespaces, namespace));
}
