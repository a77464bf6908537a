/**
 * Sends every request to a channel: calls, token counts, and requests about jobs and what providers store. planRequest
 * chooses the headers and the platform, by which the request is then written; sendToChannel sends it and reports the
 * attempt. Callers take the limits before: admit.ts for calls, free-request.ts for what costs nothing.
 */
import { betaLabel } from '../protocol/platforms/betas.ts';
import { DROPPED_BETA, toPlatformHeaders, toPlatformPath } from '../protocol/platforms/platform-request.ts';
import type { PlatformPlan } from '../protocol/platforms/platform-request.ts';
import { providerOf } from '../protocol/providers.ts';
import { SKIPPED } from '../telemetry/call-report.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { collectInto } from '../upstream/collect.ts';
import { requestHeaders } from '../upstream/headers.ts';
import type { IncomingHeaders } from '../upstream/headers.ts';
import { isRouteFault } from '../upstream/retry.ts';
import type { Verdict } from '../upstream/retry.ts';
import { connectErrorOf, namesOf, UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamRequest, UpstreamResponse, UpstreamTarget } from '../upstream/upstream.ts';
import type { CallRecord, PipelineDeps } from './context.ts';
import { verdictOf } from './failures.ts';
import type { AttemptFailure } from './failures.ts';

/** The headers that a client sent, and the account that it belongs to. */
interface Sender {
  readonly headers: IncomingHeaders;
  /** "namespace/name" */
  readonly account: string;
}

export interface ChannelPlan {
  readonly target: UpstreamTarget;
  readonly stream: boolean;
  /** The client's headers that the provider gets. */
  readonly headers: Record<string, string>;
  /** What the request is written for; undefined: the protocol's own API. */
  readonly platform: PlatformPlan | undefined;
  /** In milliseconds of the monotonic clock. */
  readonly startedAt: number;
}

/** A request as its protocol writes it, and who waits for the response. */
export interface ChannelRequest {
  readonly method: UpstreamRequest['method'];
  /** Of the protocol's own API, below the channel's base URL. */
  readonly path: string;
  readonly body: Uint8Array | undefined;
  /** Of the body. Default: application/json. */
  readonly contentType?: string | undefined;
  /** Paths of the client's fields that were left out. */
  readonly dropped?: readonly string[] | undefined;
  /** Aborts the exchange at any stage. */
  readonly signal: AbortSignal;
  /** Receives the report of this attempt. */
  readonly attempts: AttemptReport[];
  /** True: a response without a body is a failure, and a stream's response is returned only with its first chunk. */
  readonly needsContent: boolean;
  /** Of a call, which is billed by them whenever it ends; absent: the request costs nothing. */
  readonly record?: Pick<CallRecord, 'sent' | 'timedOut'>;
  /** True: the provider may go on with what it was sent, also where its response is lost. */
  readonly goesOn?: boolean;
}

/** How much of a provider's error response is read. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Begins an attempt. Without the model's name at the provider, the request is to the protocol's own API. */
export function planRequest(
  { clock }: Pick<PipelineDeps, 'clock'>,
  { target, upstreamModel }: { readonly target: UpstreamTarget; readonly upstreamModel?: string },
  { headers, account, stream }: Sender & { readonly stream: boolean },
): ChannelPlan {
  const startedAt = clock.monotonicMs();
  const given = requestHeaders(headers, { allowed: target.clientHeaders, account });
  const { platform = 'Direct', apiVersion = '', betas: betaRules } = target;
  if (upstreamModel === undefined || (platform === 'Direct' && !betaRules))
    return { target, stream, headers: given, platform: undefined, startedAt };
  const betas = given['anthropic-beta'];
  const plan = { platform, apiVersion, model: upstreamModel, stream, betas, betaRules };
  return { target, stream, headers: toPlatformHeaders(given, plan), platform: plan, startedAt };
}

/** Sends a planned request, and reports the attempt. A response whose status is no success is read, and is a failure. */
export async function sendToChannel(
  { upstreams, clock }: Pick<PipelineDeps, 'upstreams' | 'clock'>,
  { target, stream, headers, platform, startedAt }: ChannelPlan,
  request: ChannelRequest,
): Promise<UpstreamResponse | AttemptFailure> {
  const { method, path, body, contentType = 'application/json', signal, needsContent } = request;
  const { record = { sent: false, timedOut: false } } = request;
  if (body) headers['content-type'] = contentType;
  else delete headers['content-type'];
  record.sent = true;
  let result: UpstreamResponse | AttemptFailure;
  try {
    const sent = { method, path: toPlatformPath(path, platform), headers, body, stream, signal };
    const response = await upstreams.send(target, sent);
    if (isSuccess(response.status, needsContent)) {
      result = stream && needsContent ? await afterFirstPiece(response) : response;
    } else {
      record.sent = false;
      result = await readRefusal(target, response);
    }
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    record.sent = mayContinue(error, request);
    record.timedOut = error.timedOut;
    result = brokenBy(error);
  }
  request.attempts.push(reportOf(target, result, request.dropped, clock.monotonicMs() - startedAt));
  return result;
}

