/**
 * The blocks of one stream. Converse starts only the blocks of tool calls; those of text and reasoning begin with their
 * first piece. Anthropic's clients expect one open block at a time, with indexes that have no gaps.
 */
import { writeMessageEvent } from '../anthropic/write-event.ts';
import { clientToolName } from '../anthropic-openai/response.ts';
import type { ConversionNotes } from '../converter.ts';
import { isRecord, stringOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { OutputTally } from '../output-tally.ts';
import { toToolUseId } from '../tool-ids.ts';

type Kind = 'text' | 'thinking' | 'redacted_thinking' | 'tool_use';

interface OpenBlock {
  readonly kind: Kind;
  /** The provider's index. */
  readonly source: unknown;
  readonly index: number;
}

interface Piece {
  readonly kind: Kind;
  readonly delta: JsonRecord;
}

const NONE: readonly Uint8Array[] = [];
const EMPTY: Readonly<Record<Exclude<Kind, 'tool_use'>, JsonRecord>> = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
  redacted_thinking: { type: 'redacted_thinking', data: '' },
};

/** Methods return the events to send. */
export class StreamBlocks {
  readonly #tally: OutputTally;
  readonly #notes: ConversionNotes | undefined;
  #open: OpenBlock | undefined;
  #count = 0;

  constructor(tally: OutputTally, notes: ConversionNotes | undefined) {
    this.#tally = tally;
    this.#notes = notes;
  }

  /** Only the start of a tool call has content. */
  start({ start, contentBlockIndex }: JsonRecord): readonly Uint8Array[] {
    const toolUse = isRecord(start) ? start['toolUse'] : undefined;
    if (!isRecord(toolUse)) return NONE;
    const name = stringOf(toolUse['name']);
    this.#tally.add(name);
    return this.#begin('tool_use', contentBlockIndex, {
      type: 'tool_use',
      id: toToolUseId(stringOf(toolUse['toolUseId'])),
      name: clientToolName(name, this.#notes),
      input: {},
    });
  }

  add({ delta, contentBlockIndex }: JsonRecord): readonly Uint8Array[] {
    const piece = isRecord(delta) ? pieceOf(delta) : undefined;
    if (!piece) return NONE;
    const { kind } = piece;
    this.#tallyPiece(piece);
    const opening = this.#isOpen(kind, contentBlockIndex) ? NONE : this.#beginWith(piece, contentBlockIndex);
    // redacted reasoning is complete in its start; input without a call is ignored
    if (!this.#open || kind === 'redacted_thinking' || !this.#isOpen(kind, contentBlockIndex)) return opening;
    return [...opening, writeMessageEvent('content_block_delta', { index: this.#open.index, delta: piece.delta })];
  }

  stop(source: unknown): readonly Uint8Array[] {
    return this.#open?.source === source ? this.close() : NONE;
  }

  /** Closes the open block. */
  close(): readonly Uint8Array[] {
    if (!this.#open) return NONE;
    const { index } = this.#open;
    this.#open = undefined;
    return [writeMessageEvent('content_block_stop', { index })];
  }

  #isOpen(kind: Kind, source: unknown): boolean {
    return this.#open?.kind === kind && this.#open.source === source;
  }

  #beginWith({ kind, delta }: Piece, source: unknown): readonly Uint8Array[] {
    if (kind === 'tool_use') return NONE;
    return this.#begin(kind, source, kind === 'redacted_thinking' ? delta : EMPTY[kind]);
  }

  #begin(kind: Kind, source: unknown, block: JsonRecord): readonly Uint8Array[] {
    const closing = this.close();
    const index = this.#count++;
    this.#open = { kind, source, index };
    return [...closing, writeMessageEvent('content_block_start', { index, content_block: block })];
  }

  /** Signatures do not count: the model does not generate them. */
  #tallyPiece({ delta: { text, thinking, partial_json: json } }: Piece): void {
    for (const value of [text, thinking, json]) this.#tally.add(value);
  }
}

function pieceOf({ text, toolUse, reasoningContent }: JsonRecord): Piece | undefined {
  if (typeof text === 'string') return { kind: 'text', delta: { type: 'text_delta', text } };
  if (isRecord(toolUse))
    return { kind: 'tool_use', delta: { type: 'input_json_delta', partial_json: stringOf(toolUse['input']) } };
  return isRecord(reasoningContent) ? reasoningPiece(reasoningContent) : undefined;
}

function reasoningPiece({ text, signature, redactedContent }: JsonRecord): Piece | undefined {
  if (typeof redactedContent === 'string')
    return { kind: 'redacted_thinking', delta: { type: 'redacted_thinking', data: redactedContent } };
  if (typeof signature === 'string') return { kind: 'thinking', delta: { type: 'signature_delta', signature } };
  return typeof text === 'string' ? { kind: 'thinking', delta: { type: 'thinking_delta', thinking: text } } : undefined;
}
