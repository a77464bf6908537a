/** Reads the events of a message stream. Usage comes with its beginning and its end. */
import { isAnthropicError } from '../../anthropic/errors.ts';
import { MessageEventMeter } from '../../anthropic/stream-meter.ts';
import type { Meter } from '../../converter.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { convertedFields } from '../../field-table.ts';
import { isGiven, recordOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { parseEventData } from '../../json-value.ts';
import { readStreamError } from '../../provider-errors.ts';
import type { SseEvent } from '../../sse.ts';
import type { EventReader, ResponseReadContext } from '../chat-provider.ts';
import { withoutData } from '../pings.ts';
import { BlockReader } from './read-blocks.ts';
import { finishOf } from './read-response.ts';
import { MESSAGE } from './table.ts';

const NO_EVENTS: readonly ConversationEvent[] = [];

export class MessageEventReader implements EventReader {
  readonly #eventMeter = new MessageEventMeter();
  readonly #blocks: BlockReader;
  #started = false;
  /** The members of the message that say how it has ended. */
  #end: JsonRecord = {};
  #terminal: 'Stopped' | 'Failed' | undefined;

  constructor(context: ResponseReadContext) {
    this.#blocks = new BlockReader(context);
  }

  get terminal(): boolean {
    return this.#terminal !== undefined;
  }

  get meter(): Meter {
    return this.#eventMeter.meter;
  }

  read(event: SseEvent): readonly ConversationEvent[] {
    if (event.data === undefined) return withoutData(event);
    const data = parseEventData(event.data);
    if (event.event === 'error' || (data && isAnthropicError(data))) {
      this.#terminal = 'Failed';
      return [{ type: 'error', error: readStreamError(data ?? event.data) }];
    }
    if (!data) return NO_EVENTS;
    this.#eventMeter.add(data);
    return this.#readEvent(data);
  }

  /** Some providers send a stop reason and no message_stop. */
  end(): readonly ConversationEvent[] | undefined {
    if (this.#terminal !== 'Stopped' && this.#eventMeter.stopReason === undefined) return undefined;
    return [...this.#opening(undefined), ...this.#blocks.close(), finishOf(this.#end, this.#blocks.calledTools)];
  }

  #readEvent(data: JsonRecord): readonly ConversationEvent[] {
    const { type, index, delta, message, content_block: block } = data;
    switch (type) {
      case 'content_block_delta':
        return [...this.#opening(undefined), ...this.#blocks.add(recordOf(delta), index)];
      case 'content_block_start':
        return [...this.#opening(undefined), ...this.#blocks.start(recordOf(block), index)];
      case 'content_block_stop':
        return this.#blocks.stop(index);
      case 'message_start':
        return this.#opening(textOf(recordOf(message)['model']));
      case 'message_delta':
        this.#end = { ...this.#end, ...endMembers(recordOf(delta)) };
        return NO_EVENTS;
      case 'message_stop':
        this.#terminal = 'Stopped';
        return NO_EVENTS;
      case 'ping':
        return [{ type: 'ping' }];
      // unknown events have no counterpart
      default:
        return NO_EVENTS;
    }
  }

  #opening(model: string | undefined): readonly ConversationEvent[] {
    if (this.#started) return NO_EVENTS;
    this.#started = true;
    return [{ type: 'start', model }];
  }
}

/** What is given of the end: a later event does not take back what an earlier one has said. */
function endMembers(delta: JsonRecord): JsonRecord {
  const { stop_reason, stop_sequence, stop_details } = convertedFields(MESSAGE, delta);
  return Object.fromEntries(
    Object.entries({ stop_reason, stop_sequence, stop_details }).filter(([, value]) => isGiven(value)),
  );
}
