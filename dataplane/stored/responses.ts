/**
 * Forwards a client's requests about responses that a provider stores: retrieval, deletion, input items and so on. The
 * end of a background response that they show is billed before the client learns of it.
 */
import { GatewayError } from '../errors.ts';
import { outcomeOf } from '../jobs/job-outcome.ts';
import type { JobState } from '../jobs/job-outcome.ts';
import { recordJobEnd } from '../jobs/record-job-end.ts';
import { runningJob } from '../jobs/running-job.ts';
import type { ClientReply, PipelineDeps } from '../pipeline/context.ts';
import { brokenOff, readingError } from '../pipeline/free-request.ts';
import { readLargeEvents } from '../pipeline/large-events.ts';
import type { EventReading } from '../pipeline/large-events.ts';
import { STREAM_HEADERS } from '../pipeline/response-headers.ts';
import { sealingContext } from '../pipeline/sealing-context.ts';
import { ownResponseId } from '../protocol/openai/continued-input.ts';
import { RESPONSE_ID } from '../protocol/openai/response-seals.ts';
import type { Jobs } from '../protocol/converter.ts';
import { endpointOf } from '../protocol/providers.ts';
import { responseHeaders } from '../upstream/headers.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { exchange, passRequest } from './client-request.ts';
import type { ClientRequest, SealedResponse } from './client-request.ts';
import { requestOwnResponse } from './own-responses.ts';
import type { BufferedResponse } from './respond.ts';
import { findStored, findStoredByJob, openId } from './stored-object.ts';
import type { StoredObject } from './stored-object.ts';

const NOT_FOUND =
  'This account has no such response here: only a response that its provider or the gateway keeps can be asked ' +
  'for, by the id that its call answered. Read the answer of POST /v1/responses itself, and send whole ' +
  'conversations in "input".';

const NO_BYTES = Buffer.alloc(0);
const BEFORE_END = 'before the end of the response';

/**
 * Returns the provider's response with its ids sealed again. `id` is the sealed id that the client was given. Throws
 * the errors of a call, LedgerUnavailable, and not_found if the account has no such response or the key may not use its
 * channel any more. A background response needs only a channel that is still configured.
 */
export async function requestResponse(
  deps: PipelineDeps,
  request: ClientRequest,
  id: string,
): Promise<BufferedResponse> {
  const own = deps.kept && ownResponseId(id);
  if (own !== undefined) return requestOwnResponse(deps, request, { id: own, missing: notFound() });
  const stored = await find(deps, request, id);
  if (request.method === 'DELETE') return deleteResponse(deps, request, stored);
  const passed = await pass(deps, request, stored);
  await billEnd(deps, request, { stored, job: passed.job });
  return passed;
}

/**
 * Streams the events of a stored response, those after the query's `starting_after`. Resolves with the HTTP status;
 * throws as requestResponse, and upstream_error if the provider ends the stream early.
 */
export async function streamResponse(
  deps: PipelineDeps,
  request: ClientRequest,
  { id, reply }: { readonly id: string; readonly reply: ClientReply },
): Promise<number> {
  if (deps.kept && ownResponseId(id) !== undefined) throw unstreamable();
  const stored = await find(deps, request, id);
  const { status, last, job } = await exchange(deps, request, stored, {
    about: 'response',
    path: jobsOf(stored).path(stored.providerId),
    body: undefined,
    stream: true,
    use: async (response) => ({
      status: response.status,
      ...(await relayEvents(deps, response, { request, stored, reply })),
    }),
  });
  if (job) await billEnd(deps, request, { stored, job });
  reply.end(last);
  return status;
}

interface Relaying {
  readonly request: ClientRequest;
  readonly stored: StoredObject;
  readonly reply: ClientReply;
}

interface Streamed {
  /** The terminal event. */
  readonly last: Uint8Array;
  /** Undefined: the response was not made in the background, or has no id. */
  readonly job: JobState | undefined;
}

