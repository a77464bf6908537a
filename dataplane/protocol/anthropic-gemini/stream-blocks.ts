/**
 * The blocks of one stream. Gemini sends parts without any beginning or end: a part of another kind ends the block
 * before. A tool call comes whole.
 */
import { writeMessageEvent } from '../anthropic/write-event.ts';
import type { StreamRequest } from '../converter.ts';
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import type { OutputTally } from '../output-tally.ts';
import { CallWriter } from './response.ts';
import { writeSignature } from './signatures.ts';

type Kind = 'text' | 'thinking';

const NONE: readonly Uint8Array[] = [];
const EMPTY: Readonly<Record<Kind, JsonRecord>> = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
};

/** Methods return the events to send. */
export class StreamBlocks {
  readonly #tally: OutputTally;
  readonly #calls: CallWriter;
  #open: Kind | undefined;
  #index = -1;
  #calledTools = false;

  constructor(tally: OutputTally, { id, notes }: Pick<StreamRequest, 'id' | 'notes'>) {
    this.#tally = tally;
    this.#calls = new CallWriter(id, notes);
  }

  get calledTools(): boolean {
    return this.#calledTools;
  }

  add({ text, thought, functionCall, thoughtSignature }: JsonRecord): readonly Uint8Array[] {
    const signature = textOf(thoughtSignature);
    if (isRecord(functionCall)) return this.#addCall(functionCall, signature);
    if (typeof text !== 'string') return NONE;
    if (thought === true) return this.#addText('thinking', text);
    const words = this.#addText('text', text);
    return signature === undefined ? words : [...words, ...this.#sign(writeSignature(signature))];
  }

  /** Closes the open block. */
  close(): readonly Uint8Array[] {
    if (this.#open === undefined) return NONE;
    this.#open = undefined;
    return [this.#event('content_block_stop', {})];
  }

  #addText(kind: Kind, text: string): readonly Uint8Array[] {
    if (text === '') return NONE;
    this.#tally.add(text);
    const opening = this.#open === kind ? NONE : this.#begin(kind, EMPTY[kind]);
    const delta = kind === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };
    return [...opening, this.#event('content_block_delta', { delta })];
  }

  #addCall(functionCall: JsonRecord, signature: string | undefined): readonly Uint8Array[] {
    const { input, ...call } = this.#calls.write(functionCall);
    const json = writeJson(input);
    this.#calledTools = true;
    this.#tally.add(call.name);
    this.#tally.add(json);
    const signing = signature === undefined ? NONE : this.#sign(writeSignature(signature, call.id));
    return [
      ...signing,
      ...this.close(),
      ...this.#start({ ...call, input: {} }),
      this.#event('content_block_delta', { delta: { type: 'input_json_delta', partial_json: json } }),
      this.#event('content_block_stop', {}),
    ];
  }

  /** Signs the thoughts that are open, or else an empty block of them. */
  #sign(signature: string): readonly Uint8Array[] {
    const opening = this.#open === 'thinking' ? NONE : this.#begin('thinking', EMPTY.thinking);
    const delta = { type: 'signature_delta', signature };
    return [...opening, this.#event('content_block_delta', { delta }), ...this.close()];
  }

  #begin(kind: Kind, block: JsonRecord): readonly Uint8Array[] {
    const events = [...this.close(), ...this.#start(block)];
    this.#open = kind;
    return events;
  }

  #start(block: JsonRecord): readonly Uint8Array[] {
    this.#index++;
    return [this.#event('content_block_start', { content_block: block })];
  }

  #event(type: string, rest: JsonRecord): Uint8Array {
    return writeMessageEvent(type, { index: this.#index, ...rest });
  }
}
