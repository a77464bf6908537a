/**
 * One exchange with a job's provider: free of charge, but under thresholds; at the channel that made the job and at no other. What
 * goes wrong is told in the words that calls have for it.
 */
import { GatewayError } from '../errors.ts';
import type { SlotLimit } from '../ledger/ledger.ts';
import { readRefusal } from '../pipeline/attempt.ts';
import type { AttemptResult } from '../pipeline/attempt.ts';
import type { PipelineDeps } from '../pipeline/context.ts';
import { emptyTally, keyIsFull, tallyError, verdictOf } from '../pipeline/failures.ts';
import type { AttemptReport } from '../telemetry/call-report.ts';
import { readRetryAfter } from '../upstream/retry.ts';
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { UpstreamRequest, UpstreamResponse } from '../upstream/upstream.ts';
import type { JobChannel } from './job-channel.ts';

export type ExchangeDeps = Pick<PipelineDeps, 'ledger' | 'upstreams' | 'clock' | 'warn'>;

export interface JobExchange {
  /** Whose slots are taken: a request id, or a poll's own. */
  readonly callId: string;
  readonly model: string;
  readonly at: JobChannel;
  readonly request: UpstreamRequest;
  /** Told of what was tried. */
  readonly attempts: AttemptReport[];
}

/** An answer that says what a job has come to is small. */
const MOST_BYTES = 1024 * 1024;

/** Runs with the slots taken, and gives them back. Throws rate_limit_exceeded where one of them is full. */
export async function withSlots<T>({ ledger }: Pick<ExchangeDeps, 'ledger'>, callId: string, slots: readonly SlotLimit[], work: () => Promise<T>): Promise<T> {
  if (slots.length === 0) return work();
  try {
    const result = await ledger.takeSlots(callId, slots);
    if (result.outcome === 'Full') throw result.full.scope === 'Key' ? keyIsFull(result.full) : channelIsFull();
    return await work();
  } finally {
    ledger.releaseSlots(callId);
  }
}

function channelIsFull(): GatewayError {
  return new GatewayError('rate_limit_exceeded', 'The channel that made this video has its full number of calls in flight. Try again shortly.', { retryAfterSeconds: 1 });
}

/** The provider's 2xx answer. Throws GatewayError, and UpstreamFailure (Aborted) where the exchange was stopped. */
export async function ask(deps: ExchangeDeps, exchange: JobExchange): Promise<UpstreamResponse> {
  const { at, request, attempts } = exchange;
  const startedAt = deps.clock.monotonicMs();
  const note = (outcome: string): void => void attempts.push({ channel: at.target.id, protocol: at.target.protocol, outcome, durationMs: deps.clock.monotonicMs() - startedAt });
  try {
    const response = await deps.upstreams.send(at.target, request);
    note(response.status < 300 ? 'ok' : `status_${response.status}`);
    if (response.status >= 200 && response.status < 300) return response;
    throw refusal(deps, exchange, await readRefusal(response));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    note(error.kind.toLowerCase());
    if (error.kind === 'Aborted') throw error;
    throw refusal(deps, exchange, { kind: 'Broken', failure: error.kind });
  }
}

function refusal({ warn, clock }: ExchangeDeps, { at, model }: JobExchange, result: AttemptResult): GatewayError {
  if (result.kind === 'Answered') throw new Error('an answer is no refusal');
  if (result.kind === 'Refused' && (result.status === 404 || result.status === 410)) return new GatewayError('not_found', 'The provider has no such video any more: it was deleted, or has expired.');
  const tally = { ...emptyTally(), attempts: 1, last: result };
  const verdict = verdictOf(result);
  if (result.kind === 'Refused' && verdict === 'rate_limited') tally.rateLimited.push(readRetryAfter(result.headers, clock.nowMs()));
  if (result.kind === 'Refused' && verdict === 'credential') warn({ route: at.route, channel: at.channel, status: result.status });
  return tallyError(tally, model);
}

/** A small answer, whole. Throws GatewayError. */
export async function readSmall({ body }: UpstreamResponse): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      pieces.push(piece);
      size += piece.length;
      if (size > MOST_BYTES) throw notAVideo();
    }
  } catch (error) {
    if (error instanceof UpstreamFailure && error.kind !== 'Aborted') throw new GatewayError('upstream_error', 'The provider broke off within its answer. Try again.');
    throw error;
  }
  return Buffer.concat(pieces, size);
}

/** What the provider answered says nothing of a job. */
export function notAVideo(): GatewayError {
  return new GatewayError('upstream_error', 'The provider answered something that is not about a video. Try again.');
}
