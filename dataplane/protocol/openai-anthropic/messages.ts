/**
 * OpenAI's messages as Anthropic's: system and developer messages move to `system`; turns alternate, so consecutive ones of a side
 * become one, with the results of tools before everything else.
 */
import { isGiven, isRecord, readRecords, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { malformed, unsupported } from '../unsupported.ts';
import { convertParts, convertText } from './parts.ts';
import { convertToolCalls, toolUseId } from './tools.ts';

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: JsonRecord[];
}

export interface Conversation {
  readonly system: string | readonly JsonRecord[] | undefined;
  readonly messages: readonly JsonRecord[];
}

/** Throws RequestFault for a message or part that Anthropic has nothing like. */
export function convertMessages(value: unknown): Conversation {
  const system: JsonRecord[] = [];
  const turns: Turn[] = [];
  for (const [index, message] of readRecords(value, 'messages').entries()) convertMessage(message, `messages[${index}]`, { system, turns });
  const messages = turns.filter((turn) => turn.content.length > 0).map(writeTurn);
  if (messages.length === 0) throw malformed('messages', 'a list with at least one message of the user');
  return { system: writeSystem(system), messages };
}

function convertMessage(message: JsonRecord, param: string, { system, turns }: { system: JsonRecord[]; turns: Turn[] }): void {
  switch (message['role']) {
    case 'system':
    case 'developer':
      system.push(...convertText(message['content'], `${param}.content`));
      return;
    case 'user':
      turnOf(turns, 'user').push(...convertParts(message['content'], `${param}.content`));
      return;
    case 'assistant':
      turnOf(turns, 'assistant').push(...convertAssistant(message, param));
      return;
    case 'tool':
      addResult(turnOf(turns, 'user'), convertResult(message, param));
      return;
    case 'function':
      throw unsupported(`${param}.role`, 'Anthropic');
    default:
      throw malformed(`${param}.role`, 'one of system, developer, user, assistant and tool');
  }
}

function turnOf(turns: Turn[], role: Turn['role']): JsonRecord[] {
  const last = turns.at(-1);
  if (last?.role === role) return last.content;
  const content: JsonRecord[] = [];
  turns.push({ role, content });
  return content;
}

/** The API wants results first in the turn that answers tool calls. */
function addResult(content: JsonRecord[], result: JsonRecord): void {
  const at = content.findIndex((block) => block['type'] !== 'tool_result');
  content.splice(at < 0 ? content.length : at, 0, result);
}

function convertAssistant(message: JsonRecord, param: string): JsonRecord[] {
  if (isGiven(message['function_call'])) throw unsupported(`${param}.function_call`, 'Anthropic');
  if (isGiven(message['audio'])) throw unsupported(`${param}.audio`, 'Anthropic');
  const refusal = textOf(message['refusal']);
  return [
    ...convertText(message['content'], `${param}.content`),
    ...(refusal === undefined ? [] : [{ type: 'text', text: refusal }]),
    ...convertToolCalls(message['tool_calls'], `${param}.tool_calls`),
  ];
}

function convertResult(message: JsonRecord, param: string): JsonRecord {
  const id = wordOf(message['tool_call_id']);
  if (id === '') throw malformed(`${param}.tool_call_id`, 'the id of a tool call');
  const { content } = message;
  return {
    type: 'tool_result',
    tool_use_id: toolUseId(id),
    content: typeof content === 'string' ? content : convertParts(content, `${param}.content`),
  };
}

function writeTurn({ role, content }: Turn): JsonRecord {
  const [only] = content;
  return { role, content: content.length === 1 && only ? plainText(only) ?? content : content };
}

function writeSystem(blocks: readonly JsonRecord[]): Conversation['system'] {
  const [first] = blocks;
  if (!first) return undefined;
  return blocks.length === 1 ? plainText(first) ?? blocks : blocks;
}

function plainText(block: JsonRecord): string | undefined {
  return isRecord(block) && block['type'] === 'text' ? textOf(block['text']) : undefined;
}
