/**
 * Mends conversations that Anthropic's API would refuse although OpenAI's accepts them, or although clients produce
 * them: tool calls without a result, results without a call, and turns at the wrong end.
 */
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

/** `results` come before `others`, as the API requires. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly results: readonly JsonRecord[];
  readonly others: readonly JsonRecord[];
}

/** The API requires a user's turn at the start. */
const START: Turn = { role: 'user', results: [], others: [{ type: 'text', text: '(The conversation begins here.)' }] };
const NO_RESULT = { content: 'The tool call was not completed.', is_error: true };
/** Asks a model that cannot continue an answer to go on with it. */
const CONTINUE = { role: 'user', content: 'Continue.' };

/** Every tool call gets a result in the next turn, and results of unknown calls become text. */
export function repairTurns(turns: readonly Turn[]): readonly Turn[] {
  const mended: Turn[] = turns[0]?.role === 'assistant' ? [START] : [];
  for (const turn of turns) {
    const previous = mended.at(-1);
    if (turn.role === 'assistant') {
      mended.push(turn);
      continue;
    }
    if (previous?.role === 'assistant') mended.push(answerCalls(previous, turn));
    else mended.push({ ...turn, results: [], others: [...turn.results.flatMap(asText), ...turn.others] });
  }
  const last = mended.at(-1);
  if (!last || callIds(last).length === 0) return mended;
  return [...mended, answerCalls(last, { role: 'user', results: [], others: [] })];
}

function answerCalls(assistant: Turn, user: Turn): Turn {
  const ids = callIds(assistant);
  const known = user.results.filter((result) => ids.includes(result['tool_use_id']));
  const unknown = user.results.filter((result) => !ids.includes(result['tool_use_id']));
  const answered = new Set(known.map((result) => result['tool_use_id']));
  const missing = ids
    .filter((id) => !answered.has(id))
    .map((id) => ({ type: 'tool_result', tool_use_id: id, ...NO_RESULT }));
  return { role: 'user', results: [...known, ...missing], others: [...unknown.flatMap(asText), ...user.others] };
}

function callIds({ role, others }: Turn): readonly unknown[] {
  return role === 'user' ? [] : others.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
}

/** The content of a tool result, as blocks of the user. */
function asText({ content }: JsonRecord): readonly JsonRecord[] {
  const head = { type: 'text', text: 'Result of an earlier tool call:' };
  const text = textOf(content);
  if (text !== undefined) return [{ ...head, text: `${head.text}\n${text}` }];
  const blocks = itemsOf(content).filter(isRecord);
  return blocks.length > 0 ? [head, ...blocks] : [];
}

/**
 * Prepares a conversation that ends with the assistant: the model continues the last message, from which trailing white
 * space is removed, because the API refuses it. A model without prefill is asked to continue.
 */
export function repairEnd(messages: readonly JsonRecord[], prefill: boolean): readonly JsonRecord[] {
  const last = messages.at(-1);
  if (last?.['role'] !== 'assistant') return messages;
  if (!prefill) return [...messages, CONTINUE];
  return [...messages.slice(0, -1), { ...last, content: trimEnd(last['content']) }];
}

function trimEnd(content: unknown): unknown {
  if (typeof content === 'string') return content.trimEnd();
  const blocks = itemsOf(content);
  const last = blocks.at(-1);
  return isRecord(last) && typeof last['text'] === 'string'
    ? [...blocks.slice(0, -1), { ...last, text: last['text'].trimEnd() }]
    : content;
}

/**
 * Declarations of the tools that a conversation has called, for a request that declares none: the API requires them.
 * Undefined: no tool was called.
 */
export function toolsOfHistory(messages: readonly JsonRecord[]): readonly JsonRecord[] | undefined {
  const blocks = messages.flatMap(({ content }) => itemsOf(content)).filter(isRecord);
  const names = new Set(blocks.filter(({ type }) => type === 'tool_use').map(({ name }) => name));
  return names.size === 0
    ? undefined
    : [...names].map((name) => ({ name, input_schema: { type: 'object', properties: {} } }));
}
