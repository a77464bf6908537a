/**
 * Converts Anthropic's messages to OpenAI's: `system` comes first, tool results become messages of their own before the
 * rest of their turn, and the assistant's tool calls and text become one message.
 */
import type { RequestPlan } from '../converter.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { isOmittedKind, readKind, readObject, readType } from '../field-table.ts';
import { isGiven, isRecord, readMessages, readRecords, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { toolParam } from '../provider-tools.ts';
import { toToolCallId } from '../tool-ids.ts';
import type { ToolNames } from '../tool-ids.ts';
import { malformed } from '../unsupported.ts';
import { location, convertBlock, isText, joinTexts, writeParts } from './blocks.ts';
import {
  ASSISTANT_BLOCKS,
  MESSAGE,
  REDACTED_BLOCK,
  ROLES,
  SYSTEM_BLOCKS,
  TEXT_BLOCK,
  THINKING_BLOCK,
  TOOL_RESULT_BLOCK,
  TOOL_USE_BLOCK,
  USER_BLOCKS,
} from './table.ts';

export interface MessageOptions {
  readonly names: ToolNames;
  readonly dropped: DroppedFields;
  readonly providerTools: RequestPlan['providerTools'];
  /** The model needs its reasoning of the current turn in the request. */
  readonly reasoning: boolean;
  /** Paragraphs at the end of the system message. */
  readonly appendix: readonly string[];
}

export function convertMessages(system: unknown, messages: unknown, options: MessageOptions): readonly JsonRecord[] {
  const all = readMessages({ messages });
  const turnStart = options.reasoning ? all.findLastIndex(startsTurn) : all.length;
  return [
    ...convertSystem(system, 'system', options.appendix),
    ...all.flatMap((message, index) =>
      convertMessage(message, `messages[${index}]`, {
        ...options,
        reasoning: index > turnStart,
      }),
    ),
  ];
}

/** A user message without tool results starts a new turn. */
function startsTurn({ role, content }: JsonRecord): boolean {
  return (
    role === 'user' &&
    (!Array.isArray(content) || !content.some((block) => isRecord(block) && block['type'] === 'tool_result'))
  );
}

function convertMessage(message: JsonRecord, param: string, options: MessageOptions): readonly JsonRecord[] {
  if (!ROLES.kinds.has(stringOf(message['role'])))
    throw malformed(`${param}.role`, 'one of user, assistant and system');
  const role = readKind(ROLES, message['role'], location(`${param}.role`));
  const { content } = readObject(MESSAGE, message, location(param));
  if (role === 'system') return convertSystem(content, `${param}.content`);
  if (typeof content === 'string') return [{ role, content }];
  const blocks = readRecords(content, `${param}.content`);
  return role === 'user'
    ? convertUser(blocks, `${param}.content`)
    : convertAssistant(blocks, `${param}.content`, options);
}

/** As one text, because not all providers accept a list of parts here. */
function convertSystem(system: unknown, param: string, appendix: readonly string[] = []): readonly JsonRecord[] {
  const given =
    !isGiven(system) || typeof system === 'string' ? stringOf(system) : joinSystem(readRecords(system, param), param);
  const text = [given, ...appendix].filter((paragraph) => paragraph !== '').join('\n\n');
  return text === '' ? [] : [{ role: 'system', content: text }];
}

function joinSystem(blocks: readonly JsonRecord[], param: string): string {
  for (const [index, block] of blocks.entries()) readType(SYSTEM_BLOCKS, block, location(`${param}[${index}]`));
  return joinTexts(blocks, param);
}

function convertUser(blocks: readonly JsonRecord[], param: string): readonly JsonRecord[] {
  const results: JsonRecord[] = [];
  const parts: JsonRecord[] = [];
  for (const [index, block] of blocks.entries()) {
    const blockParam = `${param}[${index}]`;
    if (readType(USER_BLOCKS, block, location(blockParam)) !== 'tool_result') {
      parts.push(...convertBlock(block, blockParam));
    } else {
      const { message, more } = convertResult(block, blockParam);
      results.push(message);
      parts.push(...more);
    }
  }
  return parts.length > 0 ? [...results, { role: 'user', content: writeParts(parts) }] : results;
}

/** Tool messages hold only text: images of a result go to the user message that follows. */
function convertResult(block: JsonRecord, param: string): { message: JsonRecord; more: readonly JsonRecord[] } {
  const { tool_use_id: id, content, is_error: isError } = readObject(TOOL_RESULT_BLOCK, block, location(param));
  const parts =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : readRecords(content, `${param}.content`).flatMap((inner, index) =>
          convertBlock(inner, `${param}.content[${index}]`),
        );
  const text = parts
    .filter(isText)
    .map((part) => stringOf(part['text']))
    .join('\n');
  return {
    message: {
      role: 'tool',
      tool_call_id: toToolCallId(stringOf(id)),
      content: isError === true ? `Error: ${text}` : text,
    },
    more: parts.filter((part) => !isText(part)),
  };
}

interface AssistantContent {
  readonly texts: string[];
  readonly thinking: string[];
  readonly calls: JsonRecord[];
}

function convertAssistant(
  blocks: readonly JsonRecord[],
  param: string,
  options: MessageOptions,
): readonly JsonRecord[] {
  const { names, reasoning } = options;
  const { texts, thinking, calls }: AssistantContent = { texts: [], thinking: [], calls: [] };
  for (const [index, block] of blocks.entries())
    if (!isLeftOut(block, `${param}[${index}]`, options))
      addBlock({ texts, thinking, calls }, block, { param: `${param}[${index}]`, names });
  const content = textOf(texts.join(''));
  if (content === undefined && calls.length === 0) return [];
  const reasoningContent = reasoning ? textOf(thinking.join('')) : undefined;
  return [
    {
      role: 'assistant',
      content: content ?? null,
      ...(reasoningContent === undefined ? {} : { reasoning_content: reasoningContent }),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ];
}

/** A step of a tool that Anthropic ran: the text after it contains the outcome. */
function isLeftOut(block: JsonRecord, param: string, { dropped, providerTools }: MessageOptions): boolean {
  if (providerTools === 'Refuse' || !isOmittedKind(ASSISTANT_BLOCKS, block['type'])) return false;
  dropped.add(toolParam(param, block));
  return true;
}

function addBlock(
  content: AssistantContent,
  block: JsonRecord,
  { param, names }: { param: string; names: ToolNames },
): void {
  switch (readType(ASSISTANT_BLOCKS, block, location(param))) {
    case 'text':
      return void content.texts.push(stringOf(readObject(TEXT_BLOCK, block, location(param)).text));
    case 'thinking':
      return void content.thinking.push(stringOf(readObject(THINKING_BLOCK, block, location(param)).thinking));
    case 'redacted_thinking':
      return void readObject(REDACTED_BLOCK, block, location(param));
    case 'tool_use':
      return void content.calls.push(convertCall(block, param, names));
  }
}

function convertCall(block: JsonRecord, param: string, names: ToolNames): JsonRecord {
  const { id, name, input } = readObject(TOOL_USE_BLOCK, block, location(param));
  return {
    id: toToolCallId(stringOf(id)),
    type: 'function',
    function: { name: names.send(name), arguments: writeJson(isRecord(input) ? input : {}) },
  };
}
