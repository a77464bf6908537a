/**
 * Orders pieces of text, thinking and tool calls as Anthropic's clients require: block indexes are contiguous, one
 * block is open at a time, and each is closed once. The next block closes a text or thinking block. A tool call stays
 * open until the stream ends, because the provider may continue it; pieces of other blocks are queued meanwhile.
 * Methods return the text of the events to send.
 */
import { toToolUseId } from '../tool-ids.ts';

export interface ToolPiece {
  /** The provider's index of the call; undefined: it has none. */
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
  /** Text that is queued. */
  pending: string;
  /** The start of its delta events; undefined: the block is not open yet. */
  delta: string | undefined;
  index: number;
}

export interface BlockOptions {
  /** Prefix of generated ids, for calls without one. */
  readonly idPrefix: string;
  /** The client's name of a tool, by the name that was sent. */
  readonly clientName: (name: string) => string;
}

export class BlockSequence {
  /** The first is open or about to be opened; the others are queued. */
  readonly #segments: Segment[] = [];
  readonly #options: BlockOptions;
  #nextIndex = 0;
  #tools = 0;

  constructor(options: BlockOptions) {
    this.#options = options;
  }

  get calledTools(): boolean {
    return this.#tools > 0;
  }

  /** Adds a piece of text or thinking. */
  addText(kind: 'text' | 'thinking', text: string): string {
    const last = this.#segments.at(-1);
    // the usual case: the block is open
    if (last?.kind === kind && last.delta !== undefined && last.pending === '') return writeDelta(last.delta, text);
    if (last?.kind === kind) last.pending += text;
    else this.#segments.push({ kind, key: undefined, id: '', name: '', pending: text, delta: undefined, index: -1 });
    return this.#drain();
  }

  /** Adds a piece of a tool call: its id and name once, its arguments in pieces. */
  addTool(piece: ToolPiece): string {
    const segment = this.#toolOf(piece);
    const { delta } = segment;
    if (delta !== undefined && segment === this.#segments[0])
      return piece.text === '' ? '' : writeDelta(delta, piece.text);
    if (segment.delta === undefined) {
      segment.id = piece.id ?? segment.id;
      if (segment.name === '') segment.name = piece.name ?? '';
    }
    segment.pending += piece.text;
    return this.#drain();
  }

  /** Writes everything that is queued, and closes every block. */
  close(): string {
    let events = '';
    for (let segment = this.#segments.shift(); segment; segment = this.#segments.shift())
      events += this.#write(segment) + writeStop(segment);
    return events;
  }

  /** The call that a piece belongs to: by its index, unless a new id shows that the provider repeats indexes. */
  #toolOf({ key, id }: ToolPiece): Segment {
    const tools = this.#segments.filter((segment) => segment.kind === 'tool');
    const known =
      key === undefined && id === undefined
        ? tools.at(-1)
        : tools.findLast((segment) => segment.key === key && (key !== undefined || segment.id === id));
    if (known && (id === undefined || known.id === id || known.id.startsWith(this.#options.idPrefix))) return known;
    const segment: Segment = {
      kind: 'tool',
      key,
      id: id ?? `${this.#options.idPrefix}${this.#tools}`,
      name: '',
      pending: '',
      delta: undefined,
      index: -1,
    };
    this.#tools++;
    this.#segments.push(segment);
    return segment;
  }

  /** Writes as much of the queue as one open block at a time allows. */
  #drain(): string {
    let events = '';
    for (let first = this.#segments[0]; first; first = this.#segments[0]) {
      // a call without its name cannot be opened yet
      if (first.kind === 'tool' && first.name === '') break;
      events += this.#write(first);
      if (first.kind === 'tool' || this.#segments.length === 1) break;
      events += writeStop(first);
      this.#segments.shift();
    }
    return events;
  }

  #write(segment: Segment): string {
    const opening = segment.delta === undefined ? this.#open(segment) : '';
    const { delta, pending } = segment;
    segment.pending = '';
    return pending === '' || delta === undefined ? opening : opening + writeDelta(delta, pending);
  }

  #open(segment: Segment): string {
    const index = this.#nextIndex++;
    segment.index = index;
    segment.delta = `${eventStart('content_block_delta', index)},"delta":${DELTAS[segment.kind]}`;
    return `${eventStart('content_block_start', index)},"content_block":${this.#empty(segment)}}\n\n`;
  }

  /** The content_block of a new block. */
  #empty({ kind, id, name }: Segment): string {
    if (kind === 'text') return '{"type":"text","text":""}';
    if (kind === 'thinking') return '{"type":"thinking","thinking":"","signature":""}';
    return JSON.stringify({ type: 'tool_use', id: toToolUseId(id), name: this.#options.clientName(name), input: {} });
  }
}

/** The start of each kind's delta, up to the text. */
const DELTAS: Readonly<Record<Segment['kind'], string>> = {
  text: '{"type":"text_delta","text":',
  thinking: '{"type":"thinking_delta","thinking":',
  tool: '{"type":"input_json_delta","partial_json":',
};

function writeDelta(delta: string, text: string): string {
  return `${delta}${JSON.stringify(text)}}}\n\n`;
}

function writeStop({ index }: Segment): string {
  return `${eventStart('content_block_stop', index)}}\n\n`;
}

function eventStart(type: string, index: number): string {
  return `event: ${type}\ndata: {"type":"${type}","index":${index}`;
}
