/**
 * Orders the output of a model into items of the Responses dialect: one is open at a time, and each is done once. The
 * next item closes a message or reasoning. A tool call stays open until the output ends, because the provider may
 * continue it; what comes meanwhile is queued. Methods return the text of the events to send.
 */
import type { ResponseTool } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { openCall } from '../clients/responses/call-item.ts';
import type { CallItem } from '../clients/responses/call-item.ts';
import type { EventWriter } from '../clients/responses/event-writer.ts';
import { MessageItem } from '../clients/responses/message-item.ts';
import type { ItemContext, ItemStatus } from '../clients/responses/output-item.ts';
import { ReasoningItem } from '../clients/responses/reasoning-item.ts';
import { sealThinking } from './sealed-thinking.ts';
import type { SealedThinking } from './sealed-thinking.ts';
import type { ChannelSeal } from '../sealed-values.ts';

export interface CallPiece {
  /** The provider's index of the call; undefined: it has none. */
  readonly key: unknown;
  readonly id: string | undefined;
  /** As it was sent. */
  readonly name: string | undefined;
  readonly text: string;
}

export interface ItemOptions {
  readonly events: EventWriter;
  /** The end of every item's id. */
  readonly idSuffix: string;
  /** The client's tools by their sent names; others are functions of that name. */
  readonly tools: ReadonlyMap<string, ResponseTool> | undefined;
  /** Readable reasoning is sealed too, because the model needs it back. */
  readonly keepsReasoning: boolean;
  readonly seal: ChannelSeal | undefined;
}

type Kind = 'reasoning' | 'message' | 'call';

type Item =
  | { readonly kind: 'reasoning'; readonly writer: ReasoningItem }
  | { readonly kind: 'message'; readonly writer: MessageItem }
  | { readonly kind: 'call'; readonly writer: CallItem };

type Piece =
  | { readonly type: 'text' | 'refusal' | 'reasoning' | 'arguments'; readonly text: string }
  | { readonly type: 'annotation'; readonly annotation: JsonRecord }
  | { readonly type: 'thinking'; readonly thinking: SealedThinking };

interface Queued {
  readonly kind: Kind;
  readonly key: unknown;
  id: string | undefined;
  name: string;
  item: Item | undefined;
  pending: Piece[];
}

const PREFIXES: Readonly<Record<Kind, string>> = { reasoning: 'rs', message: 'msg', call: 'fc' };
const CALL_PREFIXES: Readonly<Record<ResponseTool['kind'], string>> = { Function: 'fc', Custom: 'ctc', Search: 'tsc' };

export class ItemSequence {
  readonly #options: ItemOptions;
  /** The first is open or about to be opened; the others wait. */
  readonly #queue: Queued[] = [];
  /** The JSON of the items that are done. */
  readonly #done: string[] = [];
  #items = 0;
  #calls = 0;

  constructor(options: ItemOptions) {
    this.#options = options;
  }

  /** The items that are done, as JSON. */
  get json(): string {
    return `[${this.#done.join(',')}]`;
  }

  /** UTF-16 units of the text in the message that is open. */
  get textLength(): number {
    const item = this.#queue.at(-1)?.item;
    return item?.kind === 'message' ? item.writer.textLength : 0;
  }

  addReasoning(text: string): string {
    return this.#addTo('reasoning', { type: 'reasoning', text });
  }

  /** The end of a thinking block, which the provider signed; its item is complete. */
  addThinking(thinking: SealedThinking): string {
    return this.#addTo('reasoning', { type: 'thinking', thinking }) + this.endItem();
  }

  addText(text: string): string {
    const item = this.#queue.length === 1 ? this.#queue[0]?.item : undefined;
    // the usual case: a message is open
    return item?.kind === 'message' ? item.writer.add('text', text) : this.#addTo('message', { type: 'text', text });
  }

  addRefusal(text: string): string {
    return this.#addTo('message', { type: 'refusal', text });
  }

  addAnnotation(annotation: JsonRecord): string {
    return this.#addTo('message', { type: 'annotation', annotation });
  }

  /** Adds a piece of a call: its id and name once, its arguments in pieces. */
  addCall({ key, id, name, text }: CallPiece): string {
    const queued = this.#callOf(key, id);
    if (!queued.item) {
      queued.id ??= id;
      if (queued.name === '') queued.name = name ?? '';
    }
    if (text !== '') queued.pending.push({ type: 'arguments', text });
    return this.#drain();
  }

