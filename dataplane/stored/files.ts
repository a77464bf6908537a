/**
 * Files of batches, which a provider keeps. An upload is read line by line, as the single calls that its requests are,
 * before a byte of it reaches the provider; the channel that takes all of them gets it.
 */
import { GatewayError } from '../errors.ts';
import { checkAffordable, sumBatch, writeBatch } from '../pipeline/batches/new-batch.ts';
import type { BatchSum } from '../pipeline/batches/batch-sum.ts';
import type { Authenticated, ClientReply, PipelineDeps } from '../pipeline/context.ts';
import { readAs, readWholeBody } from '../pipeline/free-request.ts';
import { clientErrorOf } from '../pipeline/route.ts';
import {
  FILE_ID,
  fileChanges,
  filePath,
  readStamp,
  sealKept,
  showFile,
  stampName,
} from '../protocol/batches/objects.ts';
import { asBuffer } from '../protocol/bytes.ts';
import { textOf } from '../protocol/fields.ts';
import type { JsonRecord } from '../protocol/fields.ts';
import { withChanges } from '../protocol/json-edit.ts';
import { parseObject } from '../protocol/json-value.ts';
import { isForm, readParts, writeForm } from '../protocol/multipart.ts';
import type { NewPart, WrittenForm } from '../protocol/multipart.ts';
import { isJobId } from '../protocol/openai/videos.ts';
import type { ChannelSeal } from '../protocol/sealed-values.ts';
import { mayUse } from '../state/may-use.ts';
import { listedChannels, openKept, sealAt } from './batch-ids.ts';
import type { KeptAt } from './batch-ids.ts';
import { exchange } from './client-request.ts';
import type { ClientRequest } from './client-request.ts';
import { listKept, readLimit } from './list-kept.ts';
import type { ListedChannel } from './list-kept.ts';
import { streamContent } from './respond.ts';
import type { BufferedResponse } from './respond.ts';

const NOT_FOUND =
  'This account has no such file here: only files that were uploaded with POST /v1/files, and those that a batch names, ' +
  'can be asked for.';

/** Fields of an upload beside its purpose and the file, which say when the provider deletes it. */
const EXPIRY_FIELDS: ReadonlySet<string> = new Set(['expires_after[anchor]', 'expires_after[seconds]']);
const MAX_FILENAME = 200;

/** POST /v1/files: checks the requests in the file, and uploads it to a channel that takes all of them. */
export async function uploadFile(
  deps: PipelineDeps,
  request: ClientRequest,
  authenticated: Authenticated,
): Promise<BufferedResponse> {
  const upload = readUpload(authenticated);
  const batch = { authenticated, form: 'OpenAI', lines: upload.content } as const;
  const sums = await sumBatch(deps, batch);
  let reason: unknown;
  for (const sum of sums) {
    await checkAffordable(deps, authenticated, sum.amountNanoUsd);
    const { candidate } = sum.channel;
    const seal = sealAt(deps, request.key, candidate.target.id);
    const content = await writeBatch(deps, batch, sum);
    const form = writeForm([
      ...upload.fields,
      {
        ...upload.file,
        filename: stampName(seal, { model: candidate.model.name, filename: upload.filename }),
        content,
      },
    ]);
    try {
      return await sendUpload(deps, request, { sum, seal, form });
    } catch (error) {
      if (!(error instanceof GatewayError) || !NEXT_CHANNEL.has(error.code)) throw error;
      reason ??= error;
    }
  }
  throw reason;
}

/** Another channel may do: this one is full, out of order, or has no such endpoint. */
const NEXT_CHANNEL: ReadonlySet<string> = new Set([
  'rate_limit_exceeded',
  'upstream_error',
  'upstream_overloaded',
  'not_found',
]);

interface Upload {
  /** What goes to the provider as it is. */
  readonly fields: readonly NewPart[];
  readonly file: Omit<NewPart, 'content'>;
  readonly filename: string;
  readonly content: Uint8Array;
}

/** Throws GatewayError if the form is no upload of a batch. */
function readUpload({ received: { body, headers } }: Authenticated): Upload {
  const header = headers['content-type'];
  if (typeof header !== 'string' || !isForm(header)) {
    const message = 'A file is uploaded as a form (multipart/form-data) with the fields "purpose" and "file".';
    throw new GatewayError('invalid_request', message);
  }
  const { bytes } = body;
  try {
    const parts = readParts(bytes, header).map((part) => ({ ...part, content: bytes.subarray(part.start, part.end) }));
    const file = parts.find(({ name, filename }) => name === 'file' && filename !== undefined);
    const fields = parts.filter((part) => part !== file);
    checkFields(fields);
    if (!file)
      throw new GatewayError('invalid_request', 'The form has no file in the field "file".', { param: 'file' });
    const { name, contentType, filename = '', content } = file;
    return { fields, file: { name, contentType, filename }, filename: filename.slice(0, MAX_FILENAME), content };
  } catch (error) {
    throw clientErrorOf(error);
  }
}

