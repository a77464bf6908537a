/**
 * Converts a request in the Responses dialect to a messages request, by way of a chat completion request, which is
 * never sent. Errors and the fields that are left out are named as the client wrote them.
 */
import { RequestFault } from '../call-facts.ts';
import { DEFAULT_CAPABILITIES } from '../capabilities.ts';
import { openaiChatClient } from '../clients/openai-chat/client.ts';
import type { ProofMaker } from '../conversation/reasoning.ts';
import { conversion } from '../conversion.ts';
import type { Converter, UpstreamBody } from '../converter.ts';
import { DroppedFields } from '../dropped-fields.ts';
import { itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseObject, writeJson } from '../json-value.ts';
import { messagesWith } from '../providers/anthropic/chat.ts';
import { convertToChat } from '../responses-openai/request.ts';
import type { ChatRequest } from '../responses-openai/request.ts';

/** The client's fields, by the fields of chat completions that are made from them. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['reasoning_effort', 'reasoning.effort'],
  ['response_format', 'text.format'],
  ['messages', 'input'],
  ['response_format.type', 'text.format.type'],
  ['response_format.json_schema.schema', 'text.format.schema'],
  ['max_tokens', 'max_output_tokens'],
]);
const MESSAGE = /^messages\[(\d+)\](.*)$/;
const TOOL = /^tools\[(\d+)\](?:\.function)?(.*)$/;

/** `proofs`: whose reasoning the messages have. */
export function requestConverter(proofs: readonly ProofMaker[]): Converter['request'] {
  const second = conversion(openaiChatClient, messagesWith(proofs));
  return (body, parsed, plan) => {
    const dropped = new DroppedFields();
    // the second half of the conversion decides what the model accepts
    const chat = convertToChat(body, parsed, {
      upstream: 'Anthropic',
      plan,
      dropped,
      capabilities: DEFAULT_CAPABILITIES,
    });
    const completion = Buffer.from(writeJson(chat.completion));
    const { scanned: _ofTheClient, ...rest } = plan;
    const sent = inClientsWords(chat, () => second.request(completion, parseObject(completion), rest));
    for (const param of sent.dropped ?? []) dropped.add(clientParam(chat, param));
    return { ...sent, notes: { ...sent.notes, ...chat.notes }, dropped: dropped.params };
  };
}

function inClientsWords(chat: ChatRequest, convert: () => UpstreamBody): UpstreamBody {
  try {
    return convert();
  } catch (error) {
    if (!(error instanceof RequestFault) || error.param === undefined) throw error;
    const param = clientParam(chat, error.param);
    throw new RequestFault(error.code, error.message.replace(`"${error.param}"`, `"${param}"`), param);
  }
}

/** The path of the client's field that became this one. */
function clientParam({ completion, messageParams, toolParams }: ChatRequest, param: string): string {
  const [, message, inMessage = ''] = MESSAGE.exec(param) ?? [];
  if (message !== undefined) {
    const index = Number(message);
    return (messageParams[index] ?? 'input') + itemPath(inMessage, roleOf(completion, index) === 'tool');
  }
  const [, tool, inTool = ''] = TOOL.exec(param) ?? [];
  return tool === undefined ? (FIELDS.get(param) ?? param) : (toolParams[Number(tool)] ?? 'tools') + inTool;
}

/** Calls and outputs are items of their own, and parts do not nest. */
function itemPath(path: string, isOutput: boolean): string {
  if (path.startsWith('.tool_calls')) return '';
  const flat = path.replace(/\.file(?:\.file_data)?$/, '.file_data').replace('.image_url.url', '.image_url');
  return isOutput ? flat.replace(/^\.content/, '.output') : flat;
}

function roleOf({ messages }: JsonRecord, index: number): unknown {
  const message: unknown = itemsOf(messages)[index];
  return typeof message === 'object' && message !== null && 'role' in message ? message.role : undefined;
}
