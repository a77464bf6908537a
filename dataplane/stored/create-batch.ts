/**
 * Reads a request for a new batch as one call, whose hold is the sum of its requests' worst cases. The file of an OpenAI
 * batch is read again where it is, because prices, rules and names may have changed since its upload.
 */
import { runBatchPart } from '../body-worker/batch-tasks.ts';
import { GatewayError } from '../errors.ts';
import { LARGE_BODY_BYTES } from '../memory-budget.ts';
import { keyInForce } from '../pipeline/authenticate.ts';
import { BatchSum } from '../pipeline/batches/batch-sum.ts';
import { checkAffordable, perRequest, sumBatch, writeBatch } from '../pipeline/batches/new-batch.ts';
import { readRequests } from '../pipeline/batches/read-requests.ts';
import { planRequest } from '../pipeline/channel-call.ts';
import type { EndpointCall, PipelineDeps, Received } from '../pipeline/context.ts';
import { readingError, sendFree, withLimits } from '../pipeline/free-request.ts';
import { clientErrorOf, modelNotFound, modelUnavailable } from '../pipeline/route.ts';
import { BATCH_ENDPOINTS, batchEndpointOf, joinRequests } from '../protocol/batches/requests.ts';
import type { BatchEndpoint, BatchForm } from '../protocol/batches/requests.ts';
import { batchPath, FILE_ID, filePath, readBatchState, sealKept, showBatch } from '../protocol/batches/objects.ts';
import type { Converter, Meter, UpstreamBody } from '../protocol/converter.ts';
import { stringOf, textOf } from '../protocol/fields.ts';
import type { JsonRecord } from '../protocol/fields.ts';
import { editObject, editsOf } from '../protocol/json-edit.ts';
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { UNREPORTED_USAGE } from '../protocol/usage.ts';
import { NOTHING_CONSUMED } from '../ledger/load.ts';
import { isFree } from '#price/sheet.ts';
import { callerLimits } from '../state/limits.ts';
import type { Candidate, KeyState, State } from '../state/state.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { openKept, sealAt } from './batch-ids.ts';
import type { KeptAt } from './batch-ids.ts';

type Read = (received: Received) => Promise<EndpointCall>;

/** POST /v1/batches. */
export function fileBatchReader(deps: PipelineDeps): Read {
  return async (received) => {
    const key = keyInForce(deps, received.keyHash);
    const { fileId, endpoint } = readCreation(received);
    const state = deps.state.get();
    const file = openKept(state, key, FILE_ID, fileId);
    if (file?.use !== 'Input') throw noFile();
    const candidate = candidateOf(state, key, file);
    const { price } = candidate;
    if (!price) throw changed('The model of its requests has no price now.');
    // no file is downloaded for a caller who cannot pay anything
    await checkAffordable(deps, { received, key, keyHash: received.keyHash }, isFree(price) ? 0n : 1n);
    const sum = new BatchSum({ candidate, price, key, state, form: 'OpenAI' });
    await readFile(deps, received, { file, sum, endpoint });
    const { seal, id, model, sealedId } = file;
    const known = new Map([[id, sealedId]]);
    const edits = editsOf(new Map([['input_file_id', id]]));
    const write = (body: Uint8Array): UpstreamBody => ({ path: batchPath('OpenAI'), body: editObject(body, edits) });
    return sum.callOf(creation({ form: 'OpenAI', seal, model, known, write }));
  };
}

/** POST /v1/messages/batches. */
export function messageBatchReader(deps: PipelineDeps): Read {
  return async (received) => {
    const key = keyInForce(deps, received.keyHash);
    const { bytes } = received.body;
    const lines = await runBatchPart(deps.bodyWorker, key.uid, { task: 'SplitRequests' }, bytes).catch(rethrow);
    const batch = { authenticated: { received, key, keyHash: received.keyHash }, form: 'Anthropic', lines } as const;
    const [sum] = await sumBatch(deps, batch);
    if (!sum) throw new Error('no channel takes the batch, and no error says why');
    const { candidate } = sum.channel;
    const seal = sealAt(deps, key, candidate.target.id);
    const body = joinRequests(await writeBatch(deps, batch, sum));
    const write = (): UpstreamBody => ({ path: batchPath('Anthropic'), body });
    const { name: model } = candidate.model;
    return sum.callOf(creation({ form: 'Anthropic', seal, model, known: new Map(), write }));
  };
}

function rethrow(error: unknown): never {
  throw clientErrorOf(error);
}

interface Creation {
  readonly form: BatchForm;
  readonly seal: ChannelSeal;
  readonly model: string;
  readonly known: ReadonlyMap<string, string>;
  readonly write: (body: Uint8Array) => UpstreamBody;
}

const NOTHING_SEEN: Meter = { reported: UNREPORTED_USAGE, final: false, outputBytes: 0 };

/** Creates the batch at its channel. Its job is billed at its end. */
function creation({ form, seal, model, known, write }: Creation): Converter {
  return {
    client: form,
    upstream: form,
    written: true,
    request: (body) => write(body),
    response: (bytes) => {
      const { id } = readBatchState(form, bytes);
      const sealedId = sealKept(seal, { id, model });
      // a batch that has just begun has no results
      const body = showBatch(bytes, { form, seal, sealedId, model, known, resultsUrl: '' });
      return {
        body,
        meter: NOTHING_SEEN,
        job: { id, state: 'Running', consumed: { meter: NOTHING_SEEN, cancelled: false } },
      };
    },
    stream: () => {
      throw new Error('batches are not streamed');
    },
  };
}

