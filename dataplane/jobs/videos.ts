/**
 * A client's own requests about its videos: state, content, deletion. They reach the provider only for a job that the
 * same key made. The price of a failed job is given back before its client learns of the failure.
 */
import { GatewayError } from '../errors.ts';
import type { JobRecord } from '../ledger/ledger.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import type { ConvertedJob } from '../protocol/converter.ts';
import { isJobId } from '../protocol/openai/videos.ts';
import type { KeyState } from '../state/state.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { requestHeaders } from '../upstream/headers.ts';
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';
import { ask, notAVideo, readSmall, withSlots } from './exchange.ts';
import { finish } from './finish.ts';
import { channelGone, channelOf } from './job-channel.ts';
import type { JobChannel } from './job-channel.ts';

export interface VideoRequest {
  readonly requestId: string;
  readonly key: KeyState;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly videoId: string;
  /** Aborted when the client leaves. */
  readonly left: AbortSignal;
  readonly attempts: AttemptReport[];
}

/** A job of the calling key, found, and where it is. */
export interface FoundVideo {
  readonly job: JobRecord;
  readonly at: JobChannel;
}

/** A response that is passed on whole. */
export interface SmallAnswer {
  readonly response: UpstreamResponse;
  readonly body: Buffer;
}

/**
 * Throws not_found for another key's video as for one that never existed, upstream_error where its channel is gone, and
 * LedgerUnavailable.
 */
export async function findVideo(
  deps: Pick<PipelineDeps, 'ledger' | 'state'>, { key, videoId }: Pick<VideoRequest, 'key' | 'videoId'>,
): Promise<FoundVideo> {
  const job = isJobId(videoId) ? await deps.ledger.readJob(key.uid, videoId) : undefined;
  if (!job) throw new GatewayError('not_found', 'This key made no video with that id.');
  const at = channelOf(deps.state.get(), job);
  if (!at) throw channelGone();
  return { job, at };
}

/** GET /v1/videos/{id}: the provider's own answer. */
export function retrieveVideo(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<SmallAnswer> {
  return slotted(deps, request, found, () => retrieve(deps, request, found));
}

export interface Download<T> {
  readonly found: FoundVideo;
  /** The client's query, without its question mark. */
  readonly query: string;
  /** Gets the provider's response while the slots are taken. */
  readonly pass: (response: UpstreamResponse) => Promise<T>;
}

/** GET /v1/videos/{id}/content. Resolves with what `pass` resolves with. */
export function downloadVideo<T>(deps: PipelineDeps, request: VideoRequest, download: Download<T>): Promise<T> {
  const { found, query, pass } = download;
  const path = `${pathOf(found)}/content${query === '' ? '' : `?${query}`}`;
  return slotted(deps, request, found, async () => {
    // as a stream: it may take any time as long as it does not fall silent
    const response = await exchange(deps, request, found, { method: 'GET', path, stream: true });
    return pass(response);
  });
}

/**
 * DELETE /v1/videos/{id}. A job that is not known to have ended is retrieved first: if it has failed, its price is
 * given back; else it stays paid, because the provider was working on it.
 */
export function deleteVideo(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<SmallAnswer> {
  return slotted(deps, request, found, async () => {
    const running = found.job.state === 'Running' && await isRunning(deps, request, found);
    const response = await exchange(deps, request, found, { method: 'DELETE', path: pathOf(found), stream: false });
    const body = await readSmall(response);
    if (running) await finish(deps, found.job, 'Deleted');
    return { response, body };
  });
}

async function isRunning(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<boolean> {
  try {
    return (await retrieve(deps, request, found)).state === 'Running';
  } catch (error) {
    // gone already, as the provider's answer to the deletion will say
    if (error instanceof GatewayError && error.code === 'not_found') return true;
    throw error;
  }
}

async function retrieve(
  deps: PipelineDeps, request: VideoRequest, found: FoundVideo,
): Promise<SmallAnswer & Pick<ConvertedJob, 'state'>> {
  const response = await exchange(deps, request, found, { method: 'GET', path: pathOf(found), stream: false });
  const body = await readSmall(response);
  const { state } = readJob(found, body);
  if (state !== 'Running' && found.job.state === 'Running') await finish(deps, found.job, state);
  return { response, body, state };
}

function readJob({ at }: FoundVideo, body: Uint8Array): ConvertedJob {
  try {
    return at.videos.read(body);
  } catch (error) {
    if (error instanceof SyntaxError) throw notAVideo();
    throw error;
  }
}

function slotted<T>(
  deps: PipelineDeps, { requestId, key }: VideoRequest, { at }: FoundVideo, work: () => Promise<T>,
): Promise<T> {
  return withSlots(deps, requestId, key.slot ? [key.slot, ...at.slots] : at.slots, work);
}

type RequestLine = Pick<UpstreamRequest, 'method' | 'path' | 'stream'>;

function exchange(
  deps: PipelineDeps, { requestId, headers, left, attempts }: VideoRequest, { job, at }: FoundVideo, line: RequestLine,
): Promise<UpstreamResponse> {
  const { 'content-type': _type, ...passed } = requestHeaders(headers, at.target.foreignHeaders);
  const request = { ...line, headers: passed, body: undefined, signal: left };
  return ask(deps, { callId: requestId, model: job.origin.model, at, attempts, request });
}

function pathOf({ job, at }: FoundVideo): string {
  return at.videos.path(job.jobId);
}
