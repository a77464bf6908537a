/**
 * Reads the chunks of streamGenerateContent. Gemini has no terminal event: a stream is complete when it ends after
 * chunks that say why each candidate has stopped. A later chunk may still have the usage.
 */
import type { Meter } from '../../converter.ts';
import type { ConversationEvent } from '../../conversation/events.ts';
import { readGeminiStreamError } from '../../gemini/errors.ts';
import { GeminiStreamMeter } from '../../gemini/stream-meter.ts';
import { parseEventData } from '../../json-value.ts';
import { isErrorObject } from '../../provider-errors.ts';
import type { SseEvent } from '../../sse.ts';
import type { EventReader, ResponseReadContext } from '../chat-provider.ts';
import { withoutData } from '../pings.ts';
import { CandidateReader } from './read-response.ts';

export class GeminiEventReader implements EventReader {
  readonly #streamMeter = new GeminiStreamMeter();
  readonly #candidates: CandidateReader;
  #started = false;
  #failed = false;

  constructor(context: ResponseReadContext) {
    this.#candidates = new CandidateReader(context, this.#streamMeter.tally);
  }

  get terminal(): boolean {
    return this.#failed;
  }

  get meter(): Meter {
    return this.#streamMeter.meter;
  }

  read(event: SseEvent): readonly ConversationEvent[] {
    if (event.data === undefined) return withoutData(event);
    const data = parseEventData(unlisted(event.data));
    if (!data) return [];
    if (isErrorObject(data)) return this.#fail({ type: 'error', error: readGeminiStreamError(data) });
    const events = this.#candidates.read(data);
    this.#streamMeter.add(data['usageMetadata'], this.#candidates.ended);
    const failure = this.#candidates.ended ? this.#candidates.end().find(({ type }) => type === 'error') : undefined;
    if (failure) return this.#fail(failure);
    return [...this.#opening(), ...events];
  }

  end(): readonly ConversationEvent[] | undefined {
    if (!this.#candidates.ended) return undefined;
    return [...this.#opening(), ...this.#candidates.end()];
  }

  #fail(event: ConversationEvent): readonly ConversationEvent[] {
    this.#failed = true;
    return [event];
  }

  #opening(): readonly ConversationEvent[] {
    if (this.#started) return [];
    this.#started = true;
    return [{ type: 'start', model: undefined }];
  }
}

/** Some errors come as a list of one. */
export function unlisted(data: string): string {
  return data.trim().replace(/^\[([^]*)\]$/, '$1');
}
