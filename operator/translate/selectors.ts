/**
 * [P] Kubernetes label selectors.
 */
import type { LabelSelector, LabelSelectorMatchExpression } from '#crds/types.gen.ts';
import type { Labels } from '../store/resources.ts';

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
