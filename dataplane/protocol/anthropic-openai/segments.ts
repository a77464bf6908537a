/**
 * Puts pieces of text, thinking and tool calls in the order that Anthropic's clients insist on: blocks numbered from 0 without a
 * gap, one open at a time, each closed once. Text and thinking are closed by whatever follows them. A tool call stays open until
 * the end, as its provider may come back to it; what arrives meanwhile for another block waits.
 */
import { writeMessageEvent } from '../anthropic/events.ts';
import type { JsonRecord } from '../fields.ts';

export interface ToolPiece {
  /** The provider's own number of the call; undefined: it has none. */
  readonly key: unknown;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly text: string;
}

interface Segment {
  readonly kind: 'text' | 'thinking' | 'tool';
  readonly key: unknown;
  id: string;
  name: string;
  /** Not sent yet. */
  waiting: string;
  /** Its block's number, once it is open. */
  index: number | undefined;
}

export class BlockSequence {
  /** The first is open, or about to be; the others wait. */
  readonly #segments: Segment[] = [];
  readonly #idPrefix: string;
  #nextIndex = 0;
  #tools = 0;

  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix;
  }

  get calledTools(): boolean {
    return this.#tools > 0;
  }

  /** More of the answer's text or thinking. */
  addText(kind: 'text' | 'thinking', text: string): Uint8Array[] {
    const last = this.#segments.at(-1);
    if (last?.kind === kind) last.waiting += text;
    else this.#segments.push({ kind, key: undefined, id: '', name: '', waiting: text, index: undefined });
    return this.#drain();
  }

  /** More of a tool call; its id and name may come once, its arguments in any pieces. */
  addTool(piece: ToolPiece): Uint8Array[] {
    const segment = this.#toolOf(piece);
    if (segment.index === undefined) {
      segment.id = piece.id ?? segment.id;
      if (segment.name === '') segment.name = piece.name ?? '';
    }
    segment.waiting += piece.text;
    return this.#drain();
  }

  /** Everything that waits, and the end of every block. */
  close(): Uint8Array[] {
    const events: Uint8Array[] = [];
    for (let segment = this.#segments.shift(); segment; segment = this.#segments.shift()) events.push(...this.#write(segment), this.#stop(segment));
    return events;
  }

  /** The call that a piece belongs to: by its number, unless another id shows that the provider numbers badly. */
  #toolOf({ key, id }: ToolPiece): Segment {
    const tools = this.#segments.filter((segment) => segment.kind === 'tool');
    const known = key === undefined && id === undefined ? tools.at(-1) : tools.findLast((segment) => segment.key === key && (key !== undefined || segment.id === id));
    if (known && (id === undefined || known.id === id || known.id.startsWith(this.#idPrefix))) return known;
    const segment: Segment = { kind: 'tool', key, id: id ?? `${this.#idPrefix}${this.#tools}`, name: '', waiting: '', index: undefined };
    this.#tools++;
    this.#segments.push(segment);
    return segment;
  }

  /** Sends what can be sent: of the first segment, and of those behind it once it can be closed. */
  #drain(): Uint8Array[] {
    const events: Uint8Array[] = [];
    for (let first = this.#segments[0]; first; first = this.#segments[0]) {
      // a call without its name cannot be opened yet
      if (first.kind === 'tool' && first.name === '') break;
      events.push(...this.#write(first));
      if (first.kind === 'tool' || this.#segments.length === 1) break;
      events.push(this.#stop(first));
      this.#segments.shift();
    }
    return events;
  }

  #write(segment: Segment): Uint8Array[] {
    const events: Uint8Array[] = [];
    if (segment.index === undefined) {
      segment.index = this.#nextIndex++;
      events.push(writeMessageEvent('content_block_start', { index: segment.index, content_block: BLOCKS[segment.kind].empty(segment) }));
    }
    if (segment.waiting !== '') events.push(writeMessageEvent('content_block_delta', { index: segment.index, delta: BLOCKS[segment.kind].delta(segment.waiting) }));
    segment.waiting = '';
    return events;
  }

  #stop(segment: Segment): Uint8Array {
    return writeMessageEvent('content_block_stop', { index: segment.index });
  }
}

/** What a block of each kind is opened with, and what it grows by. */
const BLOCKS: Readonly<Record<Segment['kind'], { readonly empty: (segment: Segment) => JsonRecord; readonly delta: (text: string) => JsonRecord }>> = {
  text: { empty: () => ({ type: 'text', text: '' }), delta: (text) => ({ type: 'text_delta', text }) },
  thinking: { empty: () => ({ type: 'thinking', thinking: '', signature: '' }), delta: (thinking) => ({ type: 'thinking_delta', thinking }) },
  tool: { empty: ({ id, name }) => ({ type: 'tool_use', id, name, input: {} }), delta: (text) => ({ type: 'input_json_delta', partial_json: text }) },
};
