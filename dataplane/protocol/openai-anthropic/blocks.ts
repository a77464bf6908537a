/**
 * What an open block of a stream adds to its texts: the call that it is, a thought's signature, citations.
 */
import type { AnswerNotes } from '../converter.ts';
import { isRecord, textOf, wordOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import type { ChunkWriter } from './chunk-writer.ts';
import { convertCitations } from './citations.ts';
import { writeReasoning } from './reasoning.ts';
import { writeCall } from './response.ts';

export interface OpenBlock {
  /** Chunks that go before its texts. */
  begin(): string;
  /** Chunks for a delta, beside its text. */
  take(delta: JsonRecord): string;
  /** Chunks that end it; `contentLength`: of all content so far. */
  end(contentLength: number): string;
}

interface Opening {
  readonly block: JsonRecord;
  /** Of a call among calls, of a thought among thoughts, of a text where it begins. */
  readonly place: number;
  readonly notes: AnswerNotes | undefined;
  readonly writer: ChunkWriter;
}

/** Undefined: a block that an OpenAI client gets nothing of. */
export function openBlock(type: string, opening: Opening): OpenBlock | undefined {
  switch (type) {
    case 'tool_use': return isText(opening) ? new HeldCall(opening) : new OpenCall(opening);
    case 'thinking':
    case 'redacted_thinking': return new OpenThought(opening);
    case 'text': return new OpenText(opening);
    default: return undefined;
  }
}

/** A custom tool's text is only known once the object around it is whole; an older call goes as one. */
function isText({ block, notes }: Opening): boolean {
  return notes?.legacyFunctions === true || notes?.customTools?.has(wordOf(block['name'])) === true;
}

class OpenCall implements OpenBlock {
  readonly #opening: Opening;
  #written = false;

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  begin(): string {
    const { block, place, notes, writer } = this.#opening;
    return writer.delta({ tool_calls: [{ index: place, ...writeCall({ id: block['id'], name: wordOf(block['name']), text: '' }, notes) }] });
  }

  take(delta: JsonRecord): string {
    const text = delta['type'] === 'input_json_delta' ? textOf(delta['partial_json']) : undefined;
    if (text === undefined) return '';
    this.#written = true;
    return this.#opening.writer.arguments(this.#opening.place, text);
  }

  /** Arguments that never came are those that the block began with, or an empty object: OpenAI's clients parse what they joined. */
  end(): string {
    return this.#written ? '' : this.#opening.writer.arguments(this.#opening.place, inputOf(this.#opening.block));
  }
}

class HeldCall implements OpenBlock {
  readonly #opening: Opening;
  #text = '';

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  begin(): string {
    return '';
  }

  take(delta: JsonRecord): string {
    if (delta['type'] === 'input_json_delta') this.#text += wordOf(delta['partial_json']);
    return '';
  }

  end(): string {
    const { block, place, notes, writer } = this.#opening;
    const call = writeCall({ id: block['id'], name: wordOf(block['name']), text: this.#text === '' ? inputOf(block) : this.#text }, notes);
    if (notes?.legacyFunctions !== true) return writer.delta({ tool_calls: [{ index: place, ...call }] });
    return place === 0 ? writer.delta(call) : '';
  }
}

/** Its text goes out as it comes; with the signature it goes once more, as one that can come back. */
class OpenThought implements OpenBlock {
  readonly #opening: Opening;
  #thinking: string;
  #signature: string;

  constructor(opening: Opening) {
    this.#opening = opening;
    this.#thinking = wordOf(opening.block['thinking']);
    this.#signature = wordOf(opening.block['signature']);
  }

  begin(): string {
    return '';
  }

  take(delta: JsonRecord): string {
    this.#thinking += wordOf(delta['thinking']);
    this.#signature += wordOf(delta['signature']);
    return '';
  }

  end(): string {
    const { block, place, writer } = this.#opening;
    const detail = writeReasoning({ ...block, thinking: this.#thinking, signature: this.#signature }, place);
    return detail ? writer.delta({ reasoning_details: [detail] }) : '';
  }
}

class OpenText implements OpenBlock {
  readonly #opening: Opening;
  #citations: unknown[] | undefined;

  constructor(opening: Opening) {
    this.#opening = opening;
  }

  begin(): string {
    return '';
  }

  take(delta: JsonRecord): string {
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
