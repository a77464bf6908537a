/**
 * Forwards a client's requests about responses that a provider stores: retrieval, deletion, input items and so on. The
 * end of a background response that they show is billed before the client learns of it.
 */
import { GatewayError } from '../errors.ts';
import type { ClientReply, PipelineDeps } from '../pipeline/context.ts';
import { parseObject } from '../protocol/json-value.ts';
import { RESPONSE_ID } from '../protocol/openai/response-seals.ts';
import { readResponseState, responseJobs, responsesConverter } from '../protocol/openai/responses.ts';
import { responseHeaders } from '../upstream/headers.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { outcomeOf } from './job-outcome.ts';
import type { SeenJob } from './job-outcome.ts';
import { askKeeper, exchange, findKept } from './kept-state.ts';
import type { Kept, KeptStateRequest } from './kept-state.ts';
import { recordJobEnd } from './record-job-end.ts';
import type { BufferedResponse } from './videos.ts';

const NOT_KEPT = 'This account has no such response here: only a response that its provider keeps can be asked for, by '
  + 'the id that its call answered. Read the answer of POST /v1/responses itself, and send whole conversations in '
  + '"input".';

/**
 * Returns the provider's response, with its ids sealed again. `id` is the sealed id that the client was given. Throws
 * not_found if the response belongs to another account or its channel is no longer available to the key, the errors of
 * a call, and LedgerUnavailable.
 */
export async function askForResponse(
  deps: PipelineDeps, asked: KeptStateRequest, id: string,
): Promise<BufferedResponse> {
  const kept = find(deps, asked, id);
  if (asked.method === 'DELETE') await endBeforeDeletion(deps, asked, kept);
  const answer = await ask(deps, asked, kept);
  const job = readJob(answer);
  if (job && job.state !== 'Running') await recordEnd(deps, asked, { kept, job });
  return answer;
}

/**
 * Streams the events of a stored response, those after the query's `starting_after`. Resolves with the HTTP status;
 * throws as askForResponse, and upstream_error if the provider ends the stream early.
 */
export async function streamResponse(
  deps: PipelineDeps, asked: KeptStateRequest, { id, reply }: { readonly id: string; readonly reply: ClientReply },
): Promise<number> {
  const kept = find(deps, asked, id);
  const path = responseJobs.path(kept.ownId);
  const { status, last } = await exchange(deps, asked, kept, {
    about: 'response', path, body: undefined, stream: true,
    use: async (response) => ({
      status: response.status, last: await relayEvents(response, reply, { asked, kept }),
    }),
  });
  await endIfBackground(deps, asked, kept);
  reply.end(last);
  return status;
}

interface Relayed {
  readonly asked: KeptStateRequest;
  readonly kept: Kept;
}

/** Sends all events but the terminal one, with which it resolves. */
async function relayEvents(
  { status, headers, body }: UpstreamResponse, reply: ClientReply, { asked, kept }: Relayed,
): Promise<Uint8Array> {
  const stream = responsesConverter.stream({
    id: asked.requestId, model: kept.offered.model.name, createdSeconds: 0, estimatedInputTokens: 0,
    wantsStreamUsage: true, seal: kept.seal, notes: { sealedIds: new Map([[kept.ownId, kept.id]]) },
  });
  reply.start(status, { ...responseHeaders(headers), 'content-type': 'text/event-stream; charset=utf-8' });
  for await (const piece of body) {
    await reply.write(stream.push(piece));
    if (stream.terminal) break;
  }
  const end = stream.end();
  if (end.outcome === 'Cut')
    throw new GatewayError('upstream_error', 'The provider broke off before the end of the response. Try again.');
  return end.last;
}

/** Bills a background response that runs by the ledger, and has ended by its provider. */
async function endIfBackground(deps: PipelineDeps, asked: KeptStateRequest, kept: Kept): Promise<void> {
  const running = await deps.ledger.readJob(asked.key.uid, kept.ownId);
  if (running?.state !== 'Running') return;
  const job = readJob(await ask(deps, { ...asked, query: '' }, kept));
  if (job && job.state !== 'Running') await recordEnd(deps, asked, { kept, job });
}

function find({ state }: PipelineDeps, { key }: KeptStateRequest, id: string): Kept {
  const kept = findKept(state.get(), key, { id, kind: RESPONSE_ID });
  if (!kept) throw new GatewayError('not_found', NOT_KEPT);
  return kept;
}

function ask(deps: PipelineDeps, asked: KeptStateRequest, kept: Kept): Promise<BufferedResponse> {
  const path = `${responseJobs.path(kept.ownId)}${asked.below}`;
  return askKeeper(deps, asked, kept, { about: 'response', path, body: undefined });
}

/** Ends a background response that runs, because nobody could learn what it consumed after its deletion. */
async function endBeforeDeletion(deps: PipelineDeps, asked: KeptStateRequest, kept: Kept): Promise<void> {
  const running = await deps.ledger.readJob(asked.key.uid, kept.ownId);
  if (running?.state !== 'Running') return;
  const seen = readJob(await ask(deps, { ...asked, method: 'GET', query: '' }, kept));
  if (seen?.state !== 'Running') return seen && recordEnd(deps, asked, { kept, job: seen });
  const job = readJob(await ask(deps, { ...asked, method: 'POST', below: '/cancel', query: '' }, kept));
  if (job && job.state !== 'Running') await recordEnd(deps, asked, { kept, job });
  // the charge stays where the provider does not say what it has done
  else await recordJobEnd(deps, running, { end: 'Deleted' });
}

/** Undefined: the answer is not about a response that was made in the background. */
function readJob({ body }: BufferedResponse): SeenJob | undefined {
  const response = body.length === 0 ? {} : parseObject(body);
  return response['background'] === true ? readResponseState(response) : undefined;
}

interface SeenEnd {
  readonly kept: Kept;
  readonly job: SeenJob;
}

/** Does nothing for a response that was billed before, or that another key made, which the poller bills. */
async function recordEnd({ ledger, ...deps }: PipelineDeps, { key }: KeptStateRequest, { kept, job }: SeenEnd):
Promise<void> {
  const made = await ledger.readJob(key.uid, kept.ownId);
  if (made?.state !== 'Running') return;
  const { state, bill } = outcomeOf(made, job);
  if (state !== 'Running') await recordJobEnd({ ledger, ...deps }, made, { end: state, ...bill && { bill } });
}
