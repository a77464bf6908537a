/**
 * From the provider's response to the client's: convert, meter, and hold back the end. A response that is not a stream
 * is buffered up to 8 MiB; a larger one passes through with its last piece held back.
 */
import { GatewayError } from '../errors.ts';
import type { ResponseContext, Meter, ProviderError, StreamConverter, StreamEnd } from '../protocol/converter.ts';
import { isEventStream } from '../protocol/sse.ts';
import { UNREPORTED_USAGE } from '../protocol/usage.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { CallOutcome, CallRecord, Forwarded, PipelineDeps } from './context.ts';
import { clientHeaders } from './response-headers.ts';
import { relayLarge } from './relay-large.ts';

/** Up to this size a response is held until it is settled, so that its headers can say what it cost. */
export const HELD_ANSWER_BYTES = 8 * 1024 * 1024;

/** How long a provider may take to close a stream after its terminal event. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Throws UpstreamFailure where the provider breaks off, also when the client leaves and its route cancels (Aborted).
 */
export async function relay(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<CallOutcome> {
  const { admitted, response } = forwarded;
  const isStream = admitted.routed.call.stream && !isJson(response.headers);
  return isStream ? relayStream(deps, forwarded, record) : relayBuffered(deps, forwarded, record);
}

async function relayStream(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<CallOutcome> {
  const { reply } = record.received;
  const stream = openStream(forwarded);
  record.meter = new RunningMeter(stream);
  const pieces = forwarded.response.body[Symbol.asyncIterator]();
  let unsent: Uint8Array | undefined;
  while (!stream.terminal) {
    const next = await pieces.next();
    if (next.done) break;
    const bytes = stream.push(next.value);
    if (bytes.length === 0) continue;
    if (!record.produced) noteOutput(deps, forwarded, record);
    // what arrives with the end is sent with the end
    if (stream.terminal && reply.started) unsent = bytes;
    else {
      if (!reply.started) startStream(forwarded, record);
      await reply.write(bytes);
    }
  }
  readToEnd(pieces, record.abort);
  return endStream(forwarded, { stream, record, unsent });
}

interface EndedStream {
  readonly stream: StreamConverter;
  readonly record: CallRecord;
  /** What the client must still get before the end. */
  readonly unsent: Uint8Array | undefined;
}

function endStream(forwarded: Forwarded, { stream, record, unsent }: EndedStream): CallOutcome {
  const end = prepend(unsent, stream.end());
  record.meter = stream.meter;
  if (end.outcome === 'Cut') throw new UpstreamFailure('Cut', 'the stream ended without its terminal event');
  if (end.outcome === 'Failed') {
    // its last event may be the first to say what was generated
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

/** For a client that has not got anything yet. */
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
    // until the response is complete, its size is all that is known of it
    record.produced = true;
    record.meter = { reported: UNREPORTED_USAGE, final: false, outputBytes: size };
    if (size > HELD_ANSWER_BYTES && mayPassThrough(forwarded))
      return relayLarge(deps, forwarded, { record, held: pieces, rest: reader });
  }
  return convertBuffered(forwarded, record, Buffer.concat(pieces, size));
}

function convertBuffered(forwarded: Forwarded, record: CallRecord, bytes: Uint8Array): CallOutcome {
  try {
    const { body, meter, job, failed = false } = forwarded.converter.response(bytes, answerContext(forwarded));
    record.meter = meter;
    if (failed) record.produced = record.sent = false;
    else record.jobId = job?.id;
    if (record.received.reply.gone) return { kind: 'ClientGone' };
    return { kind: 'Buffered', status: forwarded.response.status, headers: clientHeaders(forwarded), body, failed };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // nothing was produced that anybody could use
    record.produced = false;
    const { model } = forwarded.admitted.routed.call;
    throw new GatewayError('upstream_error', `The provider of "${model}" answered something that is not JSON.`);
  }
}

/** A conversion needs the whole response, and so does the id of a job. */
function mayPassThrough({ converter, admitted }: Forwarded): boolean {
  return converter.client === converter.upstream && admitted.routed.call.kind !== 'Videos';
}

/** The meter of a stream while it runs: it is read far less often than events pass. */
class RunningMeter implements Meter {
  readonly #stream: StreamConverter;
  constructor(stream: StreamConverter) { this.#stream = stream; }
  get reported(): Meter['reported'] { return this.#stream.meter.reported; }
  get final(): boolean { return this.#stream.meter.final; }
  get outputBytes(): number { return this.#stream.meter.outputBytes; }
}

/** Comments and pings that a provider sends while it thinks are not output. */
function noteOutput({ clock }: PipelineDeps, { admitted }: Forwarded, record: CallRecord): void {
  const { output } = admitted.routed.call;
  record.produced = output === undefined || (record.meter !== undefined && hasOutput(record.meter));
  if (record.produced) record.firstByteAt = clock.monotonicMs();
}

function hasOutput({ outputBytes, reported }: Meter): boolean {
  return outputBytes > 0 || (reported.output ?? 0) > 0;
}

function startStream(forwarded: Forwarded, { received: { reply } }: CallRecord): void {
  const headers = clientHeaders(forwarded);
  // it was read as events, whatever the provider calls it
  if (!isEventStream(headers['content-type'])) headers['content-type'] = 'text/event-stream; charset=utf-8';
  reply.start(forwarded.response.status, { ...headers, 'cache-control': 'no-cache', 'x-accel-buffering': 'no' });
}

function openStream(forwarded: Forwarded): StreamConverter {
  const { wantsStreamUsage, model } = forwarded.admitted.routed.call;
  return forwarded.converter.stream({ wantsStreamUsage, model, ...answerContext(forwarded) });
}

function answerContext({ admitted: { routed: { received }, bounds }, notes }: Forwarded): ResponseContext {
  return {
    id: received.requestId,
    createdSeconds: Math.floor(received.createdMs / 1000),
    estimatedInputTokens: bounds.estimatedInputTokens,
    ...notes && { notes },
  };
}

/** A provider that ignored `stream`. */
function isJson(headers: Readonly<Record<string, string>>): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '');
}

/**
 * A connection can be reused once its response was read to the end. After the terminal event one more read finds the
 * end in most cases; the exchange with a provider that goes on is aborted.
 */
function readToEnd(pieces: AsyncIterator<Uint8Array>, abort: AbortController): void {
  const timeout = setTimeout(() => abort.abort(), CLOSE_TIMEOUT_MS);
  pieces.next()
    .then((next) => { if (!next.done) abort.abort(); }, () => undefined)
    .finally(() => clearTimeout(timeout));
}
