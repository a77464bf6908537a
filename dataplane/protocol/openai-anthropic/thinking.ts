/**
 * How much a model is to think. Newer models of Anthropic take an effort and decide themselves; those before 4.6 take a budget of
 * tokens, which must fit within the limit.
 */
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { BUDGETS, EFFORTS } from './table.ts';

export interface ThinkingWish {
  readonly effort: unknown;
  /** As the API has it, from clients that know. */
  readonly thinking: unknown;
  readonly model: string;
  readonly maxTokens: number;
  /** A tool is forced, which a budget forbids. */
  readonly forcesTool: boolean;
  readonly messages: readonly JsonRecord[];
}

export interface Thinking {
  readonly thinking: JsonRecord | undefined;
  readonly effort: string | undefined;
  /** The model will think: sampling settings are not for it to take. */
  readonly thinks: boolean;
}

const NONE: Thinking = { thinking: undefined, effort: undefined, thinks: false };
/** The API's own least. */
const LEAST_BUDGET = 1024;
/** Of models that take an effort. */
const FIRST_ADAPTIVE = 4.6;
/** `claude-sonnet-4-5-20250929`, `us.anthropic.claude-3-7-sonnet-…`, `anthropic/claude-opus-4.1`. */
const VERSION = /claude-(?:(?:opus|sonnet|haiku)-)?(\d)(?:[-.](\d)(?!\d))?/i;

export function convertThinking(wish: ThinkingWish): Thinking {
  if (isRecord(wish.thinking)) return { thinking: wish.thinking, effort: EFFORTS.words.get(textOf(wish.effort) ?? ''), thinks: wish.thinking['type'] !== 'disabled' };
  const effort = textOf(wish.effort);
  if (effort === undefined) return NONE;
  return takesBudget(wish.model) ? budgetOf(effort, wish) : adaptive(effort);
}

function takesBudget(model: string): boolean {
  const [, major, minor = '0'] = VERSION.exec(model) ?? [];
  return major !== undefined && Number(`${major}.${minor}`) < FIRST_ADAPTIVE;
}

function adaptive(effort: string): Thinking {
  if (effort === 'none') return { thinking: { type: 'disabled' }, effort: undefined, thinks: false };
  // a word that nobody knows yet is the provider's to judge
  return { thinking: { type: 'adaptive' }, effort: EFFORTS.words.get(effort) ?? effort, thinks: true };
}

/** Without a budget these models do not think: where none fits, that is what is left. */
function budgetOf(effort: string, { maxTokens, forcesTool, messages }: ThinkingWish): Thinking {
  const budget = Math.min(Number(BUDGETS.words.get(effort) ?? 0), Math.floor(maxTokens / 2));
  if (budget < LEAST_BUDGET || forcesTool || answersUnsignedCall(messages)) return NONE;
  return { thinking: { type: 'enabled', budget_tokens: budget }, effort: undefined, thinks: true };
}

/** With a budget, a turn that called tools must begin with its signed thoughts, until the results are answered. */
function answersUnsignedCall(messages: readonly JsonRecord[]): boolean {
  const [before, last] = messages.slice(-2);
  const results = blocksOf(last).some((block) => block['type'] === 'tool_result');
  return results && !/^(?:redacted_)?thinking$/.test(String(blocksOf(before)[0]?.['type']));
}

function blocksOf(message: JsonRecord | undefined): JsonRecord[] {
  return itemsOf(message?.['content']).filter(isRecord);
}
