/** A provider of files and batches on the mock provider, of OpenAI's and of Anthropic's protocol: tests end each batch. */
import { readParts } from '../../dataplane/protocol/multipart.ts';
import type { MockProvider, RecordedRequest, Reply } from './mock-provider.ts';
import { json, openaiError } from './provider-answers.ts';

/** What becomes of a batch. */
export interface BatchEnd {
  readonly status: 'completed' | 'failed' | 'expired' | 'cancelled' | 'in_progress' | 'finalizing';
  /** By custom_id: the response of each request that succeeded. */
  readonly responses?: Readonly<Record<string, object>>;
  /** By custom_id: the status of each request that failed. */
  readonly errors?: Readonly<Record<string, number>>;
  /** False: the results are not there yet. */
  readonly named?: boolean;
  /** False: the provider repeats no endpoint and counts nothing. */
  readonly told?: boolean;
}

export interface BatchProvider {
  /** Ends the batch with this id. */
  end(id: string, end: BatchEnd): void;
  /** What a cancellation makes of a running batch. */
  cancelsAs: BatchEnd;
  /** The provider's own ids of batches, in the order of creation. */
  readonly made: readonly string[];
  /** The content of each file by its id, results among them. */
  readonly files: ReadonlyMap<string, StoredFile>;
  /** The bodies of created batches, as they came. */
  readonly created: readonly Readonly<Record<string, unknown>>[];
}

export interface StoredFile {
  readonly filename: string;
  readonly content: string;
}

/** Ids are unique, as with a real provider. */
let latest = 0;

interface World extends BatchProvider {
  readonly ends: Map<string, BatchEnd>;
  readonly made: string[];
  readonly files: Map<string, StoredFile>;
  readonly created: Readonly<Record<string, unknown>>[];
}

function worldOf(): World {
  const ends = new Map<string, BatchEnd>();
  return {
    ends,
    end: (id, end) => void ends.set(id, end),
    cancelsAs: { status: 'cancelled' },
    made: [],
    files: new Map(),
    created: [],
  };
}

/** Scripts the provider to keep OpenAI's files `file-1`, … and batches `batch_1`, …. */
export function serveBatches(provider: MockProvider): BatchProvider {
  const world = worldOf();
  provider.script((request) => openaiReply(request, world));
  return world;
}

/** Scripts the provider to keep Anthropic's batches `msgbatch_1`, …. */
export function serveMessageBatches(provider: MockProvider): BatchProvider {
  const world = worldOf();
  provider.script((request) => anthropicReply(request, world));
  return world;
}

function openaiReply(request: RecordedRequest, world: World): Reply {
  const { method } = request;
  const [path = '', query = ''] = request.path.split('?');
  if (path === '/v1/files') return method === 'POST' ? upload(request, world) : list(query, filesIn(world));
  if (path === '/v1/batches') return method === 'POST' ? create(request, world) : list(query, batchesIn(world));
  const [, fileId = '', content] = /^\/v1\/files\/([^/]+)(\/content)?$/.exec(path) ?? [];
  const file = world.files.get(fileId);
  if (file) {
    if (content !== undefined)
      return { headers: { 'content-type': 'application/octet-stream' }, steps: [file.content] };
    if (method !== 'DELETE') return json(fileObject(fileId, file));
    world.files.delete(fileId);
    return json({ id: fileId, object: 'file', deleted: true });
  }
  const [, id = '', cancel] = /^\/v1\/batches\/([^/]+)(\/cancel)?$/.exec(path) ?? [];
  const end = world.ends.get(id);
  if (!end) return openaiError(404, 'No such thing.');
  if (cancel !== undefined && !hasEnded(end)) world.ends.set(id, world.cancelsAs);
  return json(batchObject(id, world));
}

function upload(request: RecordedRequest, world: World): Reply {
  const parts = readParts(request.body, String(request.headers['content-type']));
  const part = parts.find(({ name }) => name === 'file');
  const id = `file-${++latest}`;
  const file = {
    filename: part?.filename ?? '',
    content: request.body.toString('utf8', part?.start ?? 0, part?.end ?? 0),
  };
  world.files.set(id, file);
  return json(fileObject(id, file));
}

function fileObject(id: string, { filename, content }: StoredFile): object {
  return {
    id,
    object: 'file',
    bytes: content.length,
    created_at: 1_700_000_000,
    filename,
    purpose: 'batch',
    status: 'processed',
  };
}

function create(request: RecordedRequest, world: World): Reply {
  const id = `batch_${++latest}`;
  world.made.push(id);
  world.created.push(request.json());
  world.ends.set(id, { status: 'in_progress' });
  return json(batchObject(id, world));
}

function filesIn({ files }: World): readonly object[] {
  return [...files].map(([id, file]) => fileObject(id, file));
}

function batchesIn(world: World): readonly object[] {
  return world.made.map((id) => batchObject(id, world));
}

/** Pages as the providers do. */
function list(query: string, all: readonly object[]): Reply {
  const parameters = new URLSearchParams(query);
  const after = parameters.get('after') ?? parameters.get('after_id');
  const ids = all.map((item) => ('id' in item ? item.id : undefined));
  const start = after === null ? 0 : ids.indexOf(after) + 1;
  const limit = Math.min(Number(parameters.get('limit') ?? 20), PAGE);
  const data = all.slice(start, start + limit);
  return json({
    object: 'list',
    data,
    first_id: ids[start] ?? null,
    last_id: ids[start + data.length - 1] ?? null,
    has_more: start + limit < all.length,
  });
}

