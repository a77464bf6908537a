/** Writes the reasoning settings: from version 3 on, Gemini takes a level; earlier versions take a budget of tokens. */
import type { ModelCapabilities } from '../../capabilities.ts';
import { effortOfBudget } from '../../conversation/efforts.ts';
import type { ReasoningSettings, Settings } from '../../conversation/request.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { isPro, geminiVersion, LEVELS_FROM } from './model-version.ts';
import { BUDGETS, LEVELS } from './table.ts';

/** The smallest budget of Pro models, and the largest that all models take. */
const [MIN_PRO_BUDGET, MAX_BUDGET] = [128, 24_576];

interface ThinkingContext {
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

/** Undefined: the model's own default applies, and its thoughts are not shown. */
export function writeThinking(settings: Settings, context: ThinkingContext): JsonRecord | undefined {
  const { model } = context;
  const version = geminiVersion(model);
  const { effort, reasoning } = takenSettings(settings, context);
  if (reasoning?.mode === 'Disabled') return withoutThinking(model, version);
  const budget = reasoning?.budgetTokens;
  const amount =
    version >= LEVELS_FROM ? { thinkingLevel: levelOf(effort, budget) } : { thinkingBudget: budgetOf(effort, budget) };
  if (!reasoning) return effort === undefined ? undefined : amount;
  return { ...amount, includeThoughts: reasoning.display !== 'Omitted' };
}

interface TakenSettings {
  readonly effort: string | undefined;
  readonly reasoning: ReasoningSettings | undefined;
}

/** Names the settings that the model does not take; that it shall not reason is no loss for one that cannot. */
function takenSettings({ effort, reasoning }: Settings, { capabilities, dropped }: ThinkingContext): TakenSettings {
  if (capabilities.reasoning) return { effort: effort?.value, reasoning: reasoning?.value };
  if (effort && effort.value !== 'none') dropped.add(effort.path);
  if (reasoning && reasoning.value.mode !== 'Disabled') dropped.add(reasoning.path);
  return { effort: undefined, reasoning: undefined };
}

/** The least thinking that the model allows. */
function withoutThinking(model: string, version: number): JsonRecord {
  if (version >= LEVELS_FROM) return { thinkingLevel: isPro(model) ? 'LOW' : 'MINIMAL' };
  return { thinkingBudget: isPro(model) ? MIN_PRO_BUDGET : 0 };
}

function levelOf(effort: string | undefined, budget: number | undefined): string | undefined {
  if (effort !== undefined) return LEVELS.values.get(effort) ?? 'HIGH';
  return budget === undefined ? undefined : effortOfBudget(budget).toUpperCase();
}

function budgetOf(effort: string | undefined, budget: number | undefined): number | undefined {
  if (budget !== undefined) return Math.min(budget, MAX_BUDGET);
  return effort === undefined ? undefined : Number(BUDGETS.values.get(effort) ?? MAX_BUDGET);
}
