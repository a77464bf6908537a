/** Reads the calls of an assistant's message. */
import type { AssistantPart, ToolCallPart } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { ReadPlace, UnreadField } from '../../field-table.ts';
import { isRecord, stringOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { checkSize } from '../../json-scan.ts';
import { readExtraSignature } from '../../openai/google-signature.ts';
import { malformed } from '../../unsupported.ts';
import { cacheMark } from '../cache-mark.ts';
import { CUSTOM_CALL, FUNCTION_CALL, TOOL_CALL, TOOLS } from './table.ts';

/** Google's endpoint for clients of OpenAI's puts a call's signature beside it. */
export function readCall(call: JsonRecord, path: string, unread: UnreadField[]): readonly AssistantPart[] {
  const kind = kindOf(TOOLS, call['type'] ?? 'function', { param: `${path}.type`, unread });
  const fields = readFields(TOOL_CALL, call, { param: path, unread });
  const id = stringOf(fields.id);
  if (id === '') throw malformed(`${path}.id`, 'the id of a tool call');
  if (!kind) return [];
  const part =
    kind === 'custom'
      ? readCustomCall(fields.custom, id, { param: `${path}.custom`, unread })
      : readFunctionCall(fields.function, id, { param: `${path}.function`, unread });
  const signature = readExtraSignature(fields.extra_content);
  return [
    ...(signature === undefined
      ? []
      : [{ type: 'Reasoning' as const, text: '', proof: { maker: 'Gemini' as const, signature, callId: id }, path }]),
    { ...part, cache: cacheMark(fields.cache_control) },
  ];
}

/** The arguments are parsed later. Throws RequestFault where they hold more values than a body may. */
export function readFunctionCall(called: unknown, id: string, { param, unread }: ReadPlace): ToolCallPart {
  if (!isRecord(called)) throw malformed(param, 'an object');
  const { name, arguments: given } = readFields(FUNCTION_CALL, called, { param, unread });
  if (isRecord(given)) return { type: 'ToolCall', id, name: stringOf(name), arguments: { value: given }, path: param };
  const text = stringOf(given);
  // to the scan of the body it was a single value
  checkSize(Buffer.from(text));
  return { type: 'ToolCall', id, name: stringOf(name), arguments: { text }, path: param };
}

function readCustomCall(custom: unknown, id: string, { param, unread }: ReadPlace): ToolCallPart {
  if (!isRecord(custom)) throw malformed(param, 'an object');
  const { name, input } = readFields(CUSTOM_CALL, custom, { param, unread });
  const value = { input: stringOf(input) };
  return { type: 'ToolCall', id, name: stringOf(name), arguments: { value }, path: param };
}