  /** Closes the item that was added last, where no other waits before it. */
  endItem(): string {
    const [only] = this.#queue;
    if (this.#queue.length !== 1 || !only) return '';
    this.#queue.shift();
    return this.#write(only) + this.#close(only, 'completed');
  }

  /** Writes everything that is queued, and closes every item; `status` is the last one's. */
  close(status: ItemStatus): string {
    let events = '';
    for (let queued = this.#queue.shift(); queued; queued = this.#queue.shift())
      events += this.#write(queued) + this.#close(queued, this.#queue.length === 0 ? status : 'completed');
    return events;
  }

  #addTo(kind: Exclude<Kind, 'call'>, piece: Piece): string {
    const last = this.#queue.at(-1);
    if (last?.kind === kind) last.pending.push(piece);
    else this.#queue.push({ kind, key: undefined, id: undefined, name: '', item: undefined, pending: [piece] });
    return this.#drain();
  }

  /** The call that a piece belongs to: by its index, unless a new id shows that the provider repeats indexes. */
  #callOf(key: unknown, id: string | undefined): Queued {
    const calls = this.#queue.filter(({ kind }) => kind === 'call');
    const known =
      key === undefined && id === undefined
        ? calls.at(-1)
        : calls.findLast((call) => call.key === key && (key !== undefined || call.id === id));
    if (known && (id === undefined || known.id === undefined || known.id === id)) return known;
    const queued: Queued = { kind: 'call', key, id, name: '', item: undefined, pending: [] };
    this.#queue.push(queued);
    return queued;
  }

  /** Writes as much of the queue as one open item at a time allows. */
  #drain(): string {
    let events = '';
    for (let first = this.#queue[0]; first; first = this.#queue[0]) {
      // a call without its name cannot be opened yet
      if (first.kind === 'call' && first.name === '') break;
      events += this.#write(first);
      if (first.kind === 'call' || this.#queue.length === 1) break;
      this.#queue.shift();
      events += this.#close(first, 'completed');
    }
    return events;
  }

  #write(queued: Queued): string {
    let events = '';
    if (!queued.item) {
      queued.item = this.#open(queued);
      events += queued.item.writer.open();
    }
    for (const piece of queued.pending) events += this.#writePiece(queued.item, piece);
    queued.pending = [];
    return events;
  }

  #writePiece(item: Item, piece: Piece): string {
    switch (item.kind) {
      case 'call':
        return piece.type === 'arguments' ? item.writer.add(piece.text) : '';
      case 'message':
        if (piece.type === 'annotation') return item.writer.annotate(piece.annotation);
        return piece.type === 'text' || piece.type === 'refusal' ? item.writer.add(piece.type, piece.text) : '';
      case 'reasoning':
        if (piece.type === 'thinking') return this.#seal(item.writer, piece.thinking);
        return piece.type === 'reasoning' ? item.writer.add(piece.text) : '';
    }
  }

  #seal(item: ReasoningItem, thinking: SealedThinking): string {
    const { seal } = this.#options;
    const sealed = seal && sealThinking(seal, thinking);
    if (thinking.type !== 'reasoning') item.prove(sealed);
    else if (sealed !== undefined) item.keep(sealed);
    return '';
  }

  #close({ item }: Queued, status: ItemStatus): string {
    if (!item) return '';
    const { keepsReasoning } = this.#options;
    if (item.kind === 'reasoning' && keepsReasoning && item.writer.text !== '')
      this.#seal(item.writer, { type: 'reasoning', text: item.writer.text });
    const events = item.writer.close(status);
    this.#done.push(item.writer.json);
    return events;
  }

  #open({ kind, id, name }: Queued): Item {
    const { events, idSuffix, tools } = this.#options;
    const index = this.#items++;
    const context = (prefix: string): ItemContext => ({ events, id: `${prefix}_${idSuffix}_${index}`, index });
    switch (kind) {
      case 'reasoning':
        return { kind, writer: new ReasoningItem(context(PREFIXES.reasoning)) };
      case 'message':
        return { kind, writer: new MessageItem(context(PREFIXES.message)) };
      case 'call': {
        const tool = tools?.get(name) ?? { kind: 'Function', name };
        const callId = id ?? `call_${idSuffix}_${this.#calls}`;
        this.#calls++;
        return { kind, writer: openCall(context(CALL_PREFIXES[tool.kind]), { callId, tool }) };
      }
    }
  }
}
