/**
 * What the client still gets once its call is in the books: a whole response with its cost, the last event of a stream,
 * or the error in its dialect.
 */
import { formatDecimal } from '../snapshot/decimal.ts';
import type { SettleResult } from '../ledger/ledger.ts';
import type { CallRecord, ClientReply, PipelineDeps } from './context.ts';
import type { Settled } from './settle.ts';

/** What the client saw in the end. */
export interface ReplyStatus {
  readonly httpStatus: number;
  readonly errorCode: string | undefined;
}

/** The status in logs of a client that left before it got one. */
const CLIENT_CLOSED_REQUEST = 499;

/** Sends the rest. Returns what the client saw. */
export function finishReply({ clock }: PipelineDeps, record: CallRecord, { outcome, result }: Settled): ReplyStatus {
  const { reply } = record.received;
  switch (outcome.kind) {
    case 'Buffered':
      record.firstByteAt = clock.monotonicMs();
      reply.send(outcome.status, { ...outcome.headers, ...costHeaders(result) }, outcome.body);
      return { httpStatus: outcome.status, errorCode: undefined };
    case 'Streamed':
      reply.end(outcome.last);
      return { httpStatus: 200, errorCode: undefined };
    case 'ProviderFailed':
      if (!reply.started) return { httpStatus: reply.fail(outcome.error), errorCode: outcome.error.code };
      reply.end(outcome.last);
      return { httpStatus: 200, errorCode: outcome.error.code };
    case 'Error':
      return { httpStatus: reply.fail(outcome.error), errorCode: outcome.error.code };
    case 'ClientGone':
      return { httpStatus: statusSeen(reply), errorCode: undefined };
  }
}

function statusSeen({ started }: ClientReply): number {
  return started ? 200 : CLIENT_CLOSED_REQUEST;
}

/** The call's cost, and what is left under the key's limit: only on responses that waited for the settlement. */
function costHeaders(result: SettleResult | undefined): Record<string, string> {
  if (!result) return {};
  const { record, keyRemainingNanoUsd } = result;
  return {
    'x-modelgateway-cost-usd': formatDecimal(record.costNanoUsd, 2),
    'x-modelgateway-remaining-usd': keyRemainingNanoUsd === null ? 'Unlimited' : formatDecimal(keyRemainingNanoUsd, 2),
    ...record.usageSource === 'Estimated' ? { 'x-modelgateway-usage': 'estimated' } : {},
  };
}
