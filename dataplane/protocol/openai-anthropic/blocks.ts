/**
 * Converts a stream's content blocks other than plain text: tool calls, signatures of thinking, and citations.
 */
import type { ConversionNotes } from '../converter.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import type { ChunkWriter } from './chunk-writer.ts';
import { convertCitations } from './citations.ts';
import { writeReasoning } from './reasoning.ts';
import { writeCall } from './response.ts';

export interface OpenBlock {
  /** Chunks for its start. */
  start(): string;
  /** Chunks for a delta, besides its text. */
  add(delta: JsonRecord): string;
  /** Chunks for its end; `contentLength`: of all content so far, in UTF-16 units. */
  stop(contentLength: number): string;
}

interface BlockContext {
  readonly block: JsonRecord;
  /** Index of a tool call or of thinking among its kind; for text, its offset in the content. */
  readonly position: number;
  readonly notes: ConversionNotes | undefined;
  readonly writer: ChunkWriter;
}

/** Undefined: a block without a counterpart. */
export function openBlock(type: string, context: BlockContext): OpenBlock | undefined {
  switch (type) {
    case 'tool_use':
      return isBuffered(context) ? new BufferedToolCall(context) : new StreamedToolCall(context);
    case 'thinking':
    case 'redacted_thinking':
      return new ThinkingBlock(context);
    case 'text':
      return new TextBlock(context);
    default:
      return undefined;
  }
}

/** A custom tool's text is known only once its JSON is complete; a function_call is sent in one chunk. */
function isBuffered({ block, notes }: BlockContext): boolean {
  return notes?.legacyFunctions === true || notes?.customTools?.has(stringOf(block['name'])) === true;
}

class StreamedToolCall implements OpenBlock {
  readonly #context: BlockContext;
  #written = false;

  constructor(context: BlockContext) {
    this.#context = context;
  }

  start(): string {
    const { block, position, notes, writer } = this.#context;
    return writer.delta({
      tool_calls: [
        {
          index: position,
          ...writeCall({ id: block['id'], name: stringOf(block['name']), text: '' }, notes),
        },
      ],
    });
  }

  add(delta: JsonRecord): string {
    const text = delta['type'] === 'input_json_delta' ? textOf(delta['partial_json']) : undefined;
    if (text === undefined) return '';
    this.#written = true;
    return this.#context.writer.arguments(this.#context.position, text);
  }

  /**
   * Without deltas the input is the one that the block began with, or an empty object: clients parse the joined
   * arguments.
   */
  stop(): string {
    return this.#written ? '' : this.#context.writer.arguments(this.#context.position, inputOf(this.#context.block));
  }
}

class BufferedToolCall implements OpenBlock {
  readonly #context: BlockContext;
  #text = '';

  constructor(context: BlockContext) {
    this.#context = context;
  }

  start(): string {
    return '';
  }

  add(delta: JsonRecord): string {
    if (delta['type'] === 'input_json_delta') this.#text += stringOf(delta['partial_json']);
    return '';
  }

  stop(): string {
    const { block, position, notes, writer } = this.#context;
    const call = writeCall(
      { id: block['id'], name: stringOf(block['name']), text: this.#text === '' ? inputOf(block) : this.#text },
      notes,
    );
    if (notes?.legacyFunctions !== true) return writer.delta({ tool_calls: [{ index: position, ...call }] });
    return position === 0 ? writer.delta(call) : '';
  }
}

/** The text is sent as it comes, and again with its signature, so that the client can return both. */
class ThinkingBlock implements OpenBlock {
  readonly #context: BlockContext;
  #thinking: string;
  #signature: string;

  constructor(context: BlockContext) {
    this.#context = context;
    this.#thinking = stringOf(context.block['thinking']);
    this.#signature = stringOf(context.block['signature']);
  }

  start(): string {
    return '';
  }

  add(delta: JsonRecord): string {
    this.#thinking += stringOf(delta['thinking']);
    this.#signature += stringOf(delta['signature']);
    return '';
  }

  stop(): string {
    const { block, position, writer } = this.#context;
    const detail = writeReasoning({ ...block, thinking: this.#thinking, signature: this.#signature }, position);
    return detail ? writer.delta({ reasoning_details: [detail] }) : '';
  }
}

class TextBlock implements OpenBlock {
  readonly #context: BlockContext;
  #citations: unknown[] | undefined;

  constructor(context: BlockContext) {
    this.#context = context;
  }

  start(): string {
    return '';
  }

  add(delta: JsonRecord): string {
    if (delta['type'] === 'citations_delta') (this.#citations ??= []).push(delta['citation']);
    return '';
  }

  stop(contentLength: number): string {
    const annotations = convertCitations(this.#citations, this.#context.position, contentLength);
    return annotations.length > 0 ? this.#context.writer.delta({ annotations }) : '';
  }
}

function inputOf({ input }: JsonRecord): string {
  return isRecord(input) ? writeJson(input) : '{}';
}
