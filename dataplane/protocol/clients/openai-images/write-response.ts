/** Writes pictures as OpenAI's image endpoints do. */
import type { ReportedUsage } from '../../converter.ts';
import type { ConversationEvent, FinishEvent, ImageEvent } from '../../conversation/events.ts';
import type { Candidate, ConversationResponse } from '../../conversation/response.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeEvent } from '../../sse.ts';
import type { ResponseWriteContext, StreamWriteContext, StreamWriter } from '../client.ts';

export function writeResponse(
  { candidates }: ConversationResponse,
  usage: ReportedUsage,
  { createdSeconds }: ResponseWriteContext,
): Uint8Array {
  const pictures = candidates.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'Image' ? [part] : [])));
  const refusal = pictures.length === 0 ? candidates.map(refusalOf).find((each) => each !== undefined) : undefined;
  return Buffer.from(
    JSON.stringify({
      created: createdSeconds,
      data: pictures.map(({ data }) => ({ b64_json: data })),
      ...writeFormat(pictures[0]?.mediaType),
      ...(refusal !== undefined && { refusal }),
      usage: writeUsage(usage),
    }),
  );
}

function refusalOf({ parts, finish }: Candidate): string | undefined {
  const said = parts.flatMap((part) => (part.type === 'Refusal' ? [part.text] : [])).join('');
  return said === '' ? finish?.detail : said;
}

/** `image/png` is `png`. */
function writeFormat(mediaType: string | undefined): JsonRecord {
  return mediaType?.startsWith('image/') === true ? { output_format: mediaType.slice('image/'.length) } : {};
}

/** Input includes what was read from the cache. Tokens that are not of pictures are of text. */
function writeUsage({ input = 0, cached = 0, output = 0, details = {} }: ReportedUsage): JsonRecord {
  const { imageInput = 0, imageOutput = 0 } = details;
  const read = input + cached;
  return {
    input_tokens: read,
    input_tokens_details: { image_tokens: imageInput, text_tokens: Math.max(0, read - imageInput) },
    output_tokens: output,
    output_tokens_details: { image_tokens: imageOutput, text_tokens: Math.max(0, output - imageOutput) },
    total_tokens: read + output,
  };
}

/** The events of a kind of endpoint: of generations or of edits. */
export type ImageEvents = 'image_generation' | 'image_edit';

/** A picture comes whole, and waits for the usage, which the last event has. */
export class ImageStreamWriter implements StreamWriter {
  readonly #events: ImageEvents;
  readonly #context: StreamWriteContext;
  readonly #pictures: ImageEvent[] = [];
  sentImages = 0;
  #finish: FinishEvent | undefined;

  constructor(events: ImageEvents, context: StreamWriteContext) {
    this.#events = events;
    this.#context = context;
  }

  write(event: ConversationEvent): string {
    if (event.type === 'finish') this.#finish ??= event;
    if (event.type !== 'image') return '';
    this.#pictures.push(event);
    // only the last one waits
    if (this.#pictures.length < 2) return '';
    this.sentImages++;
    return this.#complete(this.#pictures.shift(), {});
  }

  /** A stream without a picture ends with the reason. */
  end(): string {
    const [picture] = this.#pictures;
    if (picture) return this.#complete(picture, { usage: writeUsage(this.#context.usage()) });
    const message = this.#finish?.detail ?? 'The model has made no image.';
    const error = { type: 'image_generation_user_error', code: 'no_image', message, param: null };
    return writeText('error', { type: 'error', error, usage: writeUsage(this.#context.usage()) });
  }

  #complete(picture: ImageEvent | undefined, more: JsonRecord): string {
    const type = `${this.#events}.completed`;
    return writeText(type, {
      type,
      b64_json: picture?.data ?? '',
      created_at: this.#context.createdSeconds,
      ...writeFormat(picture?.mediaType),
      ...more,
    });
  }
}

function writeText(event: string, data: JsonRecord): string {
  return Buffer.from(writeEvent(JSON.stringify(data), event)).toString('utf8');
}
