/**
 * Puts pieces of text, thinking and tool calls in the order that Anthropic's clients insist on: blocks numbered from 0 without a
 * gap, one open at a time, each closed once. Text and thinking are closed by whatever follows them. A tool call stays open until
 * the end, as its provider may come back to it; what arrives meanwhile for another block waits. Events come out as text.
 */
import { toToolUseId } from '../tool-ids.ts';

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
  /** What its deltas begin with, once its block is open. */
  delta: string | undefined;
  index: number;
}

export interface BlockOptions {
  /** Of ids for calls that their provider gave none. */
  readonly idPrefix: string;
  /** The client's name of a tool that was sent by another. */
  readonly nameOf: (name: string) => string;
}

export class BlockSequence {
  /** The first is open, or about to be; the others wait. */
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

  /** More of the answer's text or thinking. */
  addText(kind: 'text' | 'thinking', text: string): string {
    const last = this.#segments.at(-1);
    // by far the most usual: more of the block that is open
    if (last?.kind === kind && last.delta !== undefined && last.waiting === '') return writeDelta(last.delta, text);
    if (last?.kind === kind) last.waiting += text;
    else this.#segments.push({ kind, key: undefined, id: '', name: '', waiting: text, delta: undefined, index: -1 });
    return this.#drain();
  }

  /** More of a tool call; its id and name may come once, its arguments in any pieces. */
  addTool(piece: ToolPiece): string {
    const segment = this.#toolOf(piece);
    const { delta } = segment;
    if (delta !== undefined && segment === this.#segments[0]) return piece.text === '' ? '' : writeDelta(delta, piece.text);
    if (segment.delta === undefined) {
      segment.id = piece.id ?? segment.id;
      if (segment.name === '') segment.name = piece.name ?? '';
    }
    segment.waiting += piece.text;
    return this.#drain();
  }

  /** Everything that waits, and the end of every block. */
  close(): string {
    let events = '';
    for (let segment = this.#segments.shift(); segment; segment = this.#segments.shift()) events += this.#write(segment) + stop(segment);
    return events;
  }

  /** The call that a piece belongs to: by its number, unless another id shows that the provider numbers badly. */
  #toolOf({ key, id }: ToolPiece): Segment {
    const tools = this.#segments.filter((segment) => segment.kind === 'tool');
    const known = key === undefined && id === undefined ? tools.at(-1) : tools.findLast((segment) => segment.key === key && (key !== undefined || segment.id === id));
    if (known && (id === undefined || known.id === id || known.id.startsWith(this.#options.idPrefix))) return known;
    const segment: Segment = { kind: 'tool', key, id: id ?? `${this.#options.idPrefix}${this.#tools}`, name: '', waiting: '', delta: undefined, index: -1 };
    this.#tools++;
    this.#segments.push(segment);
    return segment;
  }

  /** Sends what can be sent: of the first segment, and of those behind it once it can be closed. */
  #drain(): string {
    let events = '';
    for (let first = this.#segments[0]; first; first = this.#segments[0]) {
      // a call without its name cannot be opened yet
      if (first.kind === 'tool' && first.name === '') break;
      events += this.#write(first);
      if (first.kind === 'tool' || this.#segments.length === 1) break;
      events += stop(first);
      this.#segments.shift();
    }
    return events;
  }

  #write(segment: Segment): string {
    const opening = segment.delta === undefined ? this.#open(segment) : '';
    const { delta, waiting } = segment;
    segment.waiting = '';
    return waiting === '' || delta === undefined ? opening : opening + writeDelta(delta, waiting);
  }

  #open(segment: Segment): string {
    const index = this.#nextIndex++;
    segment.index = index;
    segment.delta = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${DELTAS[segment.kind]}`;
    return `event: content_block_start\ndata: {"type":"content_block_start","index":${index},"content_block":${this.#empty(segment)}}\n\n`;
  }

  /** What a block of each kind is opened with. */
  #empty({ kind, id, name }: Segment): string {
    if (kind === 'text') return '{"type":"text","text":""}';
    if (kind === 'thinking') return '{"type":"thinking","thinking":"","signature":""}';
    return `{"type":"tool_use","id":${JSON.stringify(toToolUseId(id))},"name":${JSON.stringify(this.#options.nameOf(name))},"input":{}}`;
  }
}

/** What a block of each kind grows by, up to its text. */
const DELTAS: Readonly<Record<Segment['kind'], string>> = {
  text: '{"type":"text_delta","text":', thinking: '{"type":"thinking_delta","thinking":', tool: '{"type":"input_json_delta","partial_json":',
};

function writeDelta(delta: string, text: string): string {
  return `${delta}${JSON.stringify(text)}}}\n\n`;
}

function stop({ index }: Segment): string {
  return `event: content_block_stop\ndata: {"type":"content_block_stop","index":${index}}\n\n`;
}