/** After a cancellation the provider may continue and charge for the call; after a failure of its own some calls only. */
function mayContinue({ sent, kind }: UpstreamFailure, { goesOn }: ChannelRequest): boolean {
  return sent && (goesOn === true || kind === 'Aborted');
}

/** A 204 or 205 has no body. */
function isSuccess(status: number, needsContent: boolean): boolean {
  return status >= 200 && status < 300 && !(needsContent && (status === 204 || status === 205));
}

/** A failed attempt at a connection. */
export function brokenBy(failure: UpstreamFailure): AttemptFailure {
  const { kind } = failure;
  const connectError = kind === 'Connect' || kind === 'SignIn' ? { connectError: connectErrorOf(failure) } : {};
  return { kind: 'Broken', failure: kind, ...connectError };
}

/** Reads a provider's error response as its protocol and its platform write it. */
export async function readRefusal(
  { protocol, platform }: UpstreamTarget,
  { status, headers, body }: UpstreamResponse,
): Promise<AttemptFailure> {
  const pieces: Uint8Array[] = [];
  try {
    await collectInto(pieces, body, MAX_ERROR_BYTES);
  } catch (error) {
    // the status is enough; the message may be incomplete
    if (!(error instanceof UpstreamFailure)) throw error;
  }
  const text = Buffer.concat(pieces).subarray(0, MAX_ERROR_BYTES);
  const error = providerOf(protocol).readError(status, text, platform);
  const { retryAfterSeconds: seconds } = error;
  return {
    kind: 'Refused',
    status: error.status ?? status,
    error,
    headers: seconds === undefined ? headers : { 'retry-after': String(seconds), ...headers },
  };
}

/** Waits for a stream's first chunk, and returns a response whose body begins with it. */
async function afterFirstPiece({ status, headers, body }: UpstreamResponse): Promise<UpstreamResponse> {
  const iterator = body[Symbol.asyncIterator]();
  const first = await iterator.next();
  let pending: IteratorResult<Uint8Array> | undefined = first;
  return {
    status,
    headers,
    body: {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          if (!pending) return iterator.next();
          const result = pending;
          pending = undefined;
          return Promise.resolve(result);
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }),
    },
  };
}

/** The report of an attempt; without a failure it has succeeded. */
export function reportOf(
  { id: channel, protocol }: UpstreamTarget,
  result: UpstreamResponse | AttemptFailure | undefined,
  dropped: readonly string[] | undefined,
  durationMs: number,
): AttemptReport {
  const droppedBetas = droppedBetasOf(dropped);
  const outcome = outcomeLabel(result);
  return { channel, protocol, outcome, durationMs, ...(droppedBetas.length > 0 && { droppedBetas }) };
}

function droppedBetasOf(dropped: readonly string[] = []): readonly string[] {
  return dropped
    .filter((name) => name.startsWith(DROPPED_BETA))
    .map((name) => betaLabel(name.slice(DROPPED_BETA.length)));
}

function outcomeLabel(result: UpstreamResponse | AttemptFailure | undefined): string {
  if (!result || !('kind' in result)) return 'ok';
  return result.kind === 'Refused' ? `status_${result.status}` : result.failure.toLowerCase();
}

/** Reports a channel that was skipped because it is full or too expensive. */
export function reportSkipped(
  attempts: AttemptReport[],
  { id: channel, protocol }: UpstreamTarget,
  reason: keyof typeof SKIPPED,
): void {
  attempts.push({ channel, protocol, outcome: SKIPPED[reason], durationMs: 0 });
}

/** What the latest attempt has turned out to be, once its response was read. */
export function correctReport(attempts: AttemptReport[], outcome: string): void {
  const last = attempts.at(-1);
  if (last) attempts[attempts.length - 1] = { ...last, outcome };
}

/** Tells the ModelRoute's owner what only he can correct: a credential, a model's name, an address. */
export function warnOfFailure(
  { warn }: Pick<PipelineDeps, 'warn'>,
  target: UpstreamTarget,
  failure: AttemptFailure,
): Verdict {
  const verdict = verdictOf(failure);
  if (failure.kind === 'Refused') {
    if (isRouteFault(verdict)) warn({ ...namesOf(target), status: failure.status });
  } else if (failure.connectError !== undefined) {
    warn({ ...namesOf(target), status: 0, connectError: failure.connectError });
  }
  return verdict;
}
