/**
 * Converts what a stream's content blocks hold besides text: tool calls, signatures of thinking, and citations.
 */
import type { AnswerNotes } from '../converter.ts';
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import type { ChunkWriter } from './chunk-writer.ts';
import { convertCitations } from './citations.ts';
import { writeReasoning } from './reasoning.ts';
import { writeCall } from './response.ts';

export interface OpenBlock {
  /** Chunks for its start. */
  begin(): string;
  /** Chunks for a delta, besides its text. */
  add(delta: JsonRecord): string;
  /** Chunks for its end; `contentLength`: of all content so far, in UTF-16 units. */
  end(contentLength: number): string;
}

interface Opening {
  readonly block: JsonRecord;
  /** Index of a tool call or of thinking among its kind; for text, its offset in the content. */
  readonly place: number;
  readonly notes: AnswerNotes | undefined;
  readonly writer: ChunkWriter;
}

/** Undefined: a block of which an OpenAI client gets nothing. */
export function openBlock(type: string, opening: Opening): OpenBlock | undefined {
  switch (type) {
    case 'tool_use': return isText(opening) ? new BufferedToolCall(opening) : new StreamedToolCall(opening);
    case 'thinking':
    case 'redacted_thinking': return new ThinkingBlock(opening);
    case 'text': return new TextBlock(opening);
    default: return undefined;
  }
}

/** A custom tool's text is known only once its JSON is complete; a function_call is sent in one chunk. */
function isText({ block, notes }: Opening): boolean {
  return notes?.legacyFunctions === true || notes?.customTools?.has(stringOf(block['name'])) === true;
}

class StreamedToolCall implements OpenBlock {
  readonly #opening: Opening;
  #written = false;

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  begin(): string {
    const { block, place, notes, writer } = this.#opening;
    return writer.delta({
      tool_calls: [{ index: place, ...writeCall({ id: block['id'], name: stringOf(block['name']), text: '' }, notes) }],
    });
  }

  add(delta: JsonRecord): string {
    const text = delta['type'] === 'input_json_delta' ? textOf(delta['partial_json']) : undefined;
    if (text === undefined) return '';
    this.#written = true;
    return this.#opening.writer.arguments(this.#opening.place, text);
  }

  /**
   * Without deltas the input is the one that the block began with, or an empty object: clients parse the joined
   * arguments.
   */
  end(): string {
    return this.#written ? '' : this.#opening.writer.arguments(this.#opening.place, inputOf(this.#opening.block));
  }
}

class BufferedToolCall implements OpenBlock {
  readonly #opening: Opening;
  #text = '';

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  begin(): string {
    return '';
  }

  add(delta: JsonRecord): string {
    if (delta['type'] === 'input_json_delta') this.#text += stringOf(delta['partial_json']);
    return '';
  }

  end(): string {
    const { block, place, notes, writer } = this.#opening;
    const call = writeCall(
      { id: block['id'], name: stringOf(block['name']), text: this.#text === '' ? inputOf(block) : this.#text }, notes,
    );
    if (notes?.legacyFunctions !== true) return writer.delta({ tool_calls: [{ index: place, ...call }] });
    return place === 0 ? writer.delta(call) : '';
  }
}

/** The text is sent as it comes, and again with its signature, so that the client can return both. */
class ThinkingBlock implements OpenBlock {
  readonly #opening: Opening;
  #thinking: string;
  #signature: string;

  constructor(opening: Opening) {
    this.#opening = opening;
    this.#thinking = stringOf(opening.block['thinking']);
    this.#signature = stringOf(opening.block['signature']);
  }

  begin(): string {
    return '';
  }

  add(delta: JsonRecord): string {
    this.#thinking += stringOf(delta['thinking']);
    this.#signature += stringOf(delta['signature']);
    return '';
  }

  end(): string {
    const { block, place, writer } = this.#opening;
    const detail = writeReasoning({ ...block, thinking: this.#thinking, signature: this.#signature }, place);
    return detail ? writer.delta({ reasoning_details: [detail] }) : '';
  }
}

class TextBlock implements OpenBlock {
  readonly #opening: Opening;
  #citations: unknown[] | undefined;

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  begin(): string {
    return '';
  }

  add(delta: JsonRecord): string {
    if (delta['type'] === 'citations_delta') (this.#citations ??= []).push(delta['citation']);
    return '';
  }

  end(contentLength: number): string {
    const annotations = convertCitations(this.#citations, this.#opening.place, contentLength);
    return annotations.length > 0 ? this.#opening.writer.delta({ annotations }) : '';
  }
}

function inputOf({ input }: JsonRecord): string {
  return isRecord(input) ? writeJson(input) : '{}';
}
