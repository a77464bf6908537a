/**
 * Batches that a provider works on. Each is held as a whole when it is made, and billed by its results at its end, which
 * a client learns of only then.
 */
import { GatewayError } from '../errors.ts';
import { batchOutcome } from '../jobs/batch-outcome.ts';
import { recordJobEnd } from '../jobs/record-job-end.ts';
import { runningJob } from '../jobs/running-job.ts';
import type { ClientReply, PipelineDeps } from '../pipeline/context.ts';
import { readAs, readWholeBody } from '../pipeline/free-request.ts';
import { BATCH_ID, batchChanges, batchPath, readBatchState, sealKept, showBatch } from '../protocol/batches/objects.ts';
import type { BatchState, ShownBatch } from '../protocol/batches/objects.ts';
import type { BatchForm } from '../protocol/batches/requests.ts';
import { asBuffer } from '../protocol/bytes.ts';
import { textOf } from '../protocol/fields.ts';
import type { JsonRecord } from '../protocol/fields.ts';
import { editObject, editsOf, withChanges } from '../protocol/json-edit.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { mayUse } from '../state/may-use.ts';
import { listedChannels, openKept } from './batch-ids.ts';
import type { KeptAt } from './batch-ids.ts';
import { exchanges } from './client-request.ts';
import type { ChannelExchange, ClientRequest } from './client-request.ts';
import { listKept, readLimit } from './list-kept.ts';
import type { ListedChannel, ListedPage } from './list-kept.ts';
import { streamContent } from './respond.ts';
import type { BufferedResponse } from './respond.ts';

export interface BatchRequest extends ClientRequest {
  readonly form: BatchForm;
  /** The gateway's address as the client knows it: "https://host". */
  readonly address: string;
}

const NOT_FOUND =
  'This account has no such batch here: only a batch that was made here can be asked for, by the id that its creation ' +
  'returned.';
const NO_SEALED_IDS = new Map<string, string>();

/** GET /v1/batches/{id} and POST …/cancel, and the same below /v1/messages. */
export async function requestBatch(
  deps: PipelineDeps,
  request: BatchRequest,
  sealedId: string,
): Promise<BufferedResponse> {
  const batch = openBatch(deps, request, sealedId);
  const { form, below, method } = request;
  return exchanges(deps, request, batch, async (send) => {
    const response = await send(lineOf(method, batchPath(form, batch.id) + below));
    const bytes = await readWholeBody(response, { about: 'batch', hold: request.hold });
    await billEnd(deps, request, { batch, state: await stateIn(form, bytes), send });
    return { response, body: asBuffer(showBatch(bytes, shownOf(request, batch))) };
  });
}

/** DELETE /v1/messages/batches/{id}: bills its end before, because nobody could learn its results afterwards. */
export async function deleteBatch(
  deps: PipelineDeps,
  request: BatchRequest,
  sealedId: string,
): Promise<BufferedResponse> {
  const batch = openBatch(deps, request, sealedId);
  return exchanges(deps, request, batch, async (send) => {
    const { end } = await billNow(deps, request, { batch, send });
    // it may end meanwhile, and could not be billed once it is deleted
    if (end === undefined) throw stillRuns();
    const response = await send(lineOf('DELETE', batchPath(request.form, batch.id)));
    const bytes = await readWholeBody(response, { about: 'batch', hold: request.hold });
    return { response, body: bytes.length === 0 ? bytes : asBuffer(await withId(bytes, sealedId)) };
  });
}

/** GET /v1/messages/batches/{id}/results. Resolves with the HTTP status. */
export async function streamResults(
  deps: PipelineDeps,
  request: BatchRequest,
  { sealedId, reply, headOnly }: { readonly sealedId: string; readonly reply: ClientReply; readonly headOnly: boolean },
): Promise<number> {
  const batch = openBatch(deps, request, sealedId);
  return exchanges(deps, request, batch, async (send) => {
    const { end } = await billNow(deps, request, { batch, send });
    if (end === undefined) throw new GatewayError('invalid_request', 'The batch has not ended: its results come then.');
    const path = `${batchPath(request.form, batch.id)}/results`;
    return streamContent(reply, await send({ ...lineOf('GET', path), stream: true }), { headOnly, what: 'results' });
  });
}

