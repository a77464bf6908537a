/**
 * Converts an answer of Gemini to a message.
 */
import { tallyBlock } from '../anthropic/output.ts';
import { clientToolName, messageId, writeTotals } from '../anthropic-openai/response.ts';
import type { ConversionNotes, ConvertedResponse, ResponseContext } from '../converter.ts';
import { convertedFields } from '../field-table.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { readUsage } from '../gemini/usage.ts';
import { parseLossless, parseObject, writeJson } from '../json-value.ts';
import { OutputTally } from '../output-tally.ts';
import { toToolUseId } from '../tool-ids.ts';
import { fillUsage, meterOf } from '../usage.ts';
import { writeSignature } from './signatures.ts';
import { FAILURES, RESPONSE, STOP_REASONS } from './table.ts';

const UNKNOWN: ResponseContext = { id: '', createdSeconds: 0, estimatedInputTokens: 0 };

/** Throws SyntaxError where the body is no answer of Gemini, or one that ended with a failure. */
export function convertResponse(body: Uint8Array, answer: ResponseContext = UNKNOWN): ConvertedResponse {
  const response = parseObject(body, parseLossless);
  const { usageMetadata } = convertedFields(RESPONSE, response);
  const end = endOf(response);
  if (!end || FAILURES.values.has(end.reason)) throw new SyntaxError('the answer broke off');
  const writer = new BlockWriter(answer.id, answer.notes);
  for (const part of partsOf(response)) writer.add(part);
  const content = writer.blocks;
  const tally = new OutputTally();
  for (const block of content) tallyBlock(tally, block);
  const meter = meterOf(readUsage(usageMetadata), tally.bytes);
  const message = {
    id: messageId(answer.id),
    type: 'message',
    role: 'assistant',
    model: answer.model ?? '',
    content,
    ...writeStop(
      end,
      content.some(({ type }) => type === 'tool_use'),
    ),
    usage: writeTotals(fillUsage(meter, answer.estimatedInputTokens)),
  };
  return { body: Buffer.from(writeJson(message)), meter };
}

/** The parts of the first candidate. */
export function partsOf(response: JsonRecord): readonly JsonRecord[] {
  const content = candidateOf(response)?.['content'];
  return itemsOf(isRecord(content) ? content['parts'] : undefined).filter(isRecord);
}

function candidateOf(response: JsonRecord): JsonRecord | undefined {
  const [first] = itemsOf(convertedFields(RESPONSE, response).candidates);
  return isRecord(first) ? first : undefined;
}

export interface AnswerEnd {
  /** A finishReason, or BLOCKED where the prompt itself was refused. */
  readonly reason: string;
  readonly message: string | undefined;
}

/** Undefined: the answer goes on. */
export function endOf(response: JsonRecord): AnswerEnd | undefined {
  const { finishReason, finishMessage } = candidateOf(response) ?? {};
  const { promptFeedback } = convertedFields(RESPONSE, response);
  if (typeof finishReason === 'string' && finishReason !== '')
    return { reason: finishReason, message: textOf(finishMessage) };
  const blocked = isRecord(promptFeedback) ? textOf(promptFeedback['blockReason']) : undefined;
  if (blocked === undefined) return undefined;
  return { reason: 'BLOCKED', message: `Google's filter refused the prompt (${blocked}).` };
}

/** Gemini stops with STOP for a tool call, too. */
export function writeStop({ reason, message }: AnswerEnd, calledTools: boolean): JsonRecord {
  const stop = STOP_REASONS.values.get(reason) ?? 'end_turn';
  if (stop === 'end_turn' && calledTools) return { stop_reason: 'tool_use', stop_sequence: null };
  if (stop !== 'refusal') return { stop_reason: stop, stop_sequence: null };
  const explanation = message ?? `Google's filter has stopped the answer (${reason}).`;
  return {
    stop_reason: stop,
    stop_sequence: null,
    stop_details: { type: 'refusal', category: null, explanation },
  };
}

const MADE_ID = 'gcall_';
/** Of the request's id: OpenAI takes no ids of more than 40 characters. */
const ID_LENGTH = 24;

/** Whether the gateway has made this id, for a call that Gemini gave none. */
export function isGeneratedCallId(id: string): boolean {
  return id.startsWith(MADE_ID);
}

/** A tool call of an answer, and its names and ids for the client. */
export class CallWriter {
  readonly #requestId: string;
  readonly #notes: ConversionNotes | undefined;
  #count = 0;

  constructor(requestId: string, notes: ConversionNotes | undefined) {
    this.#requestId = requestId;
    this.#notes = notes;
  }

  /** The block. Gemini may leave the id out, and the arguments of a function without any. */
  write({ id: given, name: sent, args }: JsonRecord): JsonRecord & { readonly id: string; readonly name: string } {
    const id = toToolUseId(textOf(given) ?? `${MADE_ID}${this.#requestId.slice(-ID_LENGTH)}_${this.#count}`);
    this.#count++;
    const name = stringOf(sent);
    return {
      type: 'tool_use',
      id,
      name: clientToolName(name, this.#notes),
      input: isRecord(args) ? args : {},
    };
  }
}

/** The blocks of a whole answer. */
class BlockWriter {
  readonly blocks: JsonRecord[] = [];
  readonly #calls: CallWriter;

  constructor(requestId: string, notes: ConversionNotes | undefined) {
    this.#calls = new CallWriter(requestId, notes);
  }

  add({ text, thought, functionCall, thoughtSignature }: JsonRecord): void {
    const signature = textOf(thoughtSignature);
    if (isRecord(functionCall)) {
      const call = this.#calls.write(functionCall);
      if (signature !== undefined) this.#sign(writeSignature(signature, call.id));
      this.blocks.push(call);
    } else if (typeof text === 'string') this.#addText(text, thought === true, signature);
  }

  #addText(text: string, isThought: boolean, signature: string | undefined): void {
    if (!isThought && signature !== undefined) this.#sign(writeSignature(signature));
    if (text !== '')
      this.blocks.push(isThought ? { type: 'thinking', thinking: text, signature: '' } : { type: 'text', text });
  }

  /** Signs the thoughts just before, or else an empty block of them. */
  #sign(signature: string): void {
    const last = this.blocks.at(-1);
    const open = last?.['type'] === 'thinking' && last['signature'] === '' ? this.blocks.pop() : undefined;
    this.blocks.push({ type: 'thinking', thinking: '', ...open, signature });
  }
}
