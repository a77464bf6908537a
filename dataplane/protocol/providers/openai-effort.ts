/** How much a model reasons, as OpenAI's protocol has it: an effort, by that of the client or by its budget. */
import type { ModelCapabilities } from '../capabilities.ts';
import { effortOfBudget } from '../conversation/efforts.ts';
import type { Settings } from '../conversation/request.ts';
import { keptValue } from '../conversation/take.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { valueTable } from '../field-table.ts';
import { highestEffort, lowestEffort, takesVerbosity } from '../openai/model-features.ts';

export const EFFORTS = valueTable('effort → `reasoning_effort`, for models other than GPT-5', {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
});

export const HIGHEST_EFFORTS = valueTable('the highest `reasoning_effort` that GPT-5 takes', {
  'GPT-5, GPT-5.1': 'high',
  'GPT-5.1-Codex-Max, GPT-5.2 to GPT-5.5': 'xhigh',
  'from GPT-5.6 on': 'max',
});

/** In their order. */
const ALL_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

export interface EffortContext {
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

/** Undefined: the model decides. */
export function writeEffort(
  { effort, reasoning }: Settings,
  { model, capabilities, dropped }: EffortContext,
): string | undefined {
  const known = effort && knownEffort(model, effort.value);
  if (effort && known === undefined && capabilities.reasoning) dropped.add(effort.path);
  const taken = keptValue(effort, capabilities.reasoning, dropped) === undefined ? undefined : known;
  if (reasoning?.value.mode !== 'Enabled') return taken;
  return taken ?? effortOf(keptValue(reasoning, capabilities.reasoning, dropped)?.budgetTokens);
}

/** The closest effort that the model knows; undefined: it is a word for other models. */
function knownEffort(model: string, effort: string): string | undefined {
  if (!takesVerbosity(model)) return EFFORTS.values.get(effort);
  // of the two lowest a model takes one, or neither
  const lowest = lowestEffort(model);
  if (effort === 'none') return lowest;
  if (effort === 'minimal' && lowest !== 'minimal') return 'low';
  const asked = ALL_EFFORTS.indexOf(effort);
  return ALL_EFFORTS[Math.min(asked, ALL_EFFORTS.indexOf(highestEffort(model)))];
}

function effortOf(budget: number | undefined): string | undefined {
  return budget === undefined ? undefined : effortOfBudget(budget);
}
