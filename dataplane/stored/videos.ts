/**
 * Serves a client's requests about its videos: state, content, deletion. They reach the provider only for a job that
 * the same key created. The price of a failed job is refunded before its client learns of the failure.
 */
import { GatewayError } from '../errors.ts';
import { channelOf, channelRemoved } from '../jobs/job-channel.ts';
import type { JobChannel } from '../jobs/job-channel.ts';
import { recordJobEnd } from '../jobs/record-job-end.ts';
import type { JobRecord } from '../ledger/ledger.ts';
import { planRequest } from '../pipeline/channel-call.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { readAs, readWholeBody, sendFree, withLimits } from '../pipeline/free-request.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import type { ConvertedJob } from '../protocol/converter.ts';
import { isJobId } from '../protocol/openai/videos.ts';
import { callerLimits } from '../state/limits.ts';
import type { KeyState } from '../state/state.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';
import type { BufferedResponse } from './respond.ts';

export interface VideoRequest {
  readonly requestId: string;
  readonly key: KeyState;
  /** Of an error before the response has begun. */
  readonly errorDialect: Dialect;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly videoId: string;
  /** Aborts when the client disconnects. */
  readonly left: AbortSignal;
  readonly attempts: AttemptReport[];
}

/** A job of the calling key, and the channel that created it. */
export interface FoundVideo {
  readonly job: JobRecord;
  readonly at: JobChannel;
}

/**
 * Throws not_found alike for another key's video and for one that never existed, upstream_error if its channel is gone,
 * and LedgerUnavailable.
 */
export async function findVideo(
  deps: Pick<PipelineDeps, 'ledger' | 'state'>,
  { key, videoId }: Pick<VideoRequest, 'key' | 'videoId'>,
): Promise<FoundVideo> {
  const job = isJobId(videoId) ? await deps.ledger.readJob(key.uid, videoId) : undefined;
  // a job that is billed at its end is a response
  if (!job || job.terms !== undefined) throw new GatewayError('not_found', 'This key made no video with that id.');
  const at = channelOf(deps.state.get(), job);
  if (!at) throw channelRemoved();
  return { job, at };
}

/** GET /v1/videos/{id}: the provider's own response. */
export function retrieveVideo(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<BufferedResponse> {
  return withVideoLimits(deps, request, found, () => retrieve(deps, request, found));
}

export interface Download<T> {
  readonly found: FoundVideo;
  /** The client's query, without its question mark. */
  readonly query: string;
  /** Consumes the provider's response while the request counts in the limits. */
  readonly pass: (response: UpstreamResponse) => Promise<T>;
}

/** GET /v1/videos/{id}/content. Resolves with the result of `pass`. */
export function downloadVideo<T>(deps: PipelineDeps, request: VideoRequest, download: Download<T>): Promise<T> {
  const { found, query, pass } = download;
  const path = `${pathOf(found)}/content${query === '' ? '' : `?${query}`}`;
  return withVideoLimits(deps, request, found, async () => {
    // a stream has no limit on its total time, only on the time between two chunks
    const response = await exchange(deps, request, found, { method: 'GET', path, stream: true });
    return pass(response);
  });
}

/**
 * DELETE /v1/videos/{id}. A job that may still run is retrieved first. Its price is refunded if it failed, and kept
 * otherwise, because the provider worked on it.
 */
export function deleteVideo(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<BufferedResponse> {
  return withVideoLimits(deps, request, found, async () => {
    const running = found.job.state === 'Running' && (await isRunning(deps, request, found));
    const response = await exchange(deps, request, found, { method: 'DELETE', path: pathOf(found), stream: false });
    const body = await readWholeBody(response, { about: 'video' });
    if (running) await recordJobEnd(deps, found.job, { end: 'Deleted' });
    return { response, body };
  });
}

async function isRunning(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<boolean> {
  try {
    return (await retrieve(deps, request, found)).state === 'Running';
  } catch (error) {
    // the provider no longer has the video, which its response to the deletion will say
    if (error instanceof GatewayError && error.code === 'not_found') return true;
    throw error;
  }
}

async function retrieve(
  deps: PipelineDeps,
  request: VideoRequest,
  found: FoundVideo,
): Promise<BufferedResponse & Pick<ConvertedJob, 'state'>> {
  const response = await exchange(deps, request, found, { method: 'GET', path: pathOf(found), stream: false });
  const body = await readWholeBody(response, { about: 'video' });
  const { state } = await readAs('video', () => found.at.jobs.read(body));
  if (state !== 'Running' && found.job.state === 'Running') await recordJobEnd(deps, found.job, { end: state });
  return { response, body, state };
}

function withVideoLimits<T>(
  deps: PipelineDeps,
  { requestId, key, errorDialect }: VideoRequest,
  { at }: FoundVideo,
  work: () => Promise<T>,
): Promise<T> {
  const free = { callId: requestId, dialect: errorDialect };
  return withLimits(deps, free, [...callerLimits(deps.state.get(), key), ...at.limits], work);
}

type RequestLine = Pick<UpstreamRequest, 'method' | 'path' | 'stream'>;

function exchange(
  deps: PipelineDeps,
  { key, headers, left: signal, attempts }: VideoRequest,
  { job, at: { target } }: FoundVideo,
  { method, path, stream }: RequestLine,
): Promise<UpstreamResponse> {
  const plan = planRequest(deps, { target }, { headers, account: key.account, stream });
  const request = { method, path, body: undefined, signal, attempts };
  return sendFree(deps, plan, { ...request, about: 'video', model: job.origin.model });
}

function pathOf({ job, at }: FoundVideo): string {
  return at.jobs.path(job.jobId);
}
