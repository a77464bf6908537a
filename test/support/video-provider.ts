/** A provider of videos on the mock provider: tests set the state of each job. */
import type { MockProvider, RecordedRequest, Reply } from './mock-provider.ts';
import { json } from './provider-answers.ts';

export interface VideoJobs {
  /** Sets the state of a job. */
  set(id: string, status: string): void;
  /** The ids of created jobs, in order. */
  readonly made: readonly string[];
  /** The ids of deleted jobs. */
  readonly deleted: readonly string[];
}

/** The video of a job, as /content returns it. */
export function filmOf(id: string): Buffer {
  return Buffer.from(`film of ${id} `.repeat(1000));
}

/** Ids are unique, as with a real provider. */
let latest = 0;

/** Scripts the provider to create jobs `video_1`, `video_2`, … and to serve them. */
export function serveVideos(
  provider: MockProvider,
  { firstStatus = 'queued', seconds = '4', size = '720x1280' }: Partial<Reported> = {},
): VideoJobs {
  const statuses = new Map<string, string>();
  const made: string[] = [];
  const deleted: string[] = [];
  provider.script((request) => answer(request, { statuses, made, deleted, firstStatus, seconds, size }));
  return { set: (id, status) => void statuses.set(id, status), made, deleted };
}

/** What the provider says of its jobs. */
interface Reported {
  readonly firstStatus: string;
  readonly seconds: unknown;
  readonly size: unknown;
}

interface Kept extends Reported {
  readonly statuses: Map<string, string>;
  readonly made: string[];
  readonly deleted: string[];
}

function answer(request: RecordedRequest, { statuses, made, deleted, firstStatus, ...film }: Kept): Reply {
  const [path = '', query = ''] = request.path.split('?');
  if (request.method === 'POST' && path === '/v1/videos') {
    const id = `video_${++latest}`;
    made.push(id);
    statuses.set(id, firstStatus);
    return json(video(id, firstStatus, film));
  }
  const [, id = '', content] = /^\/v1\/videos\/([^/]+)(\/content)?$/.exec(path) ?? [];
  const status = statuses.get(id);
  if (status === undefined)
    return json(
      { error: { message: `no video ${id}`, type: 'invalid_request_error', param: null, code: null } },
      { status: 404 },
    );
  if (content !== undefined) return contentOf(id, request, query);
  if (request.method !== 'DELETE') return json(video(id, status, film));
  statuses.delete(id);
  deleted.push(id);
  return json({ id, object: 'video.deleted', deleted: true });
}

function video(id: string, status: string, film: Omit<Reported, 'firstStatus'>): Record<string, unknown> {
  return {
    id,
    object: 'video',
    model: 'up',
    status,
    progress: status === 'completed' ? 100 : 0,
    created_at: 1_700_000_000,
    completed_at: null,
    expires_at: null,
    ...film,
    prompt: 'p',
    remixed_from_video_id: null,
    error: status === 'failed' ? { code: 'moderation', message: 'not this' } : null,
  };
}

function contentOf(id: string, request: RecordedRequest, query: string): Reply {
  const bytes = query.includes('variant=thumbnail') ? Buffer.from('thumb') : filmOf(id);
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  const headers = { 'content-type': 'video/mp4', etag: '"film"', 'accept-ranges': 'bytes' };
  if (from === undefined || to === undefined) return { headers, steps: [bytes] };
  return {
    status: 206,
    headers: {
      ...headers,
      'content-range': `bytes ${from}-${to}/${bytes.length}`,
    },
    steps: [bytes.subarray(Number(from), Number(to) + 1)],
  };
}
