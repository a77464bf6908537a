/**
 * Image generations, which pass through: OpenAI client, OpenAI provider. They are priced per image; usage is
 * metered where it is reported.
 */
import { RequestFault } from '../call-facts.ts';
import type { Converter, Meter, StreamEnd, StreamRequest } from '../converter.ts';
import { failStream } from '../stream-errors.ts';
import { openEventStream } from '../event-stream.ts';
import type { EventHandler } from '../event-stream.ts';
import { isGiven, isRecord, readCount, readFlag, readModel, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { findImageField } from '../image-inputs.ts';
import { parseEventData, parseObject } from '../json-value.ts';
import { readStreamError } from '../provider-errors.ts';
import type { SseEvent } from '../sse.ts';
import { isDone } from './done.ts';
import { renameModel } from './rename-model.ts';
import { throwIfError } from './failures.ts';
import { findField, QUALITY_FIELDS, readAttribute, SIZE_FIELDS } from './generation-fields.ts';
import { NO_USAGE, readUsage, toReportedUsage } from './usage.ts';

export interface ImagesFacts {
  readonly model: string;
  readonly stream: boolean;
  /** Number of images, by which the price is multiplied. */
  readonly generations: number;
  /** The field with an input image, which compatible providers accept; undefined: none. */
  readonly imageParam: string | undefined;
  readonly made: ImageAttributes;
}

/** Undefined: the provider chooses it, or another field may. */
export interface ImageAttributes {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
}

/** The API's limit of `n`. */
const MAX_IMAGES = 10;
/** A whole image comes in one event. */
const MAX_EVENT_BYTES = 128 * 1024 * 1024;

/** Throws RequestFault where a field that the gateway needs is missing or wrong. */
export function readImagesFacts(parsed: JsonRecord): ImagesFacts {
  const { prompt } = parsed;
  if (typeof prompt !== 'string' || prompt === '')
    throw new RequestFault('invalid_request', 'The field "prompt" must be a text.', 'prompt');
  return {
    model: readModel(parsed),
    stream: readFlag(parsed['stream'], 'stream'),
    generations: readCount(parsed['n'], 'n', [1, MAX_IMAGES]) ?? 1,
    imageParam: findImageField(parsed),
    made: readMade(parsed),
  };
}

/** A size or quality that may be in another field is not known. */
function readMade(parsed: JsonRecord): ImageAttributes {
  const { size, quality } = madeOf(parsed);
  return {
    ...(findField(parsed, SIZE_FIELDS, 'size') === undefined && { size }),
    ...(findField(parsed, QUALITY_FIELDS, 'quality') === undefined && { quality }),
  };
}

function madeOf({ size, quality }: JsonRecord): ImageAttributes {
  return { size: readAttribute(size), quality: readAttribute(quality) };
}

export const imagesConverter: Converter = {
  client: 'OpenAI',
  upstream: 'OpenAI',
  request: renameModel('/images/generations'),
  response: (body) => {
    const answer = parseObject(body);
    throwIfError(answer);
    if (!Array.isArray(answer['data'])) throw new SyntaxError('the answer holds no images');
    const made = { images: answer['data'].filter(isImage).length, served: madeOf(answer) };
    return { body, meter: meterImages(answer['usage'], made, true) };
  },
  stream: (request) =>
    openEventStream(new ImagePassthrough(request), {
      client: 'OpenAI',
      requestId: request.id,
      maxEventBytes: MAX_EVENT_BYTES,
    }),
};

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
    if (this.#held && data) this.#served = madeOf(data);
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
