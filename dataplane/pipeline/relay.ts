/**
 * Relays an opened response to the client: converts and meters what follows, and withholds its end until the
 * settlement. A response that is not a stream is buffered up to 8 MiB; a larger one is streamed.
 */
import { GatewayError } from '../errors.ts';
import type { ConvertedResponse, ProviderError, StreamConverter, StreamEnd } from '../protocol/converter.ts';
import { isEventStream } from '../protocol/sse.ts';
import { hasOutput } from '../protocol/usage.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { CallOutcome, CallRecord, Forwarded, OpenedStream, PipelineDeps } from './context.ts';
import { isInBackground, pushPiece, readRest, stopReading } from './open-response.ts';
import { clientHeaders, EVENT_STREAM_TYPE, STREAM_HEADERS } from './response-headers.ts';
import { relayLarge } from './relay-large.ts';

/** Of bytes of which the provider says nothing. */
const BYTES_TYPE = 'application/octet-stream';
/** How long a provider may take to close a stream after its terminal event. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * Rejects with UpstreamFailure if the response ends early or, with the kind Aborted, if the gateway cancels it because
 * the client has disconnected.
 */
export async function relay(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<CallOutcome> {
  const { opening } = forwarded;
  switch (opening.kind) {
    case 'Stream':
      return relayStream(deps, forwarded, { ...opening, record });
    case 'Large':
      if (record.received.reply.started) await stopReading(record, opening.rest);
      refuseInStream(forwarded, record);
      return relayLarge(deps, forwarded, { ...opening, record });
    case 'Whole':
      refuseInStream(forwarded, record);
      return relayWhole(forwarded, record, opening.converted);
  }
}

/** A response that has begun as a stream, with pings, cannot become a whole one. It costs nothing. */
function refuseInStream({ admitted }: Forwarded, record: CallRecord): void {
  if (!record.received.reply.started) return record.pinging.stop();
  record.produced = record.sent = false;
  const message = `The provider of "${admitted.routed.call.model}" does not stream its answer.`;
  throw new GatewayError('upstream_error', message);
}

interface RunningStream extends OpenedStream {
  readonly record: CallRecord;
}

async function relayStream(deps: PipelineDeps, forwarded: Forwarded, running: RunningStream): Promise<CallOutcome> {
  const { stream, record, pieces } = running;
  try {
    const unsent = await relayPieces(deps, forwarded, running);
    readToEnd(pieces, record);
    return endStream(forwarded, running, unsent);
  } finally {
    // however the stream ended, the provider may go on
    if (isInBackground(forwarded) && stream.job?.state === 'Running') record.job = stream.job;
  }
}

/** Sends everything up to the terminal event. Resolves with the converted bytes that wait for the settlement. */
async function relayPieces(
  deps: PipelineDeps,
  forwarded: Forwarded,
  { stream, record, pieces, first }: RunningStream,
): Promise<Uint8Array | undefined> {
  const { reply } = record.received;
  const read = { stream, answered: forwarded, record, pieces };
  for (let bytes = first; ;) {
    if (bytes.length > 0) {
      if (!record.produced) noteOutput(deps, forwarded, record);
      // data that arrives together with the terminal event waits for the settlement too
      if (stream.terminal && reply.started) return bytes;
      if (!reply.started) startStream(forwarded, record, stream);
      await reply.write(bytes);
    }
    if (stream.terminal) return undefined;
    const next = await pieces.next();
    if (next.done) return readRest(deps, read);
    bytes = await pushPiece(deps, read, next.value);
  }
}

function endStream(
  forwarded: Forwarded,
  { stream, record, end: ended }: RunningStream,
  unsent: Uint8Array | undefined,
): CallOutcome {
  const end = prepend(unsent, ended ?? stream.end());
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
  if (!reply.started) startStream(forwarded, record, stream);
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

function relayWhole(forwarded: Forwarded, record: CallRecord, converted: ConvertedResponse): CallOutcome {
  const { body, meter, job, failed = false } = converted;
  record.meter = meter;
  if (failed) record.produced = record.sent = false;
  else if (job && (job.consumed === undefined || isInBackground(forwarded))) record.job = job;
  if (record.received.reply.gone) return { kind: 'ClientGone' };
  return { kind: 'Buffered', status: forwarded.response.status, headers: clientHeaders(forwarded), body, failed };
}

/** Records the first output. Comments and pings before the first text do not count. */
function noteOutput({ clock }: PipelineDeps, { admitted }: Forwarded, record: CallRecord): void {
  const { output, kind } = admitted.routed.call;
  // an event of images is one of them, or a draft
  const isOutput = output === undefined || kind === 'Images';
  record.produced = isOutput || (record.meter !== undefined && hasOutput(record.meter));
  if (record.produced) record.firstByteAt = clock.monotonicMs();
}

function startStream(
  forwarded: Forwarded,
  { received: { reply }, pinging }: CallRecord,
  { passesBytes = false }: StreamConverter,
): void {
  const headers = clientHeaders(forwarded);
  const { streamType } = forwarded.admitted.routed.call;
  if (passesBytes) pinging.stop();
  if (passesBytes) headers['content-type'] = forwarded.response.headers['content-type'] ?? BYTES_TYPE;
  // the body is a stream of this type, whatever content type the provider sends
  else if (streamType !== undefined) headers['content-type'] = streamType;
  else if (!isEventStream(headers['content-type'])) headers['content-type'] = EVENT_STREAM_TYPE;
  reply.start(forwarded.response.status, { ...headers, ...STREAM_HEADERS });
}

/**
 * Reads on after the terminal event, because a connection can be reused only after the end of its response. Closes the
 * connection if the provider sends more, or does not end its response in time.
 */
function readToEnd(pieces: OpenedStream['pieces'], record: CallRecord): void {
  const timeout = setTimeout(() => record.abort.abort(), CLOSE_TIMEOUT_MS);
  pieces
    .next()
    .then(
      (next) => (next.done ? undefined : stopReading(record, pieces)),
      () => undefined,
    )
    .finally(() => clearTimeout(timeout));
}
