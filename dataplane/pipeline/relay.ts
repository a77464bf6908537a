/**
 * Relays the provider's response to the client: converts it, meters it, and withholds its end until the settlement. A
 * response that is not a stream is buffered up to 8 MiB; a larger one is streamed.
 */
import { GatewayError } from '../errors.ts';
import type { ResponseContext, Meter, ProviderError, StreamConverter, StreamEnd } from '../protocol/converter.ts';
import { isEventStream } from '../protocol/sse.ts';
import { hasOutput, UNREPORTED_USAGE } from '../protocol/usage.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import { createsJob } from './context.ts';
import type { CallOutcome, CallRecord, Forwarded, PipelineDeps } from './context.ts';
import { clientHeaders, STREAM_HEADERS } from './response-headers.ts';
import { relayLarge } from './relay-large.ts';
import { sealingContext } from './sealing-context.ts';

/** A response up to this size is buffered until it is settled, so that its headers can carry its cost. */
export const MAX_BUFFERED_BYTES = 8 * 1024 * 1024;

/** How long a provider may take to close a stream after its terminal event. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Rejects with UpstreamFailure if the response ends early or, with the kind Aborted, if the gateway cancels it because
 * the client has disconnected.
 */
export function relay(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<CallOutcome> {
  const { admitted, response } = forwarded;
  const isStream = admitted.routed.call.stream && !isJson(response.headers);
  return isStream ? relayStream(deps, forwarded, record) : relayBuffered(deps, forwarded, record);
}

async function relayStream(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<CallOutcome> {
  const stream = openStream(deps, forwarded);
  record.meter = new RunningMeter(stream);
  record.writeFailure = stream.fail;
  const pieces = forwarded.response.body[Symbol.asyncIterator]();
  try {
    const unsent = await relayPieces(deps, forwarded, { stream, record, pieces });
    readToEnd(pieces, record.abort);
    return endStream(forwarded, { stream, record, unsent });
  } finally {
    // however the stream ended, the provider may go on
    if (isInBackground(forwarded) && stream.job?.state === 'Running') record.job = stream.job;
  }
}

interface RunningStream {
  readonly stream: StreamConverter;
  readonly record: CallRecord;
  readonly pieces: AsyncIterator<Uint8Array>;
}

/** Sends everything up to the terminal event. Resolves with the converted bytes that wait for the settlement. */
async function relayPieces(
  deps: PipelineDeps,
  forwarded: Forwarded,
  { stream, record, pieces }: RunningStream,
): Promise<Uint8Array | undefined> {
  const { reply } = record.received;
  let unsent: Uint8Array | undefined;
  while (!stream.terminal) {
    const next = await pieces.next();
    if (next.done) break;
    const bytes = pushPiece(stream, next.value, forwarded, record);
    if (bytes.length === 0) continue;
    if (!record.produced) noteOutput(deps, forwarded, record);
    // data that arrives together with the terminal event waits for the settlement too
    if (stream.terminal && reply.started) unsent = bytes;
    else {
      if (!reply.started) startStream(forwarded, record);
      await reply.write(bytes);
    }
  }
  return unsent;
}

/**
 * Converts a chunk. If it has more text for a client that has disconnected, and the policy is Cancel, cancels the
 * stream.
 */
function pushPiece(
  stream: StreamConverter,
  piece: Uint8Array,
  { admitted }: Forwarded,
  { received, abort }: CallRecord,
): Uint8Array {
  if (!received.reply.gone || admitted.candidate.clientDisconnect !== 'Cancel') return stream.push(piece);
  const { outputBytes } = stream.meter;
  const bytes = stream.push(piece);
  if (!stream.meter.final && stream.meter.outputBytes > outputBytes) abort.abort();
  return bytes;
}

interface EndedStream {
  readonly stream: StreamConverter;
  readonly record: CallRecord;
  /** Converted bytes that were not sent to the client. */
  readonly unsent: Uint8Array | undefined;
}

function endStream(forwarded: Forwarded, { stream, record, unsent }: EndedStream): CallOutcome {
  const end = prepend(unsent, stream.end());
  record.meter = stream.meter;
  if (end.outcome === 'Cut') throw new UpstreamFailure('Cut', 'the stream ended without its terminal event');
  if (end.outcome === 'Failed') {
    // the error event may be the first one with usage
    record.produced ||= hasOutput(stream.meter);
    const { model } = forwarded.admitted.routed.call;
    return { kind: 'ProviderFailed', last: end.last, error: streamError(model, end.error) };
  }
  record.produced = true;
  const { reply } = record.received;
  if (reply.gone) return { kind: 'ClientGone' };
  if (!reply.started) startStream(forwarded, record);
  return { kind: 'Streamed', last: end.last };
}

function prepend(bytes: Uint8Array | undefined, end: StreamEnd): StreamEnd {
  return bytes && end.outcome !== 'Cut' ? { ...end, last: Buffer.concat([bytes, end.last]) } : end;
}

/** The error for a client whose response has not started. */
function streamError(model: string, { type, message }: ProviderError): GatewayError {
  const text = `The provider of "${model}" ended the answer with an error: ${message}`;
  if (type === 'overloaded_error') return new GatewayError('upstream_overloaded', text);
  return new GatewayError(type === 'rate_limit_error' ? 'rate_limit_exceeded' : 'upstream_error', text);
}

async function relayBuffered(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<CallOutcome> {
  const reader = forwarded.response.body[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (let next = await reader.next(); !next.done; next = await reader.next()) {
    pieces.push(next.value);
    size += next.value.length;
    // only the size of an incomplete response is metered
    record.produced = true;
    record.meter = { reported: UNREPORTED_USAGE, final: false, outputBytes: size };
    if (size > MAX_BUFFERED_BYTES && mayPassThrough(forwarded))
      return relayLarge(deps, forwarded, { record, buffered: pieces, rest: reader });
  }
  const [only] = pieces;
  return convertBuffered(deps, forwarded, record, only && pieces.length === 1 ? only : Buffer.concat(pieces, size));
}

function convertBuffered(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord, bytes: Uint8Array): CallOutcome {
  try {
    const { body, meter, job, failed = false } = forwarded.converter.response(bytes, answerContext(deps, forwarded));
    record.meter = meter;
    if (failed) record.produced = record.sent = false;
    else if (job && (job.consumed === undefined || isInBackground(forwarded))) record.job = job;
    if (record.received.reply.gone) return { kind: 'ClientGone' };
    return { kind: 'Buffered', status: forwarded.response.status, headers: clientHeaders(forwarded), body, failed };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // an unreadable response is not billed
    record.produced = false;
    const { model } = forwarded.admitted.routed.call;
    throw new GatewayError('upstream_error', `The provider of "${model}" answered something that is not JSON.`);
  }
}

function isInBackground({
  admitted: {
    routed: { call },
  },
}: Forwarded): boolean {
  return call.background === true;
}

/** True unless the whole response is needed, for a conversion or to read a job's id. */
function mayPassThrough(forwarded: Forwarded): boolean {
  const { converter, admitted } = forwarded;
  return converter.client === converter.upstream && !createsJob(admitted.routed.call);
}

/** The meter of a running stream. It computes its figures when they are read, because events are far more frequent. */
class RunningMeter implements Meter {
  readonly #stream: StreamConverter;
  constructor(stream: StreamConverter) {
    this.#stream = stream;
  }
  get reported(): Meter['reported'] {
    return this.#stream.meter.reported;
  }
  get final(): boolean {
    return this.#stream.meter.final;
  }
  get outputBytes(): number {
    return this.#stream.meter.outputBytes;
  }
  get outputTexts(): readonly string[] {
    return this.#stream.meter.outputTexts ?? [];
  }
}

/** Records the first output. Comments and pings before the first text do not count. */
function noteOutput({ clock }: PipelineDeps, { admitted }: Forwarded, record: CallRecord): void {
  const { output } = admitted.routed.call;
  record.produced = output === undefined || (record.meter !== undefined && hasOutput(record.meter));
  if (record.produced) record.firstByteAt = clock.monotonicMs();
}

function startStream(forwarded: Forwarded, { received: { reply } }: CallRecord): void {
  const headers = clientHeaders(forwarded);
  const { streamType } = forwarded.admitted.routed.call;
  // the body is a stream of this type, whatever content type the provider sends
  if (streamType !== undefined) headers['content-type'] = streamType;
  else if (!isEventStream(headers['content-type'])) headers['content-type'] = 'text/event-stream; charset=utf-8';
  reply.start(forwarded.response.status, { ...headers, ...STREAM_HEADERS });
}

function openStream(deps: PipelineDeps, forwarded: Forwarded): StreamConverter {
  const { wantsStreamUsage, model } = forwarded.admitted.routed.call;
  return forwarded.converter.stream({ ...answerContext(deps, forwarded), wantsStreamUsage, model });
}

function answerContext({ state }: PipelineDeps, { admitted, notes }: Forwarded): ResponseContext {
  const {
    candidate,
    routed: {
      key,
      received,
      continuesImages = false,
      call: { model, bringsImages = false },
    },
    bounds,
  } = admitted;
  const images = continuesImages || (bringsImages && candidate.model.acceptsImages);
  const sealing = sealingContext(state.get(), key, candidate, images);
  return {
    id: received.requestId,
    model,
    createdSeconds: Math.floor(received.createdMs / 1000),
    estimatedInputTokens: bounds.estimatedInputTokens,
    ...(notes && { notes }),
    seal: sealing && createChannelSeal(sealing),
  };
}

/** True if the provider ignored `stream` and responds with JSON. */
function isJson(headers: Readonly<Record<string, string>>): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '');
}

/**
 * Reads on after the terminal event, because a connection can be reused only after the end of its response. Closes the
 * connection if the provider sends more, or does not end its response in time.
 */
function readToEnd(pieces: AsyncIterator<Uint8Array>, abort: AbortController): void {
  const timeout = setTimeout(() => abort.abort(), CLOSE_TIMEOUT_MS);
  pieces
    .next()
    .then(
      (next) => {
        if (!next.done) abort.abort();
      },
      () => undefined,
    )
    .finally(() => clearTimeout(timeout));
}
