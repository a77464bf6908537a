/**
 * Writes the content of a response as output items: one is open at a time, and each is done once. The events of an item
 * come back as text; the items that are done are kept for the whole response.
 */
import type { ConversionNotes } from '../../converter.ts';
import type {
  CallDelta,
  CallEnd,
  CallStart,
  CitationEvent,
  ConversationEvent,
  FinishEvent,
  LogProbabilitiesEvent,
  TokenProbability,
} from '../../conversation/events.ts';
import type { ReasoningProof } from '../../conversation/reasoning.ts';
import { sealReasoning } from '../../conversation/sealed-reasoning.ts';
import type { ChannelSeal } from '../../sealed-values.ts';
import { hasWebAddress } from '../citations.ts';
import { writeTokens } from '../token-probabilities.ts';
import { isCall, openCall } from './call-item.ts';
import type { EventWriter } from './event-writer.ts';
import { ImageItem } from './image-item.ts';
import { MessageItem } from './message-item.ts';
import type { ItemContext, ItemStatus, OutputItem } from './output-item.ts';
import { ReasoningItem } from './reasoning-item.ts';
import { INCOMPLETE } from './table.ts';

export interface ItemsContext {
  readonly events: EventWriter;
  /** The end of every item's id. */
  readonly idSuffix: string;
  readonly notes: ConversionNotes | undefined;
  readonly seal: ChannelSeal | undefined;
}

export type ContentEvent = Exclude<ConversationEvent, { readonly type: 'start' | 'error' | 'ping' }>;

const CALL_PREFIXES = { Function: 'fc', Custom: 'ctc', Search: 'tsc' } as const;

export class ItemsWriter {
  readonly #context: ItemsContext;
  /** The JSON of the items that are done. */
  readonly #done: string[] = [];
  /** It is closed by the next item, or by the end, which may be the item's own: the model can be cut off within it. */
  #open: OutputItem | undefined;
  /** The reasoning that is open has ended: what follows is another piece. */
  #isEnded = false;
  #items = 0;
  /** UTF-16 units of the text so far. */
  #textLength = 0;
  #tokens: TokenProbability[] = [];
  #refused = false;
  #finish: FinishEvent | undefined;

  constructor(context: ItemsContext) {
    this.#context = context;
  }

  /** The items that are done, as JSON. */
  get json(): string {
    return `[${this.#done.join(',')}]`;
  }

  /** Why the response ended early. Undefined: it is complete; so is one in which the model itself refuses. */
  get incomplete(): string | undefined {
    const { reason = 'Stop' } = this.#finish ?? {};
    return reason === 'Refusal' && this.#refused ? undefined : INCOMPLETE.values.get(reason);
  }

  /** A response has one candidate. */
  write(event: ContentEvent): string {
    return (event.candidate ?? 0) > 0 ? '' : this.#write(event);
  }

  /** Ends the response: the explanation of a refusal that the model has not said, and the end of the last item. */
  close(): string {
    const { reason, detail } = this.#finish ?? {};
    const isExplained = reason === 'Refusal' && detail !== undefined && !this.#refused;
    const explanation = isExplained ? this.#addToMessage('refusal', detail) : '';
    return explanation + this.#close(this.incomplete === undefined ? 'completed' : 'incomplete');
  }

