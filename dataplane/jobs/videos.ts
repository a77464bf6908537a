/**
 * A client's own requests about its videos: what became of one, its content, its deletion. They reach the provider only for a job
 * that this very key made. A failure is given back before its client is told of it.
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

/** An answer that is passed on whole. */
export interface SmallAnswer {
  readonly response: UpstreamResponse;
  readonly body: Buffer;
}

/** Throws not_found for another key's video as for one that never was, upstream_error where its channel is gone, LedgerUnavailable. */
export async function findVideo(deps: Pick<PipelineDeps, 'ledger' | 'state'>, { key, videoId }: Pick<VideoRequest, 'key' | 'videoId'>): Promise<FoundVideo> {
  const job = isJobId(videoId) ? await deps.ledger.readJob(key.uid, videoId) : undefined;
  if (!job) throw new GatewayError('not_found', 'This key made no video with that id.');
  const at = channelOf(deps.state.get(), job);
  if (!at) throw channelGone();
  return { job, at };
}

/** GET /v1/videos/{id}: the provider's own words. */
export function retrieveVideo(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<SmallAnswer> {
  return slotted(deps, request, found, () => look(deps, request, found));
}

/**
 * GET /v1/videos/{id}/content: `pass` gets the provider's answer while the slots are taken. `query` is the client's, without its
 * question mark.
 */
export function downloadVideo<T>(deps: PipelineDeps, request: VideoRequest, { found, query, pass }: { found: FoundVideo; query: string; pass: (response: UpstreamResponse) => Promise<T> }): Promise<T> {
  const path = `${pathOf(found)}/content${query === '' ? '' : `?${query}`}`;
  // as a stream: it may take as long as it does not fall silent
  return slotted(deps, request, found, async () => pass(await exchange(deps, request, found, { method: 'GET', path, stream: true })));
}

/**
 * DELETE /v1/videos/{id}. One that is not known to have ended is looked at first: if it has failed, its price is given back; else
 * it stays paid, as what is deleted was being made.
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
    return (await look(deps, request, found)).state === 'Running';
  } catch (error) {
    // gone already: the provider's answer to the deletion says so
    if (error instanceof GatewayError && error.code === 'not_found') return true;
    throw error;
  }
}

async function look(deps: PipelineDeps, request: VideoRequest, found: FoundVideo): Promise<SmallAnswer & Pick<ConvertedJob, 'state'>> {
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

function slotted<T>(deps: PipelineDeps, { requestId, key }: VideoRequest, { at }: FoundVideo, work: () => Promise<T>): Promise<T> {
  return withSlots(deps, requestId, key.slot ? [key.slot, ...at.slots] : at.slots, work);
}

function exchange(deps: PipelineDeps, { requestId, headers, left, attempts }: VideoRequest, { job, at }: FoundVideo, what: Pick<UpstreamRequest, 'method' | 'path' | 'stream'>): Promise<UpstreamResponse> {
  const { 'content-type': _type, ...travelling } = requestHeaders(headers, at.target.protocol);
  return ask(deps, { callId: requestId, model: job.origin.model, at, attempts, request: { ...what, headers: travelling, body: undefined, signal: left } });
}

function pathOf({ job, at }: FoundVideo): string {
  return at.videos.path(job.jobId);
}
