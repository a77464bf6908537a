/**
 * Converts AWS's binary event stream to server-sent events. Frames may be split anywhere, and several may come in one
 * piece. The codec, which checks both checksums, is loaded with the first such stream.
 */
import { UpstreamFailure } from './upstream.ts';
import type { UpstreamResponse } from './upstream.ts';

const EVENT_STREAM = 'application/vnd.amazon.eventstream';
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Two lengths and a checksum; no frame is shorter than them and its own checksum. */
const MIN_FRAME_BYTES = 16;

type JsonRecord = Readonly<Record<string, unknown>>;

/** Returns a response of another content type unchanged. */
export function decodeEventStream(response: UpstreamResponse): UpstreamResponse {
  if (!response.headers['content-type']?.startsWith(EVENT_STREAM)) return response;
  return {
    ...response,
    headers: { ...response.headers, 'content-type': 'text/event-stream' },
    body: toServerSentEvents(response.body),
  };
}

/** Throws UpstreamFailure (Cut) if the bytes are not an event stream, or break off within a frame. */
async function* toServerSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decode = await loadDecoder();
  let pending: Buffer = Buffer.alloc(0);
  for await (const piece of body) {
    pending = pending.length === 0 ? Buffer.from(piece) : Buffer.concat([pending, piece]);
    let text = '';
    for (let size = frameSize(pending); size !== undefined && size <= pending.length; size = frameSize(pending)) {
      text += decode(pending.subarray(0, size));
      pending = pending.subarray(size);
    }
    if (text !== '') yield Buffer.from(text);
  }
  if (pending.length > 0) throw new UpstreamFailure('Cut', 'the event stream ends within a frame');
}

/** Undefined: the frame's length has not arrived yet. */
function frameSize(bytes: Buffer): number | undefined {
  if (bytes.length < 4) return undefined;
  const size = bytes.readUInt32BE(0);
  if (size < MIN_FRAME_BYTES || size > MAX_FRAME_BYTES)
    throw new UpstreamFailure('Cut', 'a frame of the event stream has an impossible length');
  return size;
}

/** Returns a function that converts one frame to a server-sent event, or to '' if it has no content. */
async function loadDecoder(): Promise<(frame: Uint8Array) => string> {
  const { EventStreamCodec } = await import('@smithy/core/event-streams');
  const decoder = new TextDecoder();
  const codec = new EventStreamCodec(
    (bytes) => decoder.decode(toBytes(bytes)),
    (text) => new TextEncoder().encode(text),
  );
  return (frame) => {
    try {
      const { headers, body } = codec.decode(frame);
      const named = (name: string): string => String(headers[name]?.value ?? '');
      return writeFrame(
        {
          kind: named(':message-type'),
          event: named(':event-type'),
          exception: named(':exception-type') || named(':error-code'),
        },
        parse(decoder.decode(body)),
      );
    } catch (error) {
      throw new UpstreamFailure('Cut', 'a frame of the event stream cannot be read', error);
    }
  };
}

interface FrameNames {
  readonly kind: string;
  readonly event: string;
  readonly exception: string;
}

/** InvokeModel wraps the model's own events in base64; events of other operations have their names in the frame. */
function writeFrame({ kind, event, exception }: FrameNames, payload: JsonRecord): string {
  if (kind !== 'event') return writeEvent('error', { type: 'error', error: readException(exception, payload) });
  if (event !== 'chunk') return writeEvent(event, payload);
  const { bytes } = payload;
  if (typeof bytes !== 'string') throw new SyntaxError('a chunk without bytes');
  const { 'amazon-bedrock-invocationMetrics': _metrics, ...inner } = parse(
    Buffer.from(bytes, 'base64').toString('utf8'),
  );
  return typeof inner['type'] === 'string' ? writeEvent(inner['type'], inner) : '';
}

const ERROR_TYPES: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  validationException: 'invalid_request_error',
  modelTimeoutException: 'timeout_error',
};

function readException(name: string, payload: JsonRecord): JsonRecord {
  const message = payload['originalMessage'] ?? payload['message'] ?? `The provider reports ${name}.`;
  return { type: ERROR_TYPES[name] ?? 'api_error', message };
}

function writeEvent(name: string, data: JsonRecord): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function parse(text: string): JsonRecord {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new SyntaxError('not a JSON object');
  return { ...value };
}

function toBytes(bytes: Uint8Array | string): Uint8Array {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}
