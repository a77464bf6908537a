/** Reads messages of every role into turns. */
import type { AssistantPart, SystemTurn, TextPart, Turn, UserPart } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, readMessages, readRecords, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { malformed } from '../../unsupported.ts';
import { cacheMark } from '../cache-mark.ts';
import { readCall, readFunctionCall } from './read-calls.ts';
import { readAssistantTexts, readContent, readImages, readTexts } from './read-parts.ts';
import { readReasoning } from './read-reasoning.ts';
import { ASSISTANT_MESSAGE, ROLES, SYSTEM_MESSAGE, TOOL_MESSAGE, USER_MESSAGE } from './table.ts';

/** Throws RequestFault for a message that is malformed. */
export function readTurns(messages: unknown, unread: UnreadField[]): readonly Turn[] {
  const reader = new MessageReader(unread);
  return readMessages({ messages }).flatMap((message, index) => reader.read(message, `messages[${index}]`));
}

class MessageReader {
  readonly #unread: UnreadField[];
  /** Number of the latest function_call, which has no id, so that one is made of it. */
  #functionCalls = 0;

  constructor(unread: UnreadField[]) {
    this.#unread = unread;
  }

  read(message: JsonRecord, path: string): readonly Turn[] {
    if (!ROLES.kinds.has(stringOf(message['role'])))
      throw malformed(`${path}.role`, 'one of system, developer, user, assistant and tool');
    const role = kindOf(ROLES, message['role'], { param: `${path}.role`, unread: this.#unread });
    switch (role) {
      case 'system':
      case 'developer':
        return [this.#readSystem(message, path)];
      case 'user':
        return [{ role: 'User', parts: this.#readUser(message, path), path }];
      case 'assistant':
        return this.#readAssistant(message, path);
      case 'tool':
      case 'function':
        return [{ role: 'User', parts: [this.#readResult(role, message, path)], path }];
      case undefined:
        return [];
    }
  }

  #readSystem(message: JsonRecord, path: string): SystemTurn {
    const unread = this.#unread;
    const { content, cache_control: control } = readFields(SYSTEM_MESSAGE, message, { param: path, unread });
    const parts: readonly TextPart[] = readTexts(content, `${path}.content`, unread);
    return { role: 'System', parts: markLast(parts, control), path };
  }

  /** The speaker's name stands before what is said. */
  #readUser(message: JsonRecord, path: string): readonly UserPart[] {
    const unread = this.#unread;
    const { name, content, cache_control: control } = readFields(USER_MESSAGE, message, { param: path, unread });
    const parts = markLast(readContent(content, `${path}.content`, unread), control);
    const speaker = textOf(name);
    if (speaker === undefined || parts.length === 0) return parts;
    return [{ type: 'Text', text: `${speaker}:`, path: `${path}.name` }, ...parts];
  }

  /** None for a message that says nothing, as clients keep of an empty response. */
  #readAssistant(message: JsonRecord, path: string): readonly Turn[] {
    const unread = this.#unread;
    const fields = readFields(ASSISTANT_MESSAGE, message, { param: path, unread });
    const refusal = textOf(fields.refusal);
    const parts: readonly AssistantPart[] = [
      ...readReasoning(fields, path),
      ...readAssistantTexts(fields.content, `${path}.content`, unread),
      ...(refusal === undefined ? [] : [{ type: 'Refusal' as const, text: refusal, path: `${path}.refusal` }]),
      ...readImages(fields.images, `${path}.images`, unread),
      ...this.#readCalls(fields, path),
    ];
    return parts.length === 0 ? [] : [{ role: 'Assistant', parts: markLast(parts, fields.cache_control), path }];
  }

  #readCalls(
    { tool_calls: calls, function_call: called }: { readonly tool_calls: unknown; readonly function_call: unknown },
    path: string,
  ): readonly AssistantPart[] {
    const param = `${path}.tool_calls`;
    const parts = readRecords(calls, param).flatMap((call, index) =>
      readCall(call, `${param}[${index}]`, this.#unread),
    );
    if (!isGiven(called)) return parts;
    const id = `function_${++this.#functionCalls}`;
    return [...parts, readFunctionCall(called, id, { param: `${path}.function_call`, unread: this.#unread })];
  }

  #readResult(role: 'tool' | 'function', message: JsonRecord, path: string): UserPart {
    const unread = this.#unread;
    const fields = readFields(TOOL_MESSAGE, message, { param: path, unread });
    const id = stringOf(fields.tool_call_id);
    if (role === 'tool' && id === '') throw malformed(`${path}.tool_call_id`, 'the id of a tool call');
    if (role === 'function' && this.#functionCalls === 0)
      throw malformed(`${path}.role`, "a function's only after the function_call that it answers");
    return {
      type: 'ToolResult',
      callId: role === 'tool' ? id : `function_${this.#functionCalls}`,
      isError: false,
      parts: readContent(fields.content, `${path}.content`, unread),
      cache: cacheMark(fields.cache_control),
      path,
    };
  }
}

/** A message's own mark belongs to its last part, unless that has one. Reasoning has none. */
function markLast<Part extends AssistantPart | UserPart>(parts: readonly Part[], control: unknown): readonly Part[] {
  const cache = cacheMark(control);
  const last = parts.at(-1);
  if (!last || !cache || last.cache || last.type === 'Reasoning') return parts;
  return [...parts.slice(0, -1), { ...last, cache }];
}
