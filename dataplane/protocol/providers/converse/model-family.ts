/** The families of models that have settings of their own at Converse. Names may be ids, profiles or ARNs. */
export type ModelFamily = 'Claude' | 'Nova' | 'GptOss' | 'Other';

const FAMILIES: readonly (readonly [RegExp, ModelFamily])[] = [
  [/anthropic\.|claude/i, 'Claude'],
  [/amazon\.nova/i, 'Nova'],
  [/gpt-oss/i, 'GptOss'],
];

/** An ARN without a model's name belongs to the family Other. */
export function familyOf(model: string): ModelFamily {
  return FAMILIES.find(([pattern]) => pattern.test(model))?.[1] ?? 'Other';
}
