/**
 * What is left to tell the client once its call is in the books: a whole answer with its cost, a stream's last event, or the
 * error in its dialect.
 */
import { formatDecimal } from '../snapshot/decimal.ts';
import type { SettleResult } from '../ledger/ledger.ts';
import type { CallRecord, PipelineDeps, Received } from './context.ts';
import type { Settled } from './settle.ts';

export interface Told {
  readonly httpStatus: number;
  readonly errorCode: string | undefined;
}

/** The status that logs show for a client that left before it got one. */
const CLIENT_CLOSED_REQUEST = 499;

export function answer(deps: Pick<PipelineDeps, 'clock'>, received: Received, record: CallRecord, { ending, result }: Settled): Told {
  const { reply } = received;
  switch (ending.kind) {
    case 'Whole':
      record.firstByteAt = deps.clock.monotonicMs();
      addCost(ending.headers, result);
      reply.send(ending.status, ending.headers, ending.body);
      return { httpStatus: ending.status, errorCode: undefined };
    case 'Streamed':
      reply.end(ending.last);
      return { httpStatus: 200, errorCode: undefined };
    case 'ProviderFailed':
      if (!reply.started) return { httpStatus: reply.fail(ending.error), errorCode: ending.error.code };
      reply.end(ending.last);
      return { httpStatus: 200, errorCode: ending.error.code };
    case 'Error':
      return { httpStatus: reply.fail(ending.error), errorCode: ending.error.code };
    case 'ClientGone':
      return { httpStatus: goneStatus(received), errorCode: undefined };
  }
}

function goneStatus({ reply }: Received): number {
  return reply.started ? 200 : CLIENT_CLOSED_REQUEST;
}

/** What the call cost and what is left under the key's limit: only on answers that waited for the books. */
function addCost(headers: Record<string, string>, result: SettleResult | undefined): void {
  if (!result) return;
  const { record, keyRemainingNanoUsd } = result;
  headers['x-modelgateway-cost-usd'] = formatDecimal(record.costNanoUsd, 2);
  headers['x-modelgateway-remaining-usd'] = keyRemainingNanoUsd === null ? 'Unlimited' : formatDecimal(keyRemainingNanoUsd, 2);
  if (record.usageSource === 'Estimated') headers['x-modelgateway-usage'] = 'estimated';
}
