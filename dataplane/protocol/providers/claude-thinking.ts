/**
 * The reasoning settings of Claude's models, on whichever provider. From version 4.6 on they take an effort; earlier
 * ones take a budget of tokens, which must fit within the output limit.
 */
import { claudeVersion } from '../capabilities.ts';
import type { ModelCapabilities } from '../capabilities.ts';
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
/** The first version that takes an effort. */
const FIRST_ADAPTIVE = 4.6;
const DISPLAYS = { Summarized: 'summarized', Omitted: 'omitted' } as const;

export function claudeThinking(settings: Settings, context: ThinkingContext): ClaudeThinking {
  const { effort, reasoning } = keptSettings(settings, context);
  const mapped = effort === undefined ? undefined : (CLAUDE_EFFORTS.values.get(effort) ?? effort);
  switch (reasoning?.mode) {
    case undefined:
      return { ...NONE, effort: mapped };
    case 'Disabled':
      return { ...NONE, thinking: { type: 'disabled' } };
    case 'Adaptive':
      if (takesBudget(context.model)) return withBudget(effort, settings, context);
      return { thinking: { type: 'adaptive', ...displayOf(reasoning) }, effort: mapped, thinks: true };
    case 'Enabled': {
      const thinking = { type: 'enabled', budget_tokens: reasoning.budgetTokens, ...displayOf(reasoning) };
      return { thinking, effort: mapped, thinks: true };
    }
  }
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

function displayOf(reasoning: ReasoningSettings | undefined): JsonRecord {
  const display = reasoning?.display;
  return display ? { display: DISPLAYS[display] } : {};
}

/** Where no budget fits, the model does not think, which is named. A forced call allows none either. */
function withBudget(effort: string | undefined, settings: Settings, context: ThinkingContext): ClaudeThinking {
  const { reasoning, toolChoice } = settings;
  const budget = budgetOf(effort, reasoning?.value.budgetTokens, context.maxTokens);
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

/** A client's own budget is at least the API's minimum. Undefined: none fits into half of the output limit. */
function budgetOf(
  effort: string | undefined,
  own: number | undefined,
  maxTokens: number | undefined,
): number | undefined {
  const most = maxTokens === undefined ? Infinity : Math.floor(maxTokens / 2);
  const wished =
    own === undefined ? Number(CLAUDE_BUDGETS.values.get(effort ?? 'medium') ?? 0) : Math.max(own, MIN_BUDGET);
  const budget = Math.min(wished, most);
  return budget < MIN_BUDGET ? undefined : budget;
}

/** With a budget, the API requires signed thinking at the start of a turn whose tool calls are being answered. */
function answersUnsignedCall(turns: readonly Turn[]): boolean {
  const [before, last] = turns.slice(-2);
  if (last?.role !== 'User' || !last.parts.some(({ type }) => type === 'ToolResult')) return false;
  return before?.role !== 'Assistant' || before.parts[0]?.type !== 'Reasoning';
}
