/** Reads the events of a response's stream. */
import type { Meter } from '../../converter.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import type { ProviderError } from '../../converter.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { parseEventData } from '../../json-value.ts';
import { isDone } from '../../openai/done.ts';
import { isErrorEvent } from '../../openai/failures.ts';
import { ResponseMeter } from '../../openai/response-meter.ts';
import { readStreamError } from '../../provider-errors.ts';
import type { SseEvent } from '../../sse.ts';
import type { EventReader, ResponseReadContext } from '../chat-provider.ts';
import { withoutData } from '../pings.ts';
import { finishOf, isFailed, readFailure } from './read-end.ts';
import { ItemReader } from './read-items.ts';
import type { DeltaKind } from './read-items.ts';

const DELTAS: ReadonlyMap<string, DeltaKind> = new Map([
  ['response.output_text.delta', 'Text'],
  ['response.refusal.delta', 'Refusal'],
  ['response.reasoning_summary_text.delta', 'Summary'],
  ['response.reasoning_text.delta', 'Reasoning'],
  ['response.function_call_arguments.delta', 'Arguments'],
  ['response.custom_tool_call_input.delta', 'Input'],
]);
const ENDS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
]);

export class ResponseEventReader implements EventReader {
  readonly #responseMeter = new ResponseMeter();
  readonly #items: ItemReader;
  #started = false;
  #failed = false;
  /** The response as its last event has it. */
  #response: JsonRecord | undefined;

  constructor(context: ResponseReadContext) {
    this.#items = new ItemReader(context);
  }

  get terminal(): boolean {
    return this.#failed || this.#response !== undefined;
  }

  get meter(): Meter {
    return this.#responseMeter.meter;
  }

  read(event: SseEvent): readonly ConversationEvent[] {
    if (event.data === undefined) return withoutData(event);
    // some providers send [DONE] after the last event
    if (isDone(event.data)) return [];
    const data = parseEventData(event.data);
    const type = stringOf(data?.['type']) || (event.event ?? '');
    if (isErrorEvent(event, data, type)) return this.#fail(readStreamError(data ?? event.data));
    return data ? this.#readData(data, type) : [];
  }

  #readData(data: JsonRecord, type: string): readonly ConversationEvent[] {
    const response = isRecord(data['response']) ? data['response'] : undefined;
    const ended = ENDS.has(type);
    if (type.endsWith('.delta')) this.#responseMeter.addDelta(data['delta']);
    if (response) this.#responseMeter.addResponse(response, ended);
    if (ended) return this.#end(response ?? {}, type);
    return [...this.#opening(response && textOf(response['model'])), ...this.#readItem(data, type)];
  }

  end(): readonly ConversationEvent[] | undefined {
    const response = this.#response;
    if (!response) return undefined;
    return [...this.#items.close(), finishOf(response, this.#items)];
  }

  #readItem(data: JsonRecord, type: string): readonly ConversationEvent[] {
    // some providers give an item another id in each event
    const key = data['output_index'] ?? data['item_id'] ?? (isRecord(data['item']) ? data['item']['id'] : undefined);
    if (type === 'response.output_item.added') return this.#items.start(key, data['item']);
    if (type === 'response.output_item.done') return this.#items.end(key, data['item']);
    const kind = DELTAS.get(type);
    return kind ? this.#items.delta(key, kind, data) : [];
  }

  /** Some providers send items in the last event only. */
  #end(response: JsonRecord, type: string): readonly ConversationEvent[] {
    if (isFailed(response) || type === 'response.failed') return this.#fail(readFailure(response));
    this.#response = type === 'response.incomplete' ? { ...response, status: 'incomplete' } : response;
    const rest = itemsOf(response['output']).flatMap((item, index) => this.#items.end(index, item));
    return [...this.#opening(textOf(response['model'])), ...rest];
  }

  #fail(error: ProviderError): readonly ConversationEvent[] {
    this.#failed = true;
    return [{ type: 'error', error }];
  }

  #opening(model: string | undefined): readonly ConversationEvent[] {
    if (this.#started) return [];
    this.#started = true;
    return [{ type: 'start', model }];
  }
}
