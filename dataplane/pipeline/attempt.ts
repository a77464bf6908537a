/**
 * One attempt at one channel: convert the request, send it, and wait until the channel has shown what it is worth: an answer's
 * head, and of a stream its first piece. What went wrong comes back as a value, so that the next channel can be tried.
 */
import { RequestFault } from '../protocol/call-facts.ts';
import type { AnswerNotes, Converter, ProviderError, UpstreamBody } from '../protocol/converter.ts';
import { readProviderError } from '../protocol/provider-errors.ts';
import type { Provider } from '../protocol/provider.ts';
import { providerOf } from '../protocol/providers.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamFailureKind, UpstreamResponse } from '../upstream/upstream.ts';
import { requestHeaders } from '../upstream/headers.ts';
import type { Admitted, CallRecord, Forwarded, PipelineDeps } from './context.ts';
import { faultError } from './route.ts';

export type AttemptResult =
  | { readonly kind: 'Answered'; readonly forwarded: Forwarded }
  | { readonly kind: 'Refused'; readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly error: ProviderError }
  | { readonly kind: 'Broken'; readonly failure: UpstreamFailureKind };

/** A provider's error page is read as far as this; the rest says nothing more. */
const ERROR_BODY_BYTES = 64 * 1024;

/** Throws GatewayError (unsupported_parameter) where the channel's protocol cannot express the request. */
export async function attempt(deps: PipelineDeps, admitted: Admitted, record: CallRecord): Promise<AttemptResult> {
  const { candidate, call } = admitted;
  const startedAt = deps.clock.monotonicMs();
  const converter = call.converter(candidate);
  if (!converter) throw new Error('a candidate that cannot serve this endpoint was routed to');
  const { path, body, contentType = 'application/json', notes } = convertRequest(admitted, converter);
  const headers = requestHeaders(admitted.headers, candidate.target.foreignHeaders);
  headers['content-type'] = contentType;
  let result: AttemptResult;
  record.sent = true;
  try {
    const response = await deps.upstreams.send(candidate.target, { method: 'POST', path, body, stream: call.stream, signal: record.abort.signal, headers });
    const answer = readAnswer(response, { admitted, converter, record, notes });
    // an answer that is not a stream is not waited for again
    result = answer instanceof Promise ? await answer : answer;
  } catch (error) {
    result = broken(error, record);
  }
  record.attempts.push({ channel: candidate.target.id, protocol: candidate.target.protocol, outcome: outcomeOf(result), durationMs: deps.clock.monotonicMs() - startedAt });
  return result;
}

interface Sent {
  readonly admitted: Admitted;
  readonly converter: Converter;
  readonly record: CallRecord;
  readonly notes: AnswerNotes | undefined;
}

/** Of a stream the first piece is waited for. */
function readAnswer(response: UpstreamResponse, { admitted, converter, record, notes }: Sent): AttemptResult | Promise<AttemptResult> {
  if (!isAnswer(response.status)) {
    record.sent = false;
    return readRefusal(response, providerOf(admitted.candidate.target.protocol).readError);
  }
  if (!admitted.call.stream) return { kind: 'Answered', forwarded: forwardedBy(admitted, { converter, notes }, response) };
  return peek(response.body).then((body) => ({ kind: 'Answered', forwarded: forwardedBy(admitted, { converter, notes }, { status: response.status, headers: response.headers, body }) }));
}

function forwardedBy(admitted: Admitted, { converter, notes }: Pick<Forwarded, 'converter' | 'notes'>, response: UpstreamResponse): Forwarded {
  const { requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply, keyHash, key, call, offer, candidates, candidate, bounds, outputLimit, lowered } = admitted;
  return {
    requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply, keyHash, key, call, offer, candidates,
    candidate, bounds, outputLimit, lowered, converter, notes, response,
  };
}

function broken(error: unknown, record: CallRecord): AttemptResult {
  if (!(error instanceof UpstreamFailure)) throw error;
  // stopped for a client that left, the provider may be at work on it; what it did not answer or broke off itself is not owed
  record.sent = error.sent && error.kind === 'Aborted';
  return { kind: 'Broken', failure: error.kind };
}

/** 204 and 205 promise that nothing follows, so that no client reads what does. */
function isAnswer(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 205;
}

function convertRequest(admitted: Admitted, converter: Converter): UpstreamBody {
  const { candidate, call } = admitted;
  try {
    return converter.request(admitted.body.bytes, admitted.body.parse(), {
      upstreamModel: candidate.upstreamModel,
      maxOutputTokens: call.output ? admitted.outputLimit : undefined,
      outputLimitField: candidate.model.outputLimitField,
      scanned: admitted.body.scanned,
    });
  } catch (error) {
    if (error instanceof RequestFault) throw faultError(error);
    throw error;
  }
}

/** Waits for a stream's first piece and hands the whole body on. */
async function peek(body: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = body[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) throw new UpstreamFailure('Cut', 'the stream ended before its first byte');
  let pending: IteratorResult<Uint8Array> | undefined = first;
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        if (!pending) return iterator.next();
        const result = pending;
        pending = undefined;
        return Promise.resolve(result);
      },
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  };
}

/** What a provider says instead of an answer. */
export async function readRefusal(response: UpstreamResponse, readError: Provider['readError'] = readProviderError): Promise<AttemptResult> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of response.body) {
      pieces.push(piece);
      size += piece.length;
      if (size >= ERROR_BODY_BYTES) break;
    }
  } catch (error) {
    // the status is what counts; its text may be cut
    if (!(error instanceof UpstreamFailure)) throw error;
  }
  const error = readError(response.status, Buffer.concat(pieces).subarray(0, ERROR_BODY_BYTES));
  return { kind: 'Refused', status: response.status, headers: response.headers, error };
}

function outcomeOf(result: AttemptResult): string {
  switch (result.kind) {
    case 'Answered': return 'ok';
    case 'Refused': return `status_${result.status}`;
    case 'Broken': return result.failure.toLowerCase();
  }
}

/** The client left, and its route says that the provider is stopped then. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft';
}