/** GET /v1/batches and /v1/messages/batches. */
export async function listBatches(deps: PipelineDeps, request: BatchRequest): Promise<JsonRecord> {
  const { form } = request;
  const query = new URLSearchParams(request.query);
  if (query.has('before_id')) {
    const message = 'Batches are listed forwards only: leave "before_id" out, and use "after_id".';
    throw new GatewayError('unsupported_parameter', message, { param: 'before_id' });
  }
  const cursor = form === 'OpenAI' ? 'after' : 'after_id';
  const after = query.get(cursor);
  const start = after === null ? undefined : openBatch(deps, request, after);
  const page = await listKept(deps, request, {
    about: 'batch',
    path: batchPath(form),
    channels: listedChannels(deps.state.get(), request.key, form),
    after: start && { id: start.id, channel: start.channel.target.id },
    limit: readLimit(query),
    cursor,
    own: (item, at) => ownBatch(deps, request, item, at),
  });
  return pageOf(form, page);
}

function pageOf(form: BatchForm, { items, hasMore }: ListedPage): JsonRecord {
  const ids = { first_id: items[0]?.['id'] ?? null, last_id: items.at(-1)?.['id'] ?? null };
  return { ...(form === 'OpenAI' && { object: 'list' }), data: items, ...ids, has_more: hasMore };
}

/** The ledger knows whose batch it is. */
async function ownBatch(
  { ledger, state }: PipelineDeps,
  request: BatchRequest,
  item: JsonRecord,
  { channel, seal }: ListedChannel,
): Promise<JsonRecord | undefined> {
  const id = textOf(item['id']);
  const job = id === undefined ? undefined : await ledger.readChannelJob(request.key.account, channel.target.id, id);
  if (id === undefined || !job || !mayUse(state.get(), request.key, job.origin.model)) return undefined;
  const kept = { id, model: job.origin.model };
  const batch = { ...kept, seal, sealedId: sealKept(seal, kept) };
  const known = job.state === 'Running' ? withoutResults(item) : item;
  return withChanges(known, batchChanges(known, shownOf(request, batch)));
}

/** The results of a batch are not named before it is billed. Those of Anthropic's are billed where they are fetched. */
function withoutResults(item: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, RESULTS.has(name) ? null : value]));
}

const RESULTS: ReadonlySet<string> = new Set(['output_file_id', 'error_file_id']);

function stillRuns(): GatewayError {
  const message = 'The batch has not ended: cancel it first (POST …/cancel), and delete it once it has ended.';
  return new GatewayError('invalid_request', message);
}

function openBatch({ state }: PipelineDeps, { key, form }: BatchRequest, sealedId: string): KeptAt {
  const batch = openKept(state.get(), key, BATCH_ID, sealedId);
  if (batch?.channel.target.protocol !== form) throw new GatewayError('not_found', NOT_FOUND);
  return batch;
}

function lineOf(method: ClientRequest['method'], path: string): ChannelExchange {
  return { about: 'batch', method, path, body: undefined, stream: false };
}

function stateIn(form: BatchForm, bytes: Uint8Array): Promise<BatchState> {
  return readAs('batch', () => readBatchState(form, bytes));
}

interface AskedBatch {
  readonly batch: KeptAt;
  readonly send: (sent: ChannelExchange) => Promise<UpstreamResponse>;
}

/** Asks how far the batch is, and bills its end. */
async function billNow(deps: PipelineDeps, request: BatchRequest, asked: AskedBatch): Promise<BatchState> {
  const response = await asked.send(lineOf('GET', batchPath(request.form, asked.batch.id)));
  const state = await stateIn(request.form, await readWholeBody(response, { about: 'batch', hold: request.hold }));
  await billEnd(deps, request, { ...asked, state });
  return state;
}

/** Bills a batch that has ended, if it is not billed yet. */
async function billEnd(
  deps: PipelineDeps,
  { key, hold }: BatchRequest,
  { batch, state, send }: AskedBatch & { readonly state: BatchState },
): Promise<void> {
  const job = state.end && (await runningJob(deps, key.account, { channelId: batch.channel.target.id, id: batch.id }));
  if (!job) return;
  const fetchResults = (path: string): Promise<UpstreamResponse> => send({ ...lineOf('GET', path), stream: true });
  const ended = await batchOutcome(deps, { job, state, fetchResults, hold });
  if (ended) await recordJobEnd(deps, job, ended);
}

type Shown = Pick<KeptAt, 'seal' | 'sealedId' | 'model'>;

function shownOf({ form, address }: BatchRequest, { seal, sealedId, model }: Shown): ShownBatch {
  const resultsUrl = `${address}/v1/messages/batches/${sealedId}/results`;
  return { form, seal, sealedId, model, known: NO_SEALED_IDS, resultsUrl };
}

function withId(bytes: Uint8Array, sealedId: string): Promise<Uint8Array> {
  return readAs('batch', () => editObject(bytes, editsOf(new Map([['id', sealedId]]))));
}
