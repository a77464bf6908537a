/**
 * Requests to a channel that cost nothing: token counts, and what concerns jobs and the things that providers store.
 * They take their part of the limits that calls have, and fail with the errors of calls.
 */
import { GatewayError } from '../errors.ts';
import type { FullLimit, CountLimit } from '../ledger/ledger.ts';
import { NO_TOKENS_LOAD, REQUEST_CONSUMED } from '../ledger/load.ts';
import type { Dialect } from '../protocol/call-facts.ts';
import { isOfCaller } from '../state/limits.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamResponse } from '../upstream/upstream.ts';
import { sendToChannel, warnOfFailure } from './channel-call.ts';
import type { ChannelPlan, ChannelRequest } from './channel-call.ts';
import type { PipelineDeps } from './context.ts';
import { addFailure, attemptsError, callerIsFull, channelIsFull, ClientDisconnected, noAttempts } from './failures.ts';

/** What providers store, as error messages call it. */
export type StoredKind = 'video' | 'response' | 'conversation' | 'batch' | 'file';

interface FreeRequest {
  /** By which its part of the limits is known: a request's id, or one that is made for a poll. */
  readonly callId: string;
  readonly dialect: Dialect;
}

/** The most bytes of a response that describes a video, a batch or a file, or a page of them. */
const MAX_DESCRIPTION_BYTES = 4 * 1024 * 1024;
/** The most bytes of a stored response or conversation, which may contain images. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/** Runs the work between taking the limits and releasing them. Throws rate_limit_exceeded if one of them is full. */
export async function withLimits<T>(
  deps: Pick<PipelineDeps, 'ledger' | 'clock'>,
  { callId, dialect }: FreeRequest,
  limits: readonly CountLimit[],
  work: () => Promise<T>,
): Promise<T> {
  if (limits.length === 0) return work();
  try {
    const full = await takeLimits(deps, callId, limits);
    if (full)
      throw isOfCaller(full.full) ? callerIsFull(full, { dialect, nowMs: deps.clock.nowMs() }) : channelIsFull(full);
    return await work();
  } finally {
    deps.ledger.release(callId, REQUEST_CONSUMED);
  }
}

/** Takes part in all limits, or in none if one of them is full: then it resolves with that. */
export async function takeLimits(
  { ledger }: Pick<PipelineDeps, 'ledger'>,
  callId: string,
  limits: readonly CountLimit[],
): Promise<FullLimit | undefined> {
  if (limits.length === 0) return undefined;
  const result = await ledger.take(callId, limits, NO_TOKENS_LOAD);
  return result.outcome === 'Full' ? result : undefined;
}

interface FreeChannelRequest extends Omit<ChannelRequest, 'needsContent' | 'record'> {
  readonly about: StoredKind;
  /** Of which error messages speak. */
  readonly model: string;
}

/** Resolves with the provider's 2xx response. Throws GatewayError, or ClientDisconnected if the signal aborts. */
export async function sendFree(
  deps: Pick<PipelineDeps, 'upstreams' | 'clock' | 'warn'>,
  plan: ChannelPlan,
  { about, model, ...request }: FreeChannelRequest,
): Promise<UpstreamResponse> {
  const result = await sendToChannel(deps, plan, { ...request, needsContent: false });
  if (!('kind' in result)) return result;
  if (result.kind === 'Broken' && result.failure === 'Aborted') throw new ClientDisconnected();
  if (result.kind === 'Refused' && (result.status === 404 || result.status === 410)) throw gone(about);
  const failed = noAttempts();
  addFailure(failed, result, { verdict: warnOfFailure(deps, plan.target, result), nowMs: deps.clock.nowMs() });
  throw attemptsError(failed, model);
}

function gone(about: StoredKind): GatewayError {
  return new GatewayError('not_found', `The provider has no such ${about} any more: it was deleted, or has expired.`);
}

interface BodyLimits {
  readonly about: StoredKind;
  /** Sets how many bytes are held; throws if there are too many. */
  readonly hold?: (bytes: number) => void;
}

/** What is stored with its content. */
const CONTENTS: ReadonlySet<StoredKind> = new Set(['response', 'conversation']);

/** Reads the whole body of a response. Throws GatewayError, or ClientDisconnected if the signal aborts. */
export async function readWholeBody({ body }: UpstreamResponse, { about, hold }: BodyLimits): Promise<Buffer> {
  const maxBytes = CONTENTS.has(about) ? MAX_RESPONSE_BYTES : MAX_DESCRIPTION_BYTES;
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      size += piece.length;
      if (size > maxBytes) throw notAbout(about);
      hold?.(size);
    }
  } catch (error) {
    throw readingError(error, 'within its answer');
  }
  return Buffer.concat(pieces, size);
}

/** What to throw after reading a body has failed: brokenOff if the provider is the cause, else the error itself. */
export function readingError(error: unknown, where: string): unknown {
  if (!(error instanceof UpstreamFailure)) return error;
  return error.kind === 'Aborted' ? new ClientDisconnected() : brokenOff(where);
}

/** The error for an answer that the provider did not finish. `where` is a part of the sentence that clients read. */
export function brokenOff(where: string): GatewayError {
  return new GatewayError('upstream_error', `The provider broke off ${where}. Try again.`);
}

/** Reads what a response is about. Rejects with notAbout where it is something else (SyntaxError). */
export async function readAs<T>(about: StoredKind, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof SyntaxError ? notAbout(about) : error;
  }
}

/** The error for a response that does not describe what it was asked about. */
export function notAbout(about: StoredKind): GatewayError {
  const message = `The provider answered something that is not about a ${about}. Try again.`;
  return new GatewayError('upstream_error', message);
}
