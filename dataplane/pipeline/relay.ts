/**
 * From the provider's answer to the client's: convert back, meter as it passes, hold back the end. Answers that are not streams
 * are held whole as far as 8 MiB; a larger one passes through with its last piece held back.
 */
import { GatewayError } from '../errors.ts';
import type { AnswerContext, Meter, ProviderError, StreamConverter, StreamEnd } from '../protocol/converter.ts';
import { isEventStream } from '../protocol/sse.ts';
import { NOTHING_REPORTED } from '../protocol/usage.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { CallRecord, Ending, Forwarded, PipelineDeps } from './context.ts';
import { answerHeaders } from './answer-headers.ts';
import { relayLarge } from './relay-large.ts';

/** Up to this size an answer is held until it is settled, so that its headers can tell what it cost. */
export const HELD_ANSWER_BYTES = 8 * 1024 * 1024;

/** So long a provider may take to close a stream that it has ended. */
const REST_TIMEOUT_MS = 1_000;
const NO_BYTES = Buffer.alloc(0);

/** Throws UpstreamFailure where the provider breaks off, also when the client leaves and its route cancels (Aborted). */
export function relay(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<Ending> {
  return forwarded.call.stream && !isJson(forwarded.response.headers) ? relayStream(deps, forwarded, record) : relayWhole(deps, forwarded, record);
}

async function relayStream(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<Ending> {
  const { reply } = forwarded;
  const stream = openStream(forwarded);
  record.meter = new RunningMeter(stream);
  const pieces = forwarded.response.body[Symbol.asyncIterator]();
  let rest: Uint8Array | undefined;
  while (!stream.terminal) {
    const next = await pieces.next();
    if (next.done) break;
    const bytes = stream.push(next.value);
    if (bytes.length === 0) continue;
    if (!record.produced) noteOutput(deps, forwarded, record);
    // what comes together with the end leaves together with it
    if (stream.terminal && reply.started) rest = bytes;
    else {
      if (!reply.started) startStream(forwarded);
      const taken = reply.write(bytes);
      if (taken) await taken;
    }
  }
  leaveRest(pieces, record.abort);
  return endStream(forwarded, { stream, record, rest });
}

interface EndedStream {
  readonly stream: StreamConverter;
  readonly record: CallRecord;
  /** What the client must still get before the end. */
  readonly rest: Uint8Array | undefined;
}

function endStream(forwarded: Forwarded, { stream, record, rest }: EndedStream): Ending {
  const end = withRest(stream.end(), rest);
  record.meter = stream.meter;
  if (end.outcome === 'Cut') throw new UpstreamFailure('Cut', 'the stream ended without its terminal event');
  if (end.outcome === 'Failed') {
    // its last event may be the first to say what was generated
    record.produced ||= stream.meter.outputBytes > 0 || (stream.meter.reported.output ?? 0) > 0;
    return { kind: 'ProviderFailed', last: end.last, error: streamError(forwarded.call.model, end.error) };
  }
  record.produced = true;
  if (forwarded.reply.gone) return { kind: 'ClientGone' };
  if (!forwarded.reply.started) startStream(forwarded);
  return { kind: 'Streamed', last: end.last };
}

function withRest(end: StreamEnd, rest: Uint8Array | undefined): StreamEnd {
  return rest && end.outcome !== 'Cut' ? { ...end, last: Buffer.concat([rest, end.last]) } : end;
}

/** In the error table's words, for a client that has seen nothing yet. */
function streamError(model: string, { type, message }: ProviderError): GatewayError {
  const said = `The provider of "${model}" ended the answer with an error: ${message}`;
  if (type === 'overloaded_error') return new GatewayError('upstream_overloaded', said);
  return new GatewayError(type === 'rate_limit_error' ? 'rate_limit_exceeded' : 'upstream_error', said);
}

async function relayWhole(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<Ending> {
  const { body } = forwarded.response;
  const reader = body[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    if (size > HELD_ANSWER_BYTES && mayPassLarge(forwarded)) return relayLarge(deps, forwarded, { record, held: pieces, rest: reader });
    const next = await reader.next();
    if (next.done) break;
    pieces.push(next.value);
    size += next.value.length;
    noteBytes(record, size);
  }
  const [only = NO_BYTES] = pieces;
  return convertWhole(forwarded, record, pieces.length > 1 ? Buffer.concat(pieces, size) : only);
}

/** Before an answer is whole, its bytes are all that is known of it. */
function noteBytes(record: CallRecord, outputBytes: number): void {
  record.produced = true;
  record.meter = { reported: NOTHING_REPORTED, final: false, outputBytes };
}

function convertWhole(forwarded: Forwarded, record: CallRecord, bytes: Uint8Array): Ending {
  try {
    const { body, meter, job, failed = false } = forwarded.converter.response(bytes, answerContext(forwarded));
    record.meter = meter;
    if (failed) record.produced = record.sent = false;
    else record.jobId = job?.id;
    if (forwarded.reply.gone) return { kind: 'ClientGone' };
    return { kind: 'Whole', status: forwarded.response.status, headers: answerHeaders(forwarded), body, failed };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // not an answer at all: nothing was produced that anybody could use
    record.produced = false;
    throw new GatewayError('upstream_error', `The provider of "${forwarded.call.model}" answered something that is not JSON.`);
  }
}

/** A conversion needs all of it, and a job must be known by its id. */
function mayPassLarge({ converter, call }: Forwarded): boolean {
  return converter.client === converter.upstream && call.kind !== 'Videos';
}

/** As of the moment it is read, which is seldom: events pass without a figure being made for each. */
class RunningMeter implements Meter {
  readonly #stream: StreamConverter;
  constructor(stream: StreamConverter) { this.#stream = stream; }
  get reported(): Meter['reported'] { return this.#stream.meter.reported; }
  get final(): boolean { return this.#stream.meter.final; }
  get outputBytes(): number { return this.#stream.meter.outputBytes; }
}

/** Comments and pings that a provider sends while it thinks are no output yet. */
function noteOutput(deps: PipelineDeps, { call }: Forwarded, record: CallRecord): void {
  const { outputBytes = 0, reported } = record.meter ?? {};
  record.produced = call.output === undefined || outputBytes > 0 || (reported?.output ?? 0) > 0;
  if (record.produced) record.firstByteAt = deps.clock.monotonicMs();
}

function startStream(forwarded: Forwarded): void {
  const headers = answerHeaders(forwarded);
  // what was read as events is called that, whatever the provider called it
  const contentType = isEventStream(headers['content-type']) ? headers['content-type'] : undefined;
  forwarded.reply.start(forwarded.response.status, {
    ...headers, 'content-type': contentType ?? 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', 'x-accel-buffering': 'no',
  });
}

function openStream(forwarded: Forwarded): StreamConverter {
  return forwarded.converter.stream({
    wantsStreamUsage: forwarded.call.wantsStreamUsage,
    model: forwarded.call.model,
    ...answerContext(forwarded),
  });
}

function answerContext({ requestId, createdMs, bounds, notes }: Forwarded): AnswerContext {
  const context = { id: requestId, createdSeconds: Math.floor(createdMs / 1000), estimatedInputTokens: bounds.estimatedInputTokens };
  return notes ? { ...context, notes } : context;
}

/** A provider that ignored `stream` and answers whole. */
function isJson(headers: Readonly<Record<string, string>>): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '');
}

/**
 * After the terminal event nothing matters, but a connection whose answer was read to its end can be used again: one more read
 * finds that end in most cases; a provider that goes on is left.
 */
function leaveRest(pieces: AsyncIterator<Uint8Array>, abort: CallRecord['abort']): void {
  const timeout = setTimeout(() => abort.abort(), REST_TIMEOUT_MS);
  pieces.next().then((next) => { if (!next.done) abort.abort(); }, () => undefined).finally(() => clearTimeout(timeout));
}

