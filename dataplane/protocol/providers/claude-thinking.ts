/**
 * The reasoning settings of Claude's models, on whichever provider. From version 4.6 on they take an effort; earlier
 * ones take a budget of tokens, which must fit within the output limit. 4.6 takes both, later ones no budget.
 */
import { claudeVersion } from '../capabilities.ts';
import type { ModelCapabilities } from '../capabilities.ts';
import { effortOfBudget } from '../conversation/efforts.ts';
import type { ReasoningSettings, Settings, Turn } from '../conversation/request.ts';
import { keptValue } from '../conversation/take.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { valueTable } from '../field-table.ts';
import type { JsonRecord } from '../fields.ts';

export const CLAUDE_EFFORTS = valueTable("effort → Claude's effort", {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
});

export const CLAUDE_BUDGETS = valueTable('effort → `thinking.budget_tokens`, for models before 4.6', {
  minimal: '1024',
  low: '2048',
  medium: '8192',
  high: '16384',
  xhigh: '32768',
  max: '32768',
});

export interface ThinkingContext {
  readonly model: string;
  /** The output limit that is sent; undefined: none. */
  readonly maxTokens: number | undefined;
  readonly turns: readonly Turn[];
  readonly capabilities: Pick<ModelCapabilities, 'reasoning'>;
  readonly dropped: DroppedFields;
}

export interface ClaudeThinking {
  readonly thinking: JsonRecord | undefined;
  readonly effort: string | undefined;
  /** The model will think, so that it takes no sampling settings. */
  readonly thinks: boolean;
}

const NONE: ClaudeThinking = { thinking: undefined, effort: undefined, thinks: false };
/** The API's minimum. */
const MIN_BUDGET = 1024;
/** The first version that takes an effort, and the last that takes a budget. */
const [FIRST_ADAPTIVE, LAST_BUDGET] = [4.6, 4.6];
/** The last version that does not think where a call is forced. */
const LAST_UNFORCED = 4.7;
/** Models that cannot be told not to think. */
const ALWAYS_THINK = /claude-(?:fable|mythos)/i;
const DISPLAYS = { Summarized: 'summarized', Omitted: 'omitted' } as const;

export function claudeThinking(settings: Settings, context: ThinkingContext): ClaudeThinking {
  const { effort, reasoning } = keptSettings(settings, context);
  switch (reasoning?.mode) {
    case undefined:
      return { ...NONE, effort: effortOf(effort) };
    case 'Disabled':
      return withoutThinking(effort, settings, context);
    case 'Adaptive':
      return takesBudget(context.model)
        ? withBudget(effort, settings, context)
        : decidesItself(effort, settings, context);
    case 'Enabled':
      return refusesBudget(context.model)
        ? decidesItself(effort ?? effortOfBudget(reasoning.budgetTokens ?? 0), settings, context)
        : { ...withBudget(effort, settings, context), effort: effortOf(effort) };
  }
}

function effortOf(effort: string | undefined): string | undefined {
  return effort === undefined ? undefined : (CLAUDE_EFFORTS.values.get(effort) ?? effort);
}

/** Models with an effort have one without thinking, too; none means only that they shall not think. */
function withoutThinking(
  effort: string | undefined,
  { reasoning }: Settings,
  { model, dropped }: ThinkingContext,
): ClaudeThinking {
  const given = effort === 'none' || takesBudget(model) ? undefined : effortOf(effort);
  if (!ALWAYS_THINK.test(model)) return { ...NONE, thinking: { type: 'disabled' }, effort: given };
  if (reasoning) dropped.add(reasoning.path);
  return { ...NONE, effort: given ?? 'low' };
}

interface KeptSettings {
  readonly effort: string | undefined;
  readonly reasoning: ReasoningSettings | undefined;
}

/** What a model cannot do is named; that it shall not reason is no loss for one that cannot. */
function keptSettings({ effort, reasoning }: Settings, { capabilities, dropped }: ThinkingContext): KeptSettings {
  const takes = capabilities.reasoning;
  const isOff = reasoning?.value.mode === 'Disabled';
  return {
    effort: keptValue(effort, takes, dropped, 'none'),
    reasoning: isOff && !takes ? undefined : keptValue(reasoning, takes, dropped),
  };
}

function takesBudget(model: string): boolean {
  const version = claudeVersion(model);
  return version !== undefined && version < FIRST_ADAPTIVE;
}

function refusesBudget(model: string): boolean {
  return (claudeVersion(model) ?? 0) > LAST_BUDGET;
}

function displayOf(reasoning: ReasoningSettings | undefined): JsonRecord {
  const display = reasoning?.display;
  return display ? { display: DISPLAYS[display] } : {};
}

/** The model decides how much it thinks. Up to 4.7 a forced call allows no thinking, which is named. */
function decidesItself(
  effort: string | undefined,
  settings: Settings,
  { model, dropped }: ThinkingContext,
): ClaudeThinking {
  const { reasoning, toolChoice } = settings;
  const isRefused = toolChoice?.value.mode === 'Required' && (claudeVersion(model) ?? Infinity) <= LAST_UNFORCED;
  if (isRefused) {
    if (reasoning) dropped.add(reasoning.path);
    return { ...NONE, effort: effortOf(effort) };
  }
  return {
    thinking: { type: 'adaptive', ...displayOf(reasoning?.value) },
    effort: effortOf(effort),
    thinks: true,
  };
}

/** Where no budget fits, the model does not think, which is named. A forced call allows none either. */
function withBudget(effort: string | undefined, settings: Settings, context: ThinkingContext): ClaudeThinking {
  const { reasoning, toolChoice } = settings;
  const budget = budgetOf(effort, reasoning?.value, context.maxTokens);
  if (budget === undefined || toolChoice?.value.mode === 'Required' || answersUnsignedCall(context.turns)) {
    if (reasoning) context.dropped.add(reasoning.path);
    return NONE;
  }
  return {
    thinking: { type: 'enabled', budget_tokens: budget, ...displayOf(reasoning?.value) },
    effort: undefined,
    thinks: true,
  };
}

/** Undefined: none fits into half of the output limit, and the client's own is not below the limit. */
function budgetOf(
  effort: string | undefined,
  reasoning: ReasoningSettings | undefined,
  maxTokens = Infinity,
): number | undefined {
  const own = reasoning?.budgetTokens;
  const stays = reasoning?.mode === 'Enabled' && own !== undefined && own < maxTokens;
  if (stays) return own;
  const budget = Math.min(wishedBudget(effort, own), Math.floor(maxTokens / 2));
  return budget < MIN_BUDGET ? undefined : budget;
}

/** A budget is at least the API's minimum. */
function wishedBudget(effort = 'medium', own?: number): number {
  return own === undefined ? Number(CLAUDE_BUDGETS.values.get(effort) ?? 0) : Math.max(own, MIN_BUDGET);
}

/** With a budget, the API requires signed thinking at the start of a turn whose tool calls are being answered. */
function answersUnsignedCall(turns: readonly Turn[]): boolean {
  const [before, last] = turns.slice(-2);
  if (last?.role !== 'User' || !last.parts.some(({ type }) => type === 'ToolResult')) return false;
  return before?.role !== 'Assistant' || before.parts[0]?.type !== 'Reasoning';
}