  #write(event: ContentEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.#addText(event.text);
      case 'reasoning-delta':
        return this.#addReasoning(event.text);
      case 'reasoning-end':
        return this.#endReasoning(event.proof);
      case 'call-start':
      case 'call-delta':
      case 'call-end':
        return this.#writeCall(event);
      case 'refusal-delta':
        return this.#refuse(event.text);
      case 'image':
        return this.#start(new ImageItem(this.#next('ig'), event)) + this.#close('completed');
      case 'citation':
        return this.#cite(event);
      default:
        return this.#keep(event);
    }
  }

  /** What is written with a later event, or at the end. */
  #keep(event: LogProbabilitiesEvent | FinishEvent): string {
    if (event.type === 'finish') this.#finish = event;
    else this.#tokens.push(...event.tokens);
    return '';
  }

  #refuse(text: string): string {
    this.#refused = true;
    return this.#addToMessage('refusal', text);
  }

  #addText(text: string): string {
    if (text === '') return '';
    this.#textLength += text.length;
    return this.#addToMessage('text', text);
  }

  #addToMessage(kind: 'text' | 'refusal', text: string): string {
    const item = this.#open;
    if (item instanceof MessageItem) return item.add(kind, text, this.#takeTokens(kind));
    const message = new MessageItem(this.#next('msg'));
    return this.#start(message) + message.add(kind, text, this.#takeTokens(kind));
  }

  #takeTokens(kind: 'text' | 'refusal'): ReturnType<typeof writeTokens> {
    if (kind === 'refusal' || this.#tokens.length === 0) return [];
    return writeTokens(this.#tokens.splice(0));
  }

  /** Its place counts from the start of the message's text. */
  #cite(event: CitationEvent): string {
    const item = this.#open;
    if (!(item instanceof MessageItem) || !hasWebAddress(event)) return '';
    const { url, title, start, end } = event;
    const before = this.#textLength - item.textLength;
    const [startIndex, endIndex] = [Math.max(0, start - before), Math.max(0, end - before)];
    return item.annotate({
      type: 'url_citation',
      url,
      title: title ?? '',
      start_index: startIndex,
      end_index: endIndex,
    });
  }

  #addReasoning(text: string): string {
    if (text === '') return '';
    const item = this.#open;
    if (item instanceof ReasoningItem && !this.#isEnded) return item.add(text);
    const reasoning = new ReasoningItem(this.#next('rs'));
    return this.#start(reasoning) + reasoning.add(text);
  }

  /** What only its maker can read is an item of its own. */
  #endReasoning(proof: ReasoningProof | undefined): string {
    const item = this.#open;
    const open = item instanceof ReasoningItem && !this.#isEnded ? item : undefined;
    if (!proof) {
      this.#isEnded = true;
      return '';
    }
    const { seal } = this.#context;
    const known = 'redacted' in proof ? undefined : open;
    const reasoning = known ?? new ReasoningItem(this.#next('rs'));
    const opening = known ? '' : this.#start(reasoning);
    reasoning.prove(seal && sealReasoning(seal, { text: reasoning.text, proof }));
    return opening + this.#close('completed');
  }

  #writeCall(event: CallStart | CallDelta | CallEnd): string {
    if (event.type === 'call-start') return this.#startCall(event);
    const item = this.#open;
    return event.type === 'call-delta' && item && isCall(item) ? item.add(event.text) : '';
  }

  #startCall({ id: callId, name }: CallStart): string {
    const tool = this.#context.notes?.responseTools?.get(name) ?? { kind: 'Function', name };
    return this.#start(openCall(this.#next(CALL_PREFIXES[tool.kind]), { callId, tool }));
  }

  /** The place of the next item, of which this is the id's prefix. */
  #next(prefix: string): ItemContext {
    const { events, idSuffix } = this.#context;
    const index = this.#items++;
    return { events, id: `${prefix}_${idSuffix}_${index}`, index };
  }

  #start(item: OutputItem): string {
    const closing = this.#close('completed');
    this.#open = item;
    this.#isEnded = false;
    return closing + item.open();
  }

  #close(status: ItemStatus): string {
    const item = this.#open;
    if (!item) return '';
    this.#open = undefined;
    const { seal, notes } = this.#context;
    if (item instanceof ReasoningItem && !item.isProved && seal && notes?.keepsReasoning === true && item.text !== '')
      item.keep(sealReasoning(seal, { text: item.text, proof: undefined }));
    const events = item.close(status);
    this.#done.push(item.json);
    return events;
  }
}
