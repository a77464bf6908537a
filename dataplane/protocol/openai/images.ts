/**
 * Image generations, which pass through: OpenAI client, OpenAI provider. They are priced per image; figures are metered where
 * there are any.
 */
import { RequestFault } from '../call-facts.ts';
import type { Converter, Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../error-words.ts';
import { openEventStream } from '../event-stream.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven, isRecord, readCount, readFlag, readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { findImageField } from '../image-inputs.ts';
import { parseObject, parseEventData } from '../json-value.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { meterOf } from '../usage.ts';
import { isDone } from './chunks.ts';
import { renameModel } from './embeddings.ts';
import { NO_FIGURES, readFigures, reportOpenAi } from './usage.ts';

export interface ImagesFacts {
  readonly model: string;
  readonly stream: boolean;
  /** Images asked for: what the price is multiplied by. */
  readonly generations: number;
  /** The field that holds an image to begin from, which compatible providers take; undefined: none. */
  readonly imageParam: string | undefined;
}

/** The reference's bound of `n`. */
const MOST_IMAGES = 10;
/** An image comes in one event. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024;

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readImagesFacts(parsed: JsonRecord): ImagesFacts {
  const { prompt } = parsed;
  if (typeof prompt !== 'string' || prompt === '') throw new RequestFault('invalid_request', 'The field "prompt" must be a text.', 'prompt');
  return {
    model: readModel(parsed),
    stream: readFlag(parsed['stream'], 'stream'),
    generations: readCount(parsed['n'], 'n', [1, MOST_IMAGES]) ?? 1,
    imageParam: findImageField(parsed),
  };
}

export const imagesConverter: Converter = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  request: renameModel('/images/generations'),
  response: (body) => {
    const answer = parseObject(body);
    if (!Array.isArray(answer['data'])) throw new SyntaxError('the answer holds no images');
    return { body, meter: meterImages(answer['usage'], true) };
  },
  stream: (request) => openEventStream(new PassingImages(request), { client: 'OpenAI', requestId: request.id, maxEventBytes: MAX_EVENT_BYTES }),
};

/** Models without figures are priced per image: there is nothing to count, and nothing missing. */
function meterImages(usage: unknown, final: boolean): Meter {
  const reported = reportOpenAi(isRecord(usage) ? readFigures(usage) : NO_FIGURES);
  return meterOf({ ...reported, input: reported.input ?? 0, output: reported.output ?? 0 }, 0, final);
}

/** Which event is the last shows only when the stream is over: the latest whole image is held back until then. */
class PassingImages implements EventHandler {
  readonly #request: StreamRequest;
  #held: Uint8Array | undefined;
  #usage: unknown;
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return meterImages(this.#usage, this.#held !== undefined);
  }

  take(event: SseEvent): readonly Uint8Array[] {
    if (event.data === undefined) return this.#keepInOrder(event.raw);
    if (isDone(event.data)) {
      this.#end = { outcome: 'Complete', last: Buffer.concat([this.#held ?? Buffer.alloc(0), event.raw]) };
      return [];
    }
    const data = parseEventData(event.data);
    if (event.event === 'error' || isError(data)) {
      this.#end = failStream('OpenAI', readStreamError(data ?? event.data), this.#request.id);
      return this.#held ? [this.#held] : [];
    }
    return this.#pass(event.raw, data);
  }

  /** A further event shows that the held one was not the last. */
  #pass(raw: Uint8Array, data: JsonRecord | undefined): readonly Uint8Array[] {
    const released = this.#held ? [this.#held] : [];
    this.#held = data && isCompleted(data) ? raw : undefined;
    this.#usage = data?.['usage'] ?? this.#usage;
    return this.#held ? released : [...released, raw];
  }

  finish(): StreamEnd {
    return this.#end ?? (this.#held ? { outcome: 'Complete', last: this.#held } : { outcome: 'Cut' });
  }

  /** A comment behind a held image waits with it. */
  #keepInOrder(raw: Uint8Array): readonly Uint8Array[] {
    if (!this.#held) return [raw];
    this.#held = Buffer.concat([this.#held, raw]);
    return [];
  }
}

function isError(data: JsonRecord | undefined): boolean {
  return data?.['type'] === 'error' || isGiven(data?.['error']);
}

function isCompleted(data: JsonRecord): boolean {
  return typeof data['type'] === 'string' && data['type'].endsWith('.completed');
}