/** Sends all events but the terminal one. */
async function relayEvents(
  { bodyWorker, state }: PipelineDeps,
  { status, headers, body }: UpstreamResponse,
  { request, stored, reply }: Relaying,
): Promise<Streamed> {
  const { requestId, key, hold } = request;
  const { channel, seal, sealedId, providerId, images } = stored;
  const stream = endpointOf(channel.target.protocol, 'responses').stream({
    id: requestId,
    model: channel.model.name,
    createdSeconds: 0,
    nowSeconds: () => 0,
    estimatedInputTokens: 0,
    wantsStreamUsage: true,
    seal,
    notes: { sealedIds: new Map([[providerId, sealedId]]) },
  });
  const type = { 'content-type': 'text/event-stream; charset=utf-8' };
  reply.start(status, { ...responseHeaders(headers), ...type, ...STREAM_HEADERS });
  const reading: EventReading = {
    worker: bodyWorker,
    key: key.uid,
    sealing: () => sealingContext(state.get(), key, channel, images),
    hold,
  };
  try {
    for await (const piece of body) {
      await reply.write(await readLargeEvents(reading, stream, stream.push(piece)));
      if (stream.terminal) break;
    }
    stream.endOfInput?.();
    await reply.write(await readLargeEvents(reading, stream, NO_BYTES));
  } catch (error) {
    throw readingError(error, BEFORE_END);
  }
  const end = stream.end();
  if (end.outcome === 'Cut') throw brokenOff(BEFORE_END);
  return { last: end.last, job: stream.job };
}

async function find(deps: PipelineDeps, { key }: ClientRequest, id: string): Promise<StoredObject> {
  const state = deps.state.get();
  const named = openId(state, key, { id, kind: RESPONSE_ID });
  const stored = named && (findStored(state, key, named) ?? (await findStoredByJob(deps, key, named)));
  if (!stored) throw notFound();
  return stored;
}

function notFound(): GatewayError {
  return new GatewayError('not_found', NOT_FOUND);
}

function unstreamable(): GatewayError {
  const message = 'Only a response in the background can be streamed again. Leave "stream" out.';
  return new GatewayError('invalid_request', message, { param: 'stream' });
}

function jobsOf({ channel }: StoredObject): Jobs {
  return endpointOf(channel.target.protocol, 'responseJobs');
}

function pass(deps: PipelineDeps, request: ClientRequest, stored: StoredObject): Promise<SealedResponse> {
  const path = jobsOf(stored).path(stored.providerId) + request.below;
  return passRequest(deps, request, stored, { about: 'response', path, body: undefined });
}

/** Ends a background response first, because nobody could learn what it consumed after its deletion. */
async function deleteResponse(
  deps: PipelineDeps,
  request: ClientRequest,
  stored: StoredObject,
): Promise<BufferedResponse> {
  const running = await runningJob(deps, request.key.account, jobAt(stored));
  if (!running) return pass(deps, request, stored);
  const retrieve = (): Promise<SealedResponse> => pass(deps, { ...request, method: 'GET', query: '' }, stored);
  let { job } = await retrieve();
  if (job.state === 'Running') {
    const cancelling = pass(deps, { ...request, method: 'POST', below: '/cancel', query: '' }, stored);
    // a provider may refuse to cancel what has just ended
    ({ job } = await cancelling.catch(retrieve));
  }
  const ended = outcomeOf(running, job);
  if (ended) await recordJobEnd(deps, running, ended);
  const deleted = await pass(deps, request, stored);
  if (!ended) await recordJobEnd(deps, running, { end: 'Deleted' });
  return deleted;
}

interface DescribedJob {
  readonly stored: StoredObject;
  /** As the provider's response describes it. */
  readonly job: JobState;
}

/** Bills a background response that the account has not been billed for yet. */
async function billEnd(deps: PipelineDeps, request: ClientRequest, { stored, job }: DescribedJob): Promise<void> {
  const running = job.state === 'Running' ? undefined : await runningJob(deps, request.key.account, jobAt(stored));
  const ended = running && outcomeOf(running, job);
  if (ended) await recordJobEnd(deps, running, ended);
}

function jobAt({ channel, providerId }: StoredObject): { readonly channelId: string; readonly id: string } {
  return { channelId: channel.target.id, id: providerId };
}