/** Small, so that tests see several pages. */
const PAGE = 2;

function batchObject(id: string, world: World): object {
  const end = world.ends.get(id) ?? { status: 'in_progress' };
  const request = world.created[world.made.indexOf(id)] ?? {};
  const { status, responses = {}, errors = {}, named = true, told = true } = end;
  const [completed, failed] = [Object.keys(responses).length, Object.keys(errors).length];
  const output = id.replace('batch_', 'file-out');
  if (completed > 0) world.files.set(output, { filename: `${id}_output.jsonl`, content: resultLines(responses) });
  return {
    id,
    object: 'batch',
    ...(told && {
      endpoint: request['endpoint'],
      request_counts: { total: completed + failed, completed, failed },
    }),
    model: 'upstream-name-7',
    errors:
      status === 'failed'
        ? { object: 'list', data: [{ code: 'invalid', message: 'org-Secret12345 has no quota', line: 1 }] }
        : null,
    input_file_id: request['input_file_id'],
    completion_window: '24h',
    status,
    output_file_id: completed > 0 && named ? output : null,
    error_file_id: null,
    created_at: 1_700_000_000,
    metadata: request['metadata'] ?? null,
  };
}

function resultLines(responses: Readonly<Record<string, object>>): string {
  return Object.entries(responses)
    .map(([id, body]) => {
      const response = { status_code: 200, request_id: 'req_1', body };
      return `${JSON.stringify({ id: `batch_req_${id}`, custom_id: id, response, error: null })}\n`;
    })
    .join('');
}

function hasEnded({ status }: BatchEnd): boolean {
  return status !== 'in_progress' && status !== 'finalizing';
}

function anthropicReply(request: RecordedRequest, world: World): Reply {
  const { method } = request;
  const [path = '', query = ''] = request.path.split('?');
  if (path === '/v1/messages/batches') {
    if (method !== 'POST')
      return list(
        query,
        world.made.map((id) => messageBatch(id, world)),
      );
    const id = `msgbatch_${++latest}`;
    world.made.push(id);
    world.created.push(request.json());
    world.ends.set(id, { status: 'in_progress' });
    return json(messageBatch(id, world));
  }
  const [, id = '', below] = /^\/v1\/messages\/batches\/([^/]+)(\/cancel|\/results)?$/.exec(path) ?? [];
  const end = world.ends.get(id);
  if (!end) return anthropicError(404, 'not_found_error', 'No such batch.');
  if (below === '/results') return { headers: { 'content-type': 'application/x-jsonl' }, steps: [messageResults(end)] };
  if (below === '/cancel' && !hasEnded(end)) world.ends.set(id, world.cancelsAs);
  if (method !== 'DELETE') return json(messageBatch(id, world));
  if (!hasEnded(end)) return anthropicError(400, 'invalid_request_error', 'The batch is being processed.');
  world.ends.delete(id);
  return json({ id, type: 'message_batch_deleted' });
}

function anthropicError(status: number, type: string, message: string): Reply {
  return { status, steps: [JSON.stringify({ type: 'error', error: { type, message } })] };
}

function messageBatch(id: string, world: World): object {
  const end = world.ends.get(id) ?? { status: 'in_progress' };
  const { status, responses = {}, errors = {} } = end;
  const ended = hasEnded(end);
  const total = requestsOf(world.created[world.made.indexOf(id)]).length;
  const [succeeded, errored] = [Object.keys(responses).length, Object.keys(errors).length];
  const rest = ended ? total - succeeded - errored : 0;
  return {
    id,
    type: 'message_batch',
    processing_status: ended ? 'ended' : 'in_progress',
    request_counts: {
      processing: ended ? 0 : total,
      succeeded: ended ? succeeded : 0,
      errored: ended ? errored : 0,
      canceled: status === 'cancelled' ? rest : 0,
      expired: status === 'expired' ? rest : 0,
    },
    ended_at: ended ? '2026-11-27T09:00:00Z' : null,
    created_at: '2026-11-27T08:00:00Z',
    expires_at: '2026-11-28T08:00:00Z',
    archived_at: null,
    cancel_initiated_at: null,
    results_url: ended ? `https://api.anthropic.com/v1/messages/batches/${id}/results` : null,
  };
}

/** The requests of a created batch of Anthropic's. */
export function requestsOf(
  created: Readonly<Record<string, unknown>> = {},
): readonly Readonly<Record<string, unknown>>[] {
  const { requests } = created;
  return Array.isArray(requests) ? (requests as readonly Readonly<Record<string, unknown>>[]) : [];
}

function messageResults({ responses = {}, errors = {} }: BatchEnd): string {
  const lines = [
    ...Object.entries(responses).map(([id, message]) => ({ custom_id: id, result: { type: 'succeeded', message } })),
    ...Object.keys(errors).map((id) => ({ custom_id: id, result: { type: 'errored', error: { type: 'error' } } })),
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
