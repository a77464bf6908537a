/**
 * Images that are generated, edited or varied, which pass through: OpenAI client, OpenAI provider. They are priced per
 * image; usage is metered where it is reported.
 */
import type { Converter, Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../stream-errors.ts';
import { openEventStream } from '../event-stream.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven, isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseEventData, parseObject } from '../json-value.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { isDone } from './done.ts';
import { throwIfError } from './failures.ts';
import { renameModelIn } from './form-fields.ts';
import type { BodyForm } from './form-fields.ts';
import { imageAttributes } from './image-facts.ts';
import type { ImageAttributes } from './image-facts.ts';
import { NO_USAGE, readUsage, toReportedUsage } from './usage.ts';

/** A whole image comes in one event. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024;

/** The three endpoints differ in their requests only. */
const RESPONSES: Omit<Converter, 'request'> = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  response: (body) => {
    const answer = parseObject(body);
    throwIfError(answer);
    if (!Array.isArray(answer['data'])) throw new SyntaxError('the answer holds no images');
    const made = { images: answer['data'].filter(isImage).length, served: imageAttributes(answer) };
    return { body, meter: meterImages(answer['usage'], made, true) };
  },
  stream: (request) =>
    openEventStream(new ImagePassthrough(request), {
      client: 'OpenAI',
      requestId: request.id,
      maxEventBytes: MAX_EVENT_BYTES,
    }),
};

export const imagesConverter: Converter = { ...RESPONSES, request: renameModelIn('/images/generations', undefined) };

export function imageEditsConverter(form: BodyForm): Converter {
  return { ...RESPONSES, request: renameModelIn('/images/edits', form) };
}

export function imageVariationsConverter(form: BodyForm): Converter {
  return { ...RESPONSES, request: renameModelIn('/images/variations', form) };
}

/** An entry without a picture was filtered, or failed. Some providers write both names. */
function isImage(entry: unknown): boolean {
  return isRecord(entry) && (textOf(entry['b64_json']) ?? textOf(entry['url'])) !== undefined;
}

/** Models that report no usage are priced per image, so that missing usage is zero here. */
function meterImages(usage: unknown, made: Pick<Meter, 'images' | 'served'>, final: boolean): Meter {
  const reported = toReportedUsage(isRecord(usage) ? readUsage(usage) : NO_USAGE);
  return {
    reported: { ...reported, input: reported.input ?? 0, output: reported.output ?? 0 },
    final,
    outputBytes: 0,
    ...made,
  };
}

/** Only the end of the stream shows which event is the last, so the latest complete image is held back until then. */
class ImagePassthrough implements EventHandler {
  readonly #request: StreamRequest;
  #held: Uint8Array | undefined;
  #usage: unknown;
  /** Complete images so far. */
  #images = 0;
  #served: ImageAttributes = {};
  #end: StreamEnd | undefined;

  constructor(request: StreamRequest) {
    this.#request = request;
  }

  get terminal(): boolean {
    return this.#end !== undefined;
  }

  get meter(): Meter {
    return meterImages(this.#usage, { images: this.#images, served: this.#served }, this.#held !== undefined);
  }

  handle(event: SseEvent): readonly Uint8Array[] {
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

  /** The event that was held back is not the last one. */
  #pass(raw: Uint8Array, data: JsonRecord | undefined): readonly Uint8Array[] {
    const released = this.#held ? [this.#held] : [];
    this.#held = data && isCompleted(data) ? raw : undefined;
    if (this.#held) this.#images++;
    if (this.#held && data) this.#served = imageAttributes(data);
    this.#usage = data?.['usage'] ?? this.#usage;
    return this.#held ? released : [...released, raw];
  }

  finish(): StreamEnd {
    return this.#end ?? (this.#held ? { outcome: 'Complete', last: this.#held } : { outcome: 'Cut' });
  }

  /** A comment that follows a held image waits with it. */
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
