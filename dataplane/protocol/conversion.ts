/**
 * A conversion: a client reads its request into a conversation, and the provider writes it; the provider reads its
 * response into events, and the client writes them. Nothing else knows both.
 */
import type { ChatDialect, Dialect } from './call-facts.ts';
import type { Client } from './clients/client.ts';
import { HeldValueReader } from './conversation/held-value.ts';
import { settleUnread } from './conversation/take.ts';
import type { ConversationEvent } from './conversation/events.ts';
import { fold } from './conversation/response.ts';
import type { ConversationResponse } from './conversation/response.ts';
import type { StreamWriter } from './clients/client.ts';
import type {
  ConversionNotes,
  Converter,
  Meter,
  ProviderError,
  ResponseContext,
  StreamEnd,
  StreamRequest,
} from './converter.ts';
import { DroppedFields } from './dropped-fields.ts';
import { FailedResponse } from './failed-response.ts';
import { openEventStream } from './event-stream.ts';
import type { EventHandler } from './event-stream.ts';
import type { JsonRecord } from './fields.ts';
import { reparseLosslessly, writeJson } from './json-value.ts';
import { IMAGE_BYTES } from './output-tally.ts';
import type { TokenCounter } from './provider.ts';
import type { ChatProvider, EventReader } from './providers/chat-provider.ts';
import { failStream } from './stream-errors.ts';
import type { SseEvent } from './sse.ts';
import { fillUsage } from './usage.ts';

const UNKNOWN: ResponseContext = { id: '', createdSeconds: 0, nowSeconds: () => 0, estimatedInputTokens: 0 };
const NOTHING: readonly Uint8Array[] = [];

/** Reads a client's body. `parsed` is its value, unless it is a form. */
type BodyReader = (body: Uint8Array, parsed: JsonRecord) => JsonRecord;

/**
 * The converter of a client's dialect to a provider of another protocol.
 * @param readBody of a body that is not JSON
 */
export function conversion(
  client: Client,
  provider: ChatProvider,
  readBody: BodyReader = reparseLosslessly,
): Converter {
  return {
    client: client.dialect,
    upstream: provider.api ?? provider.name,
    ...(provider.api && { api: provider.api }),
    request: (body, parsed, plan) => {
      const dropped = new DroppedFields();
      const { providerTools, seal, storage } = plan;
      const given = readBody(body, parsed);
      const { conversation, notes } = client.read(given, { providerTools, seal, storage });
      settleUnread(conversation, { provider: provider.name, dropped });
      const stream = plan.stream ?? given['stream'] === true;
      const written = provider.write(conversation, { plan, stream, dropped });
      const { path, body: sent, toolNames, keepsReasoning, heldValue } = written;
      const all = {
        ...notes,
        ...(toolNames && { toolNames }),
        ...(keepsReasoning === true && { keepsReasoning }),
        ...(heldValue && { heldValue }),
      };
      return {
        path,
        body: Buffer.from(writeJson(sent)),
        dropped: dropped.params,
        ...(Object.keys(all).length > 0 && { notes: all }),
      };
    },
    response: (body, answer = UNKNOWN) => {
      const { id, createdSeconds, nowSeconds, notes, model = '', estimatedInputTokens, seal } = answer;
      const { events, meter } = provider.read(body, { id, notes, seal, asksForImages: client.countsImages });
      const response = fold(readerOf(notes)?.read(events) ?? events);
      if (response.error) throw new FailedResponse(response.error);
      const context = { id, createdSeconds, nowSeconds, model, notes, seal };
      const written = client.write(response, fillUsage(meter, estimatedInputTokens), context);
      return {
        body: written,
        meter: client.countsImages === true ? { ...meter, images: countImages(response) } : meter,
      };
    },
    stream: (request) => {
      const { id, notes, seal } = request;
      const reader = provider.stream({ id, notes, seal, asksForImages: client.countsImages });
      return openEventStream(new ConvertedStream(client, reader, request), {
        client: errorDialectOf(client.dialect),
        requestId: id,
        ...(provider.maxEventBytes !== undefined && { maxEventBytes: provider.maxEventBytes }),
      });
    },
  };
}

/** A provider that counts tokens. */
type CountingProvider = ChatProvider & Required<Pick<ChatProvider, 'writeCount'>>;

