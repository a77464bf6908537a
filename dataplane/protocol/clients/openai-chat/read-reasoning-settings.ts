/** Reads how much the model shall reason, in the forms that chat clients have for it. */
import type { ReasoningSettings, Settings } from '../../conversation/request.ts';
import { readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isRecord, stringOf, textOf } from '../../fields.ts';
import { located, numberOf, reasoningOfEffort } from '../settings.ts';
import { REASONING, THINKING } from './table.ts';
import type { ChatRequest } from './table.ts';

type Found = Pick<Settings, 'effort' | 'reasoning'>;

/** The more explicit form wins. A client that asks for an effort expects to see thoughts. */
export function readReasoningSettings(request: ChatRequest, unread: UnreadField[]): Found {
  const { effort: routed, reasoning } = readRouted(request.reasoning, unread);
  const effort = located(textOf(request.reasoning_effort), 'reasoning_effort') ?? routed;
  return {
    effort,
    reasoning:
      readThinking(request.thinking, unread) ??
      reasoning ??
      switched(request.enable_thinking) ??
      reasoningOfEffort(effort),
  };
}

function switched(enabled: unknown): Found['reasoning'] {
  if (typeof enabled !== 'boolean') return undefined;
  return { value: settings(enabled ? 'Adaptive' : 'Disabled'), path: 'enable_thinking' };
}

function settings(mode: ReasoningSettings['mode'], rest: Partial<ReasoningSettings> = {}): ReasoningSettings {
  return { mode, budgetTokens: undefined, display: undefined, ...rest };
}

const MODES: Readonly<Record<string, ReasoningSettings['mode']>> = {
  enabled: 'Enabled',
  adaptive: 'Adaptive',
  disabled: 'Disabled',
};
const DISPLAYS: Readonly<Record<string, ReasoningSettings['display']>> = {
  summarized: 'Summarized',
  omitted: 'Omitted',
};

/** Anthropic's own field. Without a budget the model decides. */
function readThinking(thinking: unknown, unread: UnreadField[]): Found['reasoning'] {
  if (!isRecord(thinking)) return undefined;
  const { type, budget_tokens: budget, display } = readFields(THINKING, thinking, { param: 'thinking', unread });
  const budgetTokens = numberOf(budget);
  const mode = MODES[stringOf(type)] ?? 'Adaptive';
  const value = settings(mode === 'Enabled' && budgetTokens === undefined ? 'Adaptive' : mode, {
    budgetTokens,
    display: DISPLAYS[stringOf(display)],
  });
  return { value, path: 'thinking' };
}

/** OpenRouter's field. */
function readRouted(given: unknown, unread: UnreadField[]): Found {
  if (!isRecord(given)) return {};
  const path = 'reasoning';
  const { effort, max_tokens: budget, enabled, exclude } = readFields(REASONING, given, { param: path, unread });
  const budgetTokens = numberOf(budget);
  const display = exclude === true ? 'Omitted' : undefined;
  const isOff = enabled === false || effort === 'none';
  const mode = isOff ? 'Disabled' : budgetTokens === undefined ? 'Adaptive' : 'Enabled';
  return {
    effort: located(textOf(effort), `${path}.effort`),
    reasoning: { value: settings(mode, { budgetTokens, display }), path },
  };
}
