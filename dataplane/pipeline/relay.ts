/**
 * From the provider's answer to the client's: convert back, meter as it passes, hold back the end. Answers that are not streams
 * are held whole as far as 8 MiB; a larger one passes through with its last piece held back.
 */
import { GatewayError } from '../errors.ts';
import type { AnswerContext, ProviderError, StreamConverter } from '../protocol/converter.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { CallRecord, Ending, Forwarded, PipelineDeps } from './context.ts';
import { answerHeaders } from './answer-headers.ts';
import { relayLarge } from './relay-large.ts';

/** Up to this size an answer is held until it is settled, so that its headers can tell what it cost. */
export const HELD_ANSWER_BYTES = 8 * 1024 * 1024;

/** So long a provider may take to close a stream that it has ended. */
const REST_PATIENCE_MS = 1_000;

/** Throws UpstreamFailure where the provider breaks off, also when the client leaves and its route cancels (Aborted). */
export function relay(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<Ending> {
  return forwarded.call.stream && !isJson(forwarded.response.headers) ? relayStream(deps, forwarded, record) : relayWhole(deps, forwarded, record);
}

async function relayStream(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<Ending> {
  const { reply } = forwarded;
  const stream = openStream(forwarded);
  record.meter = stream.meter;
  const pieces = forwarded.response.body[Symbol.asyncIterator]();
  while (!stream.terminal) {
    const next = await pieces.next();
    if (next.done) break;
    const bytes = stream.push(next.value);
    record.meter = stream.meter;
    if (bytes.length === 0) continue;
    noteOutput(deps, forwarded, record);
    if (!reply.started) startStream(forwarded);
    await reply.write(bytes);
  }
  leaveRest(pieces, record.abort);
  return endStream(forwarded, { stream, record });
}

function endStream(forwarded: Forwarded, { stream, record }: { stream: StreamConverter; record: CallRecord }): Ending {
  const end = stream.end();
  record.meter = stream.meter;
  if (end.outcome === 'Cut') throw new UpstreamFailure('Cut', 'the stream ended without its terminal event');
  if (end.outcome === 'Failed') {
    return { kind: 'ProviderFailed', last: end.last, error: streamError(forwarded.call.model, end.error) };
  }
  record.produced = true;
  if (forwarded.reply.gone) return { kind: 'ClientGone' };
  if (!forwarded.reply.started) startStream(forwarded);
  return { kind: 'Streamed', last: end.last };
}

/** In the error table's words, for a client that has seen nothing yet. */
function streamError(model: string, { type, message }: ProviderError): GatewayError {
  const said = `The provider of "${model}" ended the answer with an error: ${message}`;
  if (type === 'overloaded_error') return new GatewayError('upstream_overloaded', said);
  return new GatewayError(type === 'rate_limit_error' ? 'rate_limit_exceeded' : 'upstream_error', said);
}

async function relayWhole(deps: PipelineDeps, forwarded: Forwarded, record: CallRecord): Promise<Ending> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const body = forwarded.response.body[Symbol.asyncIterator]();
  for (let next = await body.next(); !next.done; next = await body.next()) {
    pieces.push(next.value);
    size += next.value.length;
    record.produced = true;
    record.meter = seenSoFar(size);
    if (size > HELD_ANSWER_BYTES && forwarded.converter.client === forwarded.converter.upstream)
      return relayLarge(deps, forwarded, { record, held: pieces, rest: body });
  }
  return convertWhole(forwarded, record, Buffer.concat(pieces, size));
}

function convertWhole(forwarded: Forwarded, record: CallRecord, bytes: Uint8Array): Ending {
  try {
    const { body, meter } = forwarded.converter.response(bytes, answerContext(forwarded));
    record.meter = meter;
    if (forwarded.reply.gone) return { kind: 'ClientGone' };
    return { kind: 'Whole', status: forwarded.response.status, headers: answerHeaders(forwarded), body };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // not an answer at all: nothing was produced that anybody could use
    record.produced = false;
    throw new GatewayError('upstream_error', `The provider of "${forwarded.call.model}" answered something that is not JSON.`);
  }
}

/** Before an answer is whole, its bytes are all that is known of it. */
function seenSoFar(bytes: number): NonNullable<CallRecord['meter']> {
  return { reported: { input: undefined, cached: undefined, cacheWrite5m: undefined, cacheWrite1h: undefined, output: undefined }, final: false, outputBytes: bytes };
}

/** Comments and pings that a provider sends while it thinks are no output yet. */
function noteOutput(deps: PipelineDeps, { call }: Forwarded, record: CallRecord): void {
  if (record.produced) return;
  const { outputBytes = 0, reported } = record.meter ?? {};
  record.produced = call.output === undefined || outputBytes > 0 || (reported?.output ?? 0) > 0;
  if (record.produced) record.firstByteAt = deps.clock.monotonicMs();
}

function startStream(forwarded: Forwarded): void {
  const headers = answerHeaders(forwarded);
  // what was read as events is called that, whatever the provider called it
  const contentType = /^text\/event-stream\b/i.test(headers['content-type'] ?? '') ? headers['content-type'] : undefined;
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

function answerContext({ requestId, createdMs, bounds }: Forwarded): AnswerContext {
  return { id: requestId, createdSeconds: Math.floor(createdMs / 1000), estimatedInputTokens: bounds.estimatedInputTokens };
}

/** A provider that ignored `stream` and answers whole. */
function isJson(headers: Readonly<Record<string, string>>): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '');
}

/**
 * After the terminal event nothing matters, but a connection whose answer was read to its end can be used again: one more read
 * finds that end in most cases; a provider that goes on is left.
 */
function leaveRest(pieces: AsyncIterator<Uint8Array>, abort: AbortController): void {
  const patience = setTimeout(() => abort.abort(), REST_PATIENCE_MS);
  pieces.next().then((next) => { if (!next.done) abort.abort(); }, () => undefined).finally(() => clearTimeout(patience));
}

