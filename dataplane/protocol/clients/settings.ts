/** Reads settings with the client's paths. */
import type { Located, Settings } from '../conversation/request.ts';
import { textOf } from '../fields.ts';

/** Undefined: the client does not set it. */
export function located<Value>(value: Value | undefined, path: string): Located<Value> | undefined {
  return value === undefined ? undefined : { value, path };
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** OpenAI's service tier. Undefined: whichever the provider chooses. */
export function openAiTier(tier: unknown): string | undefined {
  if (tier === 'auto') return undefined;
  return tier === 'default' ? 'standard' : textOf(tier);
}

/** The reasoning that an effort asks for, where the client says no more about it. */
export function reasoningOfEffort(effort: Settings['effort']): Settings['reasoning'] {
  if (!effort) return undefined;
  const mode = effort.value === 'none' ? 'Disabled' : 'Adaptive';
  return { value: { mode, budgetTokens: undefined, display: undefined }, path: effort.path };
}
