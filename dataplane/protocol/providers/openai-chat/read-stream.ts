/** Reads the chunks of a chat completion's stream. Calls, and what waits for them, end with the stream. */
import type { Meter } from '../../converter.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { textOf } from '../../fields.ts';
import { parseEventData } from '../../json-value.ts';
import { isDone } from '../../openai/done.ts';
import { failedChunkError, isFailedChunk } from '../../openai/failures.ts';
import { ChunkMeter } from '../../openai/stream-meter.ts';
import { readStreamError } from '../../provider-errors.ts';
import type { SseEvent } from '../../sse.ts';
import type { EventReader, ResponseReadContext } from '../chat-provider.ts';
import { withoutData } from '../pings.ts';
import { ChoiceReader } from './read-choices.ts';
import { FAILURES } from './table.ts';

export class ChunkReader implements EventReader {
  readonly #chunkMeter = new ChunkMeter();
  readonly #choices: ChoiceReader;
  #started = false;
  #end: 'Done' | 'Failed' | undefined;

  constructor(context: ResponseReadContext) {
    this.#choices = new ChoiceReader(context);
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#chunkMeter.meter;
  }

  read(event: SseEvent): readonly ConversationEvent[] {
    if (event.data === undefined) return withoutData(event);
    if (isDone(event.data)) {
      this.#end = 'Done';
      return [];
    }
    const chunk = parseEventData(event.data);
    if (event.event === 'error' || (chunk && isFailedChunk(chunk, FAILURES))) {
      this.#end = 'Failed';
      return [{ type: 'error', error: readStreamError(failedChunkError(chunk ?? event.data, FAILURES)) }];
    }
    if (!chunk) return [];
    this.#chunkMeter.add(chunk);
    return [...this.#opening(textOf(chunk['model'])), ...this.#choices.read(chunk['choices'])];
  }

  /** Some providers send no [DONE]: the stream is complete once every choice has finished. */
  end(): readonly ConversationEvent[] | undefined {
    if (this.#end !== 'Done' && !this.#chunkMeter.finished) return undefined;
    return [...this.#opening(undefined), ...this.#choices.end()];
  }

  #opening(model: string | undefined): readonly ConversationEvent[] {
    if (this.#started) return [];
    this.#started = true;
    return [{ type: 'start', model }];
  }
}
