/**
 * Converts OpenAI's messages to Anthropic's: system and developer messages move to `system`; consecutive messages of
 * one side are merged into one turn, with tool results first.
 */
import { readKind, readObject } from '../field-table.ts';
import { isGiven, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { toToolUseId } from '../tool-ids.ts';
import { malformed } from '../unsupported.ts';
import { cacheOf, markLast } from './cache-control.ts';
import { repairTurns } from './history.ts';
import { location, convertParts, convertText, textBlock } from './parts.ts';
import { convertReasoning } from './reasoning.ts';
import { ASSISTANT_MESSAGE, ROLES, SYSTEM_MESSAGE, TOOL_MESSAGE, USER_MESSAGE } from './table.ts';
import type { RequestTools } from './tools.ts';

/** A turn while messages are added to it. */
interface OpenTurn {
  readonly role: 'user' | 'assistant';
  /** The API requires tool results to come first in their turn. */
  readonly results: JsonRecord[];
  readonly others: JsonRecord[];
}

export interface Conversation {
  readonly system: readonly JsonRecord[];
  /** The content of each is a list of blocks. */
  readonly messages: readonly JsonRecord[];
}

/** Throws RequestFault for a message or part without a counterpart. */
export function convertMessages(value: unknown, tools: RequestTools): Conversation {
  const builder = new ConversationBuilder(tools);
  for (const [index, message] of readRecords(value, 'messages').entries()) builder.add(message, `messages[${index}]`);
  if (builder.turns.length === 0) throw malformed('messages', 'a list with at least one message of the user');
  const messages = repairTurns(builder.turns).map(({ role, results, others }) => ({
    role,
    content: [...results, ...others],
  }));
  return { system: builder.system, messages };
}

/** A single text block without cache_control as a string. */
export function compactContent(content: readonly JsonRecord[]): string | readonly JsonRecord[] {
  const [only] = content;
  const plain =
    content.length === 1 && only?.['type'] === 'text' && !('cache_control' in only) ? textOf(only['text']) : undefined;
  return plain ?? content;
}

class ConversationBuilder {
  readonly system: JsonRecord[] = [];
  readonly turns: OpenTurn[] = [];
  readonly #tools: RequestTools;
  /** Number of the latest function_call, from which its id is made. */
  #functionCalls = 0;

  constructor(tools: RequestTools) {
    this.#tools = tools;
  }

  add(message: JsonRecord, param: string): void {
    if (!ROLES.kinds.has(stringOf(message['role'])))
      throw malformed(`${param}.role`, 'one of system, developer, user, assistant and tool');
    const role = readKind(ROLES, message['role'], location(`${param}.role`));
    switch (role) {
      case 'system':
      case 'developer':
        return void this.system.push(...convertSystem(message, param));
      case 'user':
        return this.#push('user', convertUser(message, param));
      case 'assistant':
        return this.#push('assistant', this.#convertAssistant(message, param));
      case 'tool':
      case 'function':
        return void this.#turn('user').results.push(this.#convertResult(role, message, param));
    }
  }

  #push(role: OpenTurn['role'], blocks: readonly JsonRecord[]): void {
    if (blocks.length > 0) this.#turn(role).others.push(...blocks);
  }

  #turn(role: OpenTurn['role']): OpenTurn {
    const last = this.turns.at(-1);
    if (last?.role === role) return last;
    const turn: OpenTurn = { role, results: [], others: [] };
    this.turns.push(turn);
    return turn;
  }

  #convertAssistant(message: JsonRecord, param: string): JsonRecord[] {
    const view = readObject(ASSISTANT_MESSAGE, message, location(param));
    const refusal = textBlock(view.refusal);
    return markLast(
      [
        ...convertReasoning(view.reasoning_details, view.thinking_blocks),
        ...convertText(view.content, `${param}.content`),
        ...(refusal ? [refusal] : []),
        ...this.#tools.convertCalls(view.tool_calls, `${param}.tool_calls`),
        ...(isGiven(view.function_call)
          ? [
              this.#tools.convertFunctionCall(
                view.function_call,
                `function_${++this.#functionCalls}`,
                `${param}.function_call`,
              ),
            ]
          : []),
      ],
      view.cache_control,
    );
  }

  #convertResult(role: 'tool' | 'function', message: JsonRecord, param: string): JsonRecord {
    const { tool_call_id: id, content, cache_control: control } = readObject(TOOL_MESSAGE, message, location(param));
    if (role === 'tool' && stringOf(id) === '') throw malformed(`${param}.tool_call_id`, 'the id of a tool call');
    if (role === 'function' && this.#functionCalls === 0)
      throw malformed(`${param}.role`, "a function's only after the function_call that it answers");
    return {
      type: 'tool_result',
      tool_use_id: role === 'tool' ? toToolUseId(stringOf(id)) : `function_${this.#functionCalls}`,
      content: typeof content === 'string' ? content : convertParts(content, `${param}.content`),
      ...cacheOf(control),
    };
  }
}

function convertSystem(message: JsonRecord, param: string): JsonRecord[] {
  const { content, cache_control: control } = readObject(SYSTEM_MESSAGE, message, location(param));
  return markLast(convertText(content, `${param}.content`), control);
}

function convertUser(message: JsonRecord, param: string): JsonRecord[] {
  const { name, content, cache_control: control } = readObject(USER_MESSAGE, message, location(param));
  const parts = markLast(convertParts(content, `${param}.content`), control);
  const speaker = textOf(name);
  return speaker === undefined || parts.length === 0 ? parts : [{ type: 'text', text: `${speaker}:` }, ...parts];
}
