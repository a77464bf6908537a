/**
 * Converts the thinking settings: from version 3 on, Gemini takes a level; earlier versions take a budget of tokens.
 */
import { readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { location } from './blocks.ts';
import type { ConversionContext } from './messages.ts';
import { isPro, LEVELS_FROM } from './model-version.ts';
import { BUDGETS, LEVELS, OUTPUT_CONFIG, THINKING } from './table.ts';

interface ThinkingRequest {
  readonly thinking: unknown;
  readonly output_config: unknown;
}

/** Thinking budgets below these limits become this level; larger ones become HIGH. */
const BUDGET_LEVELS = [
  [4096, 'LOW'],
  [16_384, 'MEDIUM'],
] as const;
/** The smallest budget of Pro models, and the largest that all models take. */
const [MIN_PRO_BUDGET, MAX_BUDGET] = [128, 24_576];

/** Undefined: the model's own default applies, and its thoughts are not shown. */
export function convertThinking(
  request: ThinkingRequest,
  context: ConversionContext,
  model: string,
): JsonRecord | undefined {
  const { version } = context;
  const { effort, thinking } = readSettings(request, context);
  if (thinking?.type === 'disabled') return withoutThinking(model, version);
  const amount =
    version >= LEVELS_FROM
      ? { thinkingLevel: levelOf(effort, thinking?.budget_tokens) }
      : { thinkingBudget: budgetOf(effort, thinking?.budget_tokens) };
  if (!thinking) return effort === undefined ? undefined : amount;
  return { ...amount, includeThoughts: thinking.display !== 'omitted' };
}

interface Wishes {
  readonly effort: string | undefined;
  readonly thinking: ConvertedFields<NonNullable<typeof THINKING.converted>> | undefined;
}

/** Leaves out the settings that the model does not accept. */
function readSettings(
  { thinking, output_config: config }: ThinkingRequest,
  { capabilities: { reasoning }, dropped }: ConversionContext,
): Wishes {
  const output = isRecord(config) ? readObject(OUTPUT_CONFIG, config, location('output_config')) : undefined;
  const asked = isRecord(thinking) ? readObject(THINKING, thinking, location('thinking')) : undefined;
  const wished = reasoning || asked?.type !== 'disabled' ? asked : undefined;
  return {
    effort: dropped.keepIf(reasoning, 'output_config.effort', textOf(output?.effort)),
    thinking: dropped.keepIf(reasoning, 'thinking', wished),
  };
}

/** The least thinking that the model allows. */
function withoutThinking(model: string, version: number): JsonRecord {
  if (version >= LEVELS_FROM) return { thinkingLevel: isPro(model) ? 'LOW' : 'MINIMAL' };
  return { thinkingBudget: isPro(model) ? MIN_PRO_BUDGET : 0 };
}

function levelOf(effort: string | undefined, budget: unknown): string | undefined {
  if (effort !== undefined) return LEVELS.values.get(effort) ?? 'HIGH';
  if (typeof budget !== 'number') return undefined;
  return BUDGET_LEVELS.find(([below]) => budget < below)?.[1] ?? 'HIGH';
}

function budgetOf(effort: string | undefined, budget: unknown): number | undefined {
  if (typeof budget === 'number') return Math.min(budget, MAX_BUDGET);
  return effort === undefined ? undefined : Number(BUDGETS.values.get(effort) ?? MAX_BUDGET);
}
