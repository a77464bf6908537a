/**
 * Converts the reasoning effort. Anthropic's newer models take an effort; those before 4.6 take a budget of tokens,
 * which must fit within the output limit.
 */
import { claudeVersion } from '../capabilities.ts';
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { BUDGETS, EFFORTS } from './table.ts';

export interface ThinkingRequest {
  readonly effort: unknown;
  /** Anthropic's own field, which some clients send. */
  readonly thinking: unknown;
  readonly model: string;
  readonly maxTokens: number;
  /** The API does not allow a budget while a tool call is forced. */
  readonly forcesTool: boolean;
  readonly messages: readonly JsonRecord[];
}

export interface Thinking {
  readonly thinking: JsonRecord | undefined;
  readonly effort: string | undefined;
  /** The model will think, so the API refuses sampling parameters. */
  readonly thinks: boolean;
}

const NONE: Thinking = { thinking: undefined, effort: undefined, thinks: false };
/** The API's minimum. */
const MIN_BUDGET = 1024;
/** The first version that takes an effort. */
const FIRST_ADAPTIVE = 4.6;

export function convertThinking(request: ThinkingRequest): Thinking {
  if (isRecord(request.thinking))
    return {
      thinking: request.thinking,
      effort: EFFORTS.values.get(textOf(request.effort) ?? ''),
      thinks: request.thinking['type'] !== 'disabled',
    };
  const effort = textOf(request.effort);
  if (effort === undefined) return NONE;
  return takesBudget(request.model) ? budgetOf(effort, request) : adaptive(effort);
}

function takesBudget(model: string): boolean {
  const version = claudeVersion(model);
  return version !== undefined && version < FIRST_ADAPTIVE;
}

function adaptive(effort: string): Thinking {
  if (effort === 'none') return { thinking: { type: 'disabled' }, effort: undefined, thinks: false };
  // the provider validates unknown efforts
  return { thinking: { type: 'adaptive' }, effort: EFFORTS.values.get(effort) ?? effort, thinks: true };
}

/** Where no budget fits, the model does not think. */
function budgetOf(effort: string, { maxTokens, forcesTool, messages }: ThinkingRequest): Thinking {
  const budget = Math.min(Number(BUDGETS.values.get(effort) ?? 0), Math.floor(maxTokens / 2));
  if (budget < MIN_BUDGET || forcesTool || answersUnsignedCall(messages)) return NONE;
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: undefined, thinks: true };
}

/** With a budget, the API requires signed thinking at the start of a turn whose tool calls are being answered. */
function answersUnsignedCall(messages: readonly JsonRecord[]): boolean {
  const [before, last] = messages.slice(-2);
  const results = blocksOf(last).some((block) => block['type'] === 'tool_result');
  return results && !/^(?:redacted_)?thinking$/.test(String(blocksOf(before)[0]?.['type']));
}

function blocksOf(message: JsonRecord | undefined): JsonRecord[] {
  return itemsOf(message?.['content']).filter(isRecord);
}
