/**
 * Forwards a client's requests about responses that a provider stores: retrieval, deletion, input items and so on. The
 * end of a background response that they show is billed before the client learns of it.
 */
import { GatewayError } from '../errors.ts';
import type { JobRecord } from '../ledger/ledger.ts';
import type { ClientReply, PipelineDeps } from '../pipeline/context.ts';
import { brokenOff, readingError } from '../pipeline/free-request.ts';
import { readLargeEvents } from '../pipeline/large-events.ts';
import type { EventReading } from '../pipeline/large-events.ts';
import { STREAM_HEADERS } from '../pipeline/response-headers.ts';
import { sealingContext } from '../pipeline/sealing-context.ts';
import { RESPONSE_ID } from '../protocol/openai/response-seals.ts';
import { responseJobs, responsesConverter } from '../protocol/openai/responses.ts';
import { responseHeaders } from '../upstream/headers.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { outcomeOf } from './job-outcome.ts';
import type { SeenJob } from './job-outcome.ts';
import { askKeeper, exchange, findKept, findKeptByJob } from './kept-state.ts';
import type { Kept, KeptStateRequest } from './kept-state.ts';
import { recordJobEnd } from './record-job-end.ts';
import type { BufferedResponse } from './videos.ts';

const NOT_KEPT =
  'This account has no such response here: only a response that its provider keeps can be asked for, by ' +
  'the id that its call answered. Read the answer of POST /v1/responses itself, and send whole conversations in ' +
  '"input".';

const NO_BYTES = Buffer.alloc(0);
const BEFORE_END = 'before the end of the response';

/**
 * Returns the provider's response with its ids sealed again. `id` is the sealed id that the client was given. Throws
 * the errors of a call, LedgerUnavailable, and not_found if the account has no such response or the key may not use its
 * channel any more. A background response needs only a channel that is still configured.
 */
export async function askForResponse(
  deps: PipelineDeps,
  asked: KeptStateRequest,
  id: string,
): Promise<BufferedResponse> {
  const kept = await find(deps, asked, id);
  if (asked.method === 'DELETE') return deleteResponse(deps, asked, kept);
  const { answer, seen } = await ask(deps, asked, kept);
  await billEnd(deps, asked, { kept, seen });
  return answer;
}

/**
 * Streams the events of a stored response, those after the query's `starting_after`. Resolves with the HTTP status;
 * throws as askForResponse, and upstream_error if the provider ends the stream early.
 */
export async function streamResponse(
  deps: PipelineDeps,
  asked: KeptStateRequest,
  { id, reply }: { readonly id: string; readonly reply: ClientReply },
): Promise<number> {
  const kept = await find(deps, asked, id);
  const { status, last, seen } = await exchange(deps, asked, kept, {
    about: 'response',
    path: responseJobs.path(kept.ownId),
    body: undefined,
    stream: true,
    use: async (response) => ({
      status: response.status,
      ...(await relayEvents(deps, response, { asked, kept, reply })),
    }),
  });
  if (seen) await billEnd(deps, asked, { kept, seen });
  reply.end(last);
  return status;
}

interface Relaying {
  readonly asked: KeptStateRequest;
  readonly kept: Kept;
  readonly reply: ClientReply;
}

interface Streamed {
  /** The terminal event. */
  readonly last: Uint8Array;
  /** Undefined: the response was not made in the background, or has no id. */
  readonly seen: SeenJob | undefined;
}

/** Sends all events but the terminal one. */
async function relayEvents(
  { bodyWorker, state }: PipelineDeps,
  { status, headers, body }: UpstreamResponse,
  { asked, kept, reply }: Relaying,
): Promise<Streamed> {
  const stream = responsesConverter.stream({
    id: asked.requestId,
    model: kept.offered.model.name,
    createdSeconds: 0,
    estimatedInputTokens: 0,
    wantsStreamUsage: true,
    seal: kept.seal,
    notes: { sealedIds: new Map([[kept.ownId, kept.id]]) },
  });
  const type = { 'content-type': 'text/event-stream; charset=utf-8' };
  reply.start(status, { ...responseHeaders(headers), ...type, ...STREAM_HEADERS });
  const { key, hold } = asked;
  const reading: EventReading = {
    worker: bodyWorker,
    key: key.uid,
    sealing: () => sealingContext(state.get(), key, kept.offered, kept.images),
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
  return { last: end.last, seen: stream.job };
}

async function find(deps: PipelineDeps, { key }: KeptStateRequest, id: string): Promise<Kept> {
  const sealed = { id, kind: RESPONSE_ID };
  const kept = findKept(deps.state.get(), key, sealed) ?? (await findKeptByJob(deps, key, sealed));
  if (!kept) throw new GatewayError('not_found', NOT_KEPT);
  return kept;
}

interface Asked {
  readonly answer: BufferedResponse;
  readonly seen: SeenJob;
}

async function ask(deps: PipelineDeps, asked: KeptStateRequest, kept: Kept): Promise<Asked> {
  const path = `${responseJobs.path(kept.ownId)}${asked.below}`;
  const { response, body, seen } = await askKeeper(deps, asked, kept, { about: 'response', path, body: undefined });
  return { answer: { response, body }, seen };
}

/** Ends a background response first, because nobody could learn what it consumed after its deletion. */
async function deleteResponse(deps: PipelineDeps, asked: KeptStateRequest, kept: Kept): Promise<BufferedResponse> {
  const job = await runningJob(deps, asked, kept);
  if (!job) return (await ask(deps, asked, kept)).answer;
  const retrieve = (): Promise<Asked> => ask(deps, { ...asked, method: 'GET', query: '' }, kept);
  let { seen } = await retrieve();
  if (seen.state === 'Running') {
    const cancelling = ask(deps, { ...asked, method: 'POST', below: '/cancel', query: '' }, kept);
    // a provider may refuse to cancel what has just ended
    ({ seen } = await cancelling.catch(retrieve));
  }
  const ended = outcomeOf(job, seen);
  if (ended) await recordJobEnd(deps, job, ended);
  const { answer } = await ask(deps, asked, kept);
  if (!ended) await recordJobEnd(deps, job, { end: 'Deleted' });
  return answer;
}

interface Seen {
  readonly kept: Kept;
  readonly seen: SeenJob;
}

/** Bills a background response that the account has not been billed for yet. */
async function billEnd(deps: PipelineDeps, asked: KeptStateRequest, { kept, seen }: Seen): Promise<void> {
  const job = seen.state === 'Running' ? undefined : await runningJob(deps, asked, kept);
  const ended = job && outcomeOf(job, seen);
  if (ended) await recordJobEnd(deps, job, ended);
}

async function runningJob(
  { ledger }: PipelineDeps,
  { key }: KeptStateRequest,
  { offered, ownId }: Kept,
): Promise<JobRecord | undefined> {
  const job = await ledger.readChannelJob(key.account, offered.target.id, ownId);
  return job?.state === 'Running' ? job : undefined;
}