/** Throws GatewayError. */
function readCreation({ body }: Received): { readonly fileId: string; readonly endpoint: BatchEndpoint } {
  if (body.bytes.length > LARGE_BODY_BYTES)
    throw new GatewayError(
      'invalid_request',
      `The body may have ${LARGE_BODY_BYTES} bytes; the requests are in the file.`,
    );
  try {
    const parsed = body.parse();
    checkMembers(parsed);
    const { input_file_id: file, endpoint: url } = parsed;
    const fileId = textOf(file);
    if (fileId === undefined) throw noFile();
    const endpoint = batchEndpointOf(url);
    if (endpoint !== undefined) return { fileId, endpoint };
  } catch (error) {
    throw clientErrorOf(error);
  }
  const message = `The field "endpoint" must be one of ${BATCH_ENDPOINTS.join(', ')}.`;
  throw new GatewayError('invalid_request', message, { param: 'endpoint' });
}

const MEMBERS: ReadonlySet<string> = new Set([
  'input_file_id',
  'endpoint',
  'completion_window',
  'metadata',
  'output_expires_after',
]);
const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24 };
/** Sooner results may have another price, and later ones come when nobody asks any more. */
const WINDOW_HOURS = [24, 7 * 24] as const;

/** Throws unsupported_parameter for what could change the price of a batch. */
function checkMembers(parsed: JsonRecord): void {
  const param = Object.keys(parsed).find((name) => !MEMBERS.has(name));
  if (param !== undefined)
    throw new GatewayError('unsupported_parameter', 'A batch has no such field. Leave it out.', {
      param: param.slice(0, 100),
    });
  const [, count, unit = ''] = /^(\d{1,4})([hd])$/.exec(stringOf(parsed['completion_window'])) ?? [];
  const hours = Number(count) * (HOURS[unit] ?? 0);
  const [least, most] = WINDOW_HOURS;
  if (hours >= least && hours <= most) return;
  const message = 'The field "completion_window" must be "24h", or up to "7d" where the provider takes it.';
  throw new GatewayError('unsupported_parameter', message, { param: 'completion_window' });
}

/** The channel that has the file, as it serves the file's model to the key. */
function candidateOf(state: State, key: KeyState, { model, channel }: KeptAt): Candidate {
  const offer = state.groups.get(key.group)?.offers.get(model);
  if (!offer) throw modelNotFound(model);
  const isFiles = ({ target }: Candidate): boolean =>
    target.id === channel.target.id && target.endpoints.has('Batches');
  const candidate = offer.tiers.flat().find(isFiles);
  if (candidate && offer.quotaType === 'Request') throw perRequest(model);
  if (candidate) return candidate;
  if (offer.drained.some(isFiles)) throw modelUnavailable(model);
  throw changed('The channel that has the file serves its model no more, or takes no batches.');
}

interface ReadFile {
  readonly file: KeptAt;
  readonly sum: BatchSum;
  readonly endpoint: BatchEndpoint;
}

/** Limits of the caller, which are taken by the batch itself once its file was read. */
const CALLER_SCOPES = ['Key', 'Account'] as const;

async function readFile(deps: PipelineDeps, received: Received, reading: ReadFile): Promise<void> {
  const { file, sum, endpoint } = reading;
  const { candidate, key } = sum.channel;
  const { requestId, errorDialect, hold } = received;
  const take = (call: EndpointCall, url: BatchEndpoint): void => {
    if (url !== endpoint) throw otherEndpoint(url);
    if (call.model !== candidate.upstreamModel) throw changed('Its channel has another name for its model now.');
    sum.add({ ...call, model: file.model }, url);
    if ((call.output?.maxTokens ?? 0) > (sum.lines.at(-1)?.limit ?? 0))
      throw changed('Its model has a lower output limit now.');
  };
  const free = { callId: `file_${requestId}`, dialect: errorDialect };
  await withLimits(deps, free, [...callerLimits(deps.state.get(), key), ...candidate.limits], async () => {
    const { body } = await fetchFile(deps, received, { file, key });
    const requests = {
      received,
      keyUid: key.uid,
      form: 'OpenAI',
      hold: (bytes: number) => hold(bytes, key),
      take,
    } as const;
    try {
      await readRequests(deps, requests, body);
    } catch (error) {
      throw readingError(error, 'within the file');
    }
    deps.ledger.release(free.callId, NOTHING_CONSUMED, CALLER_SCOPES);
  });
}

function fetchFile(
  deps: PipelineDeps,
  { headers, reply }: Received,
  { file: { id, channel }, key }: { readonly file: KeptAt; readonly key: KeyState },
): Promise<UpstreamResponse> {
  const plan = planRequest(deps, channel, { headers, account: key.account, stream: true });
  const path = `${filePath(id)}/content`;
  const request = { method: 'GET', path, body: undefined, signal: reply.left } as const;
  return sendFree(deps, plan, { ...request, attempts: [], about: 'file', model: channel.model.name });
}

function noFile(): GatewayError {
  const message =
    'The field "input_file_id" must be the id of a file that this account has uploaded here with POST /v1/files and the ' +
    'purpose "batch".';
  return new GatewayError('invalid_request', message, { param: 'input_file_id' });
}

function otherEndpoint(url: BatchEndpoint): GatewayError {
  const message = `It is for ${url}, and the batch's "endpoint" is another.`;
  return new GatewayError('invalid_request', message, { param: 'endpoint' });
}

/** The error for a file whose requests were checked under other rules. */
function changed(why: string): GatewayError {
  return new GatewayError('invalid_request', `${why} Upload the file again.`, { param: 'input_file_id' });
}
