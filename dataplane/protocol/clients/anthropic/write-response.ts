/** Writes a message, and the parts that whole messages and streams have in common. */
import { thinkingBlock } from '../../anthropic/thinking-blocks.ts';
import type { ConversionNotes, ReportedUsage } from '../../converter.ts';
import { parseArguments } from '../../conversation/arguments.ts';
import type { FinishReason } from '../../conversation/events.ts';
import type { Candidate, ConversationResponse, ResponsePart } from '../../conversation/response.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { toToolUseId } from '../../tool-ids.ts';
import type { ResponseWriteContext } from '../client.ts';
import { STOP_REASONS } from './table.ts';

export function writeResponse(
  { model, candidates: [first] }: ConversationResponse,
  usage: ReportedUsage,
  context: ResponseWriteContext,
): Uint8Array {
  const message = {
    ...messageHead({ id: context.id, model: context.model === '' ? (model ?? '') : context.model }),
    content: shownParts(first?.parts ?? [], context.notes).flatMap(writePart),
    ...writeStop(first?.finish),
    usage: writeUsage(usage),
  };
  return Buffer.from(writeJson(message));
}

function shownParts(parts: readonly ResponsePart[], notes: ConversionNotes | undefined): readonly ResponsePart[] {
  return notes?.hidesProofs === true ? proofsBeforeCalls(parts) : endWithText(parts);
}

/** Reasoning without a text stays only directly before the call that it led to, and texts around it are one. */
function proofsBeforeCalls(parts: readonly ResponsePart[]): readonly ResponsePart[] {
  const shown: ResponsePart[] = [];
  const held: ResponsePart[] = [];
  for (const part of parts) {
    if (part.type === 'Reasoning' && part.text === '') held.push(part);
    else if (part.type === 'ToolCall') shown.push(...held.splice(0), part);
    else {
      const last = shown.at(-1);
      const isOne = part.type === 'Text' && last?.type === 'Text';
      shown.splice(isOne ? -1 : shown.length, 1, isOne ? { ...part, text: last.text + part.text } : part);
    }
  }
  return shown;
}

/** Claude Code prints nothing of a message that ends with thinking: the proof of a last text is left out. */
function endWithText(parts: readonly ResponsePart[]): readonly ResponsePart[] {
  const [text, last] = parts.slice(-2);
  return text?.type === 'Text' && last?.type === 'Reasoning' && last.text === '' ? parts.slice(0, -1) : parts;
}

/**
 * The members that a message begins with, whole or in a stream. The model is as the client named it: Claude Code keeps
 * no thinking of a model that it has not asked for.
 */
export function messageHead({ id, model }: { readonly id: string; readonly model: string }): JsonRecord {
  return { id: `msg_${id.replace(/^(?:chatcmpl|msg)[-_]/, '')}`, type: 'message', role: 'assistant', model };
}

function writePart(part: ResponsePart): readonly JsonRecord[] {
  switch (part.type) {
    case 'Text':
    case 'Refusal':
      return [{ type: 'text', text: part.text }];
    case 'Reasoning':
      return [thinkingBlock(part)];
    case 'ToolCall':
      return [{ ...callHead(part), input: parseArguments(part.arguments) ?? {} }];
    // messages have no images of the assistant
    case 'Image':
      return [];
  }
}

/** A call without its arguments. */
export function callHead({ id, name }: { readonly id: string; readonly name: string }): JsonRecord {
  return { type: 'tool_use', id: toToolUseId(id), name };
}

interface Finish {
  readonly reason: FinishReason;
  readonly detail: string | undefined;
}

/** A response that the provider did not end counts as ended. */
export function writeStop(finish: Candidate['finish']): JsonRecord {
  const { reason, detail }: Finish = finish ?? { reason: 'Stop', detail: undefined };
  return {
    stop_reason: STOP_REASONS.values.get(reason),
    stop_sequence: reason === 'StopSequence' ? (detail ?? null) : null,
    ...(reason === 'Refusal' && {
      stop_details: { type: 'refusal', category: null, explanation: detail ?? null },
    }),
  };
}

/** Tiers that the protocol has a name for. */
const TIERS: ReadonlySet<string | undefined> = new Set(['standard', 'priority']);

/** Input excludes tokens that were read from and written to the cache. */
export function writeUsage(usage: ReportedUsage): JsonRecord {
  const { input, cached, cacheWrite5m, cacheWrite1h, output, details, serviceTier } = usage;
  const reasoning = details?.reasoning;
  return {
    input_tokens: input ?? 0,
    cache_creation_input_tokens: (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0),
    cache_read_input_tokens: cached ?? 0,
    output_tokens: output ?? 0,
    ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
    ...(TIERS.has(serviceTier) && { service_tier: serviceTier }),
  };
}
