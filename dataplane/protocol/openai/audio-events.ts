/** Streams of audio's endpoints, which pass through event by event until the one that says that all has come. */
import { decodeUtf8 } from '../bytes.ts';
import type { Meter, StreamConverter, StreamEnd, StreamRequest } from '../converter.ts';
import { openEventStream } from '../event-stream.ts';
import type { EventHandler } from '../event-stream.ts';
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData } from '../json-value.ts';
import { isErrorObject, readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { failStream } from '../stream-errors.ts';

/** In what the streams of two endpoints differ. */
export interface AudioEventForm {
  /** The type of the last event, which has the usage. */
  readonly done: string;
  /** Takes what an event has produced. */
  add(data: JsonRecord): void;
  /** Takes what passes through without being an event of this API: it is output too. */
  addOther(bytes: Uint8Array): void;
  /** `usage`: of the last event; undefined: it has not come, or has none. */
  meter(usage: JsonRecord | undefined, final: boolean): Meter;
}

export function openAudioEvents(request: StreamRequest, form: AudioEventForm): StreamConverter {
  return openEventStream(new AudioEvents(request, form), { client: 'OpenAI', requestId: request.id });
}

class AudioEvents implements EventHandler {
  readonly #request: StreamRequest;
  readonly #form: AudioEventForm;
  #usage: JsonRecord | undefined;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest, form: AudioEventForm) {
    this.#request = request;
    this.#form = form;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return this.#form.meter(this.#usage, this.#end?.outcome === 'Complete');
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return this.#passOther(event.raw);
    const data = parseEventData(event.data);
    if (isError(event, data)) {
      this.#end = failStream('OpenAI', readStreamError(data ?? event.data), this.#request.id);
      return [];
    }
    if (!data) return event.data === DONE ? [event.raw] : this.#passOther(event.raw);
    this.#form.add(data);
    if (data['type'] !== this.#form.done) return [event.raw];
    if (isRecord(data['usage'])) this.#usage = data['usage'];
    this.#end = { outcome: 'Complete', last: event.raw };
    return [];
  }

  #passOther(raw: Uint8Array): readonly Uint8Array[] {
    if (!isPing(raw)) this.#form.addOther(raw);
    return [raw];
  }

  finish(): StreamEnd {
    return this.#end ?? { outcome: 'Cut' };
  }
}

/** After which some providers send nothing more. */
const DONE = '[DONE]';
const MAX_PING_BYTES = 1024;
const PING_LINE = /^(?::|event:|id:|retry:|$)/;

/** A short event without data: of comments, or a name. */
function isPing(raw: Uint8Array): boolean {
  return (
    raw.length <= MAX_PING_BYTES &&
    decodeUtf8(raw)
      .split(/[\r\n]+/)
      .every((line) => PING_LINE.test(line))
  );
}

function isError({ event }: SseEvent, data: JsonRecord | undefined): boolean {
  return event === 'error' || data?.['type'] === 'error' || (data !== undefined && isErrorObject(data));
}
