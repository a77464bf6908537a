/** The families of models that have settings of their own at Converse. Names may be ids, profiles or ARNs. */
export type ModelFamily = 'Claude' | 'Nova' | 'GptOss' | 'Other';

const FAMILIES: readonly (readonly [RegExp, ModelFamily])[] = [
  [/anthropic\.|claude/i, 'Claude'], [/amazon\.nova/i, 'Nova'], [/gpt-oss/i, 'GptOss'],
];

/** An ARN that shows no model is of the family Other. */
export function familyOf(model: string): ModelFamily {
  return FAMILIES.find(([pattern]) => pattern.test(model))?.[1] ?? 'Other';
}
