/**
 * Removes thinking that Gemini signed, which Anthropic's models refuse. A conversation contains it if it began on a
 * Gemini channel and continues on an Anthropic one, for example because the first is full.
 */
import { readSignature, SIGNATURE_MARKS } from '../anthropic-gemini/signatures.ts';
import type { Converter, UpstreamBody } from '../converter.ts';
import { isRecord, itemsOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';
import { parseObject, reparseLosslessly, writeJson } from '../json-value.ts';

/** Wraps a conversion so that its requests contain no thinking of Gemini. */
export function withoutForeignThinking(converter: Converter): Converter {
  return { ...converter, request: (body, parsed, plan) => strip(converter.request(body, parsed, plan)) };
}

function strip(sent: UpstreamBody): UpstreamBody {
  const bytes = Buffer.from(sent.body.buffer, sent.body.byteOffset, sent.body.length);
  // most requests need no second pass
  if (!SIGNATURE_MARKS.some((mark) => bytes.includes(mark))) return sent;
  const given = itemsOf(reparseLosslessly(bytes, parseObject(bytes))['messages']).filter(isRecord);
  const messages = given.map(withoutForeign);
  if (messages.every((message, index) => message === given[index])) return sent;
  return { ...sent, body: editObject(bytes, new Map([['messages', writeJson(messages)]])) };
}

/** A turn that is nothing else stays, because Anthropic refuses an empty one as well. */
function withoutForeign(message: JsonRecord): JsonRecord {
  const blocks = itemsOf(message['content']);
  const own = blocks.filter((block) => !isRecord(block) || readSignature(block) === undefined);
  return own.length === blocks.length || own.length === 0 ? message : { ...message, content: own };
}