/** The request that counts the tokens of a client's request. */
export function countConversion(client: Client, { name, writeCount }: CountingProvider): TokenCounter['request'] {
  return (body, parsed, plan) => {
    const dropped = new DroppedFields();
    const { seal } = plan;
    const { conversation } = client.read(reparseLosslessly(body, parsed), { providerTools: undefined, seal });
    settleUnread(conversation, { provider: name, dropped });
    const { path, body: sent } = writeCount(conversation, { plan, dropped });
    return { path, body: Buffer.from(writeJson(sent)) };
  };
}

function countImages({ candidates }: ConversationResponse): number {
  return candidates.reduce((sum, { parts }) => sum + parts.filter(({ type }) => type === 'Image').length, 0);
}

/** Errors of Responses are OpenAI's. */
function errorDialectOf(dialect: ChatDialect): Dialect {
  return dialect === 'Responses' ? 'OpenAI' : dialect;
}

/** Undefined: the response is what the client asked for. */
function readerOf(notes: ConversionNotes | undefined): HeldValueReader | undefined {
  return notes?.heldValue && new HeldValueReader(notes.heldValue);
}

/** An image may wait for the end of a stream, and has not come where the stream breaks off: those that were sent have. */
function withImages(meter: Meter, images: number): Meter {
  const reported = { ...meter.reported, output: undefined };
  return { ...meter, reported, final: false, outputBytes: images * IMAGE_BYTES, images };
}

class ConvertedStream implements EventHandler {
  readonly #dialect: Dialect;
  readonly #id: string;
  readonly #reader: EventReader;
  readonly #held: HeldValueReader | undefined;
  readonly #writer: StreamWriter;
  readonly fail?: NonNullable<EventHandler['fail']>;
  #failure: StreamEnd | undefined;
  /** Undefined: they are not counted. */
  #images: number | undefined;
  #hasEnded = false;

  constructor(client: Client, reader: EventReader, request: StreamRequest) {
    this.#dialect = errorDialectOf(client.dialect);
    this.#id = request.id;
    this.#reader = reader;
    if (client.countsImages === true) this.#images = 0;
    const { model, createdSeconds, nowSeconds, notes, seal, wantsStreamUsage } = request;
    this.#held = readerOf(notes);
    this.#writer = client.stream({
      id: request.id,
      createdSeconds,
      nowSeconds,
      model,
      notes,
      seal,
      wantsStreamUsage,
      usage: () => fillUsage(reader.meter, request.estimatedInputTokens),
    });
    const { failure } = this.#writer;
    if (failure) this.fail = (error) => Buffer.from(failure(error));
  }

  get terminal(): boolean {
    return this.#failure !== undefined || this.#reader.terminal;
  }

  get meter(): Meter {
    const { meter } = this.#reader;
    if (this.#images === undefined) return meter;
    return this.#hasEnded ? { ...meter, images: this.#images } : withImages(meter, this.#writer.sentImages ?? 0);
  }

  handle(event: SseEvent): readonly Uint8Array[] {
    const text = this.#write(this.#reader.read(event));
    return text === '' ? NOTHING : [Buffer.from(text)];
  }

  finish(): StreamEnd {
    if (this.#failure) return this.#failure;
    const rest = this.#reader.end();
    if (!rest) return { outcome: 'Cut' };
    const text = this.#write(rest);
    this.#hasEnded = this.#failure === undefined;
    return this.#failure ?? { outcome: 'Complete', last: Buffer.from(text + this.#writer.end()) };
  }

  #write(events: readonly ConversationEvent[]): string {
    let text = '';
    for (const event of this.#held?.read(events) ?? events) {
      if (event.type === 'error') {
        this.#failure = this.#failWith(event.error);
        return text;
      }
      if (event.type === 'image' && this.#images !== undefined) this.#images++;
      text += this.#writer.write(event);
    }
    return text;
  }

  #failWith(error: ProviderError): StreamEnd {
    if (!this.#writer.fail) return failStream(this.#dialect, error, this.#id);
    const failed = this.#writer.fail(error);
    return { outcome: 'Failed', error: failed.error, last: Buffer.from(failed.last) };
  }
}