function checkFields(fields: readonly NewPart[]): void {
  const purpose = fields.find(({ name }) => name === 'purpose');
  if (!purpose || Buffer.from(purpose.content).toString('utf8') !== 'batch') {
    const message =
      'Only files with the purpose "batch" are kept at providers: send the content of others in the message itself, in ' +
      'base64.';
    throw new GatewayError('unsupported_parameter', message, { param: 'purpose' });
  }
  const unknown = fields.find((field) => field !== purpose && !EXPIRY_FIELDS.has(field.name));
  if (unknown)
    throw new GatewayError('unsupported_parameter', 'The form has a field that files of batches do not have.', {
      param: unknown.name.slice(0, 100),
    });
}

interface WrittenUpload {
  readonly sum: BatchSum;
  readonly seal: ChannelSeal;
  readonly form: WrittenForm;
}

async function sendUpload(
  deps: PipelineDeps,
  request: ClientRequest,
  { sum, seal, form }: WrittenUpload,
): Promise<BufferedResponse> {
  const { candidate } = sum.channel;
  const sent = await describe(deps, request, { channel: candidate }, { ...form, path: filePath() });
  const id = await readAs('file', () => idIn(sent.body));
  const sealedId = sealKept(seal, { id, model: candidate.model.name, use: 'Input' });
  return { ...sent, body: asBuffer(showFile(sent.body, seal, sealedId)) };
}

/** The id of the file that a response describes. Throws SyntaxError. */
function idIn(bytes: Uint8Array): string {
  const id = textOf(parseObject(bytes)['id']);
  if (id === undefined || !isJobId(id)) throw new SyntaxError('the response names no file');
  return id;
}

/** GET and DELETE /v1/files/{id}. */
export async function requestFile(
  deps: PipelineDeps,
  request: ClientRequest,
  sealedId: string,
): Promise<BufferedResponse> {
  const file = openFile(deps, request, sealedId);
  const answered = await describe(deps, request, file, { path: filePath(file.id), body: undefined });
  if (answered.body.length === 0) return answered;
  const body = await readAs('file', () => showFile(answered.body, file.seal, sealedId));
  return { ...answered, body: asBuffer(body) };
}

/** GET /v1/files/{id}/content. Resolves with the HTTP status. */
export async function downloadFile(
  deps: PipelineDeps,
  request: ClientRequest,
  { sealedId, reply, headOnly }: { readonly sealedId: string; readonly reply: ClientReply; readonly headOnly: boolean },
): Promise<number> {
  const file = openFile(deps, request, sealedId);
  return exchange(deps, { ...request, query: '' }, file, {
    about: 'file',
    path: `${filePath(file.id)}/content`,
    body: undefined,
    stream: true,
    use: (response) => streamContent(reply, response, { headOnly, what: 'file' }),
  });
}

/** GET /v1/files: what the account has uploaded. */
export async function listFiles(deps: PipelineDeps, request: ClientRequest): Promise<JsonRecord> {
  const query = new URLSearchParams(request.query);
  const after = query.get('after');
  const start = after === null ? undefined : openFile(deps, request, after);
  const { items, hasMore } = await listKept(deps, request, {
    about: 'file',
    path: filePath(),
    channels: listedChannels(deps.state.get(), request.key, 'OpenAI'),
    after: start && { id: start.id, channel: start.channel.target.id },
    limit: readLimit(query),
    cursor: 'after',
    own: (item, at) => Promise.resolve(ownFile(deps, request, item, at)),
  });
  const ids = { first_id: items[0]?.['id'] ?? null, last_id: items.at(-1)?.['id'] ?? null };
  return { object: 'list', data: items, ...ids, has_more: hasMore };
}

function ownFile(
  { state }: PipelineDeps,
  { key }: ClientRequest,
  item: JsonRecord,
  { seal }: ListedChannel,
): JsonRecord | undefined {
  const id = textOf(item['id']);
  const uploaded = readStamp(seal, item['filename']);
  if (id === undefined || !isJobId(id) || !uploaded || !mayUse(state.get(), key, uploaded.model)) return undefined;
  const sealedId = sealKept(seal, { id, model: uploaded.model, use: 'Input' });
  return withChanges(item, fileChanges(sealedId, uploaded));
}

/** Throws not_found. */
export function openFile({ state }: PipelineDeps, { key }: Pick<ClientRequest, 'key'>, sealedId: string): KeptAt {
  const file = openKept(state.get(), key, FILE_ID, sealedId);
  if (!file) throw new GatewayError('not_found', NOT_FOUND);
  return file;
}

interface Description {
  readonly path: string;
  readonly body: Uint8Array | undefined;
  readonly contentType?: string;
}

function describe(
  deps: PipelineDeps,
  request: ClientRequest,
  at: Parameters<typeof exchange>[2],
  sent: Description,
): Promise<BufferedResponse> {
  return exchange(deps, { ...request, query: '' }, at, {
    about: 'file',
    ...sent,
    stream: false,
    use: async (response) => ({ response, body: await readWholeBody(response, { about: 'file', hold: request.hold }) }),
  });
}
