/** Writes turns as messages of Anthropic's protocol. */
import { thinkingBlock } from '../../anthropic/thinking-blocks.ts';
import { argumentsObject } from '../../conversation/arguments.ts';
import type {
  AssistantPart,
  AssistantTurn,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
  UserPart,
} from '../../conversation/request.ts';
import type { JsonRecord } from '../../fields.ts';
import { toBoundedToolUseId } from '../../tool-ids.ts';
import type { ToolNames } from '../../tool-ids.ts';
import { textBlocks, withCache, writePart } from './write-parts.ts';

const MAX_ID_LENGTH = 256;

/** Turns alternate, and each result has its call before it (conversation/prepare.ts). */
export function writeMessages(turns: readonly Turn[], names: ToolNames): readonly JsonRecord[] {
  return turns.map((turn) =>
    turn.role === 'Assistant'
      ? { role: 'assistant', content: compact(ofAssistant(turn, names)) }
      : { role: 'user', content: compact(turn.parts.flatMap(ofUser)) },
  );
}

/** Undefined: it is empty. */
export function writeSystem(system: readonly TextPart[]): unknown {
  const blocks = system.flatMap(writePart);
  return blocks.length > 0 ? compact(blocks) : undefined;
}

/** A text without a cache mark needs no block. */
function compact(blocks: readonly JsonRecord[]): unknown {
  const [only, another] = blocks;
  const isPlain = another === undefined && only?.['type'] === 'text' && !('cache_control' in only);
  return isPlain ? only['text'] : blocks;
}

function ofUser(part: UserPart): readonly JsonRecord[] {
  return part.type === 'ToolResult' ? [writeResult(part)] : writePart(part);
}

function writeResult({ callId, isError, parts, cache }: ToolResultPart): JsonRecord {
  const blocks = parts.flatMap(writePart);
  const block = {
    type: 'tool_result',
    tool_use_id: idOf(callId),
    content: blocks.length > 0 ? compact(blocks) : '',
    ...(isError && { is_error: true }),
  };
  return withCache(block, cache);
}

function ofAssistant({ parts }: AssistantTurn, names: ToolNames): readonly JsonRecord[] {
  return parts.flatMap((part) => writeOfAssistant(part, names));
}

function writeOfAssistant(part: AssistantPart, names: ToolNames): readonly JsonRecord[] {
  switch (part.type) {
    case 'Text':
    case 'Refusal':
      return textBlocks(part.text, part.cache);
    case 'Reasoning':
      return [thinkingBlock(part)];
    case 'ToolCall':
      return [writeCall(part, names)];
    // images are the user's by now (conversation/prepare.ts)
    case 'Image':
      return [];
  }
}

function writeCall({ id, name, arguments: given, cache }: ToolCallPart, names: ToolNames): JsonRecord {
  return withCache({ type: 'tool_use', id: idOf(id), name: names.send(name), input: argumentsObject(given) }, cache);
}

function idOf(id: string): string {
  return toBoundedToolUseId(id, MAX_ID_LENGTH);
}
