/**
 * Completes the response after the settlement: sends a buffered response with its cost, the last event of a stream, or
 * the error in the client's dialect.
 */
import { formatDecimal } from '#snapshot/decimal.ts';
import { gatewayMessage } from '../errors.ts';
import type { FundsOf, GatewayError, RefusedKey } from '../errors.ts';
import type { SettleResult } from '../ledger/ledger.ts';
import { isContextOverflow, OVERFLOW_CODE } from '../protocol/context-overflow.ts';
import { writeFailedStream } from '../protocol/openai/failed-stream.ts';
import type { CallRecord, ClientReply, PipelineDeps } from './context.ts';
import type { SettledOutcome } from './settle.ts';

/** The status and the error that the client saw. */
export interface ReplyStatus {
  readonly httpStatus: number;
  readonly errorCode: string | undefined;
  readonly errorMessage?: string | undefined;
  readonly exceededLimitNanoUsd?: bigint | undefined;
  readonly fundsOf?: FundsOf | undefined;
  /** The key that was refused before it was authenticated. */
  readonly refusedKey?: RefusedKey | undefined;
}

const OK = 200;
/** The status in logs if the client left before it got one. */
const CLIENT_CLOSED_REQUEST = 499;

/** Sends the rest of the response. */
export function sendOutcome(
  { clock }: PipelineDeps,
  record: CallRecord,
  { outcome, result, pendingNanoUsd }: SettledOutcome,
): ReplyStatus {
  const { reply } = record.received;
  switch (outcome.kind) {
    case 'Buffered':
      record.firstByteAt = clock.monotonicMs();
      if (result) addCostHeaders(outcome.headers, result);
      else if (pendingNanoUsd !== undefined)
        outcome.headers['x-modelgateway-cost-usd'] = formatDecimal(pendingNanoUsd, 2);
      reply.send(outcome.status, outcome.headers, outcome.body);
      return { httpStatus: outcome.status, errorCode: undefined };
    case 'Streamed':
      reply.end(outcome.last);
      return { httpStatus: OK, errorCode: undefined };
    case 'ProviderFailed':
      if (!reply.started) return errorStatus(outcome.error, reply.fail(outcome.error));
      reply.end(outcome.last);
      return errorStatus(outcome.error, OK);
    case 'Error':
      return errorStatus(outcome.error, sendError(record, outcome.error));
    case 'ClientGone':
      return { httpStatus: statusSeen(reply), errorCode: undefined };
  }
}

function errorStatus(error: GatewayError, httpStatus: number): ReplyStatus {
  const {
    code,
    details: { key, exceededLimitNanoUsd, fundsOf },
  } = error;
  const errorMessage = gatewayMessage(error);
  return { httpStatus, errorCode: code, errorMessage, exceededLimitNanoUsd, fundsOf, refusedKey: key };
}

/** Returns the status that the client saw. */
function sendError(record: CallRecord, error: GatewayError): number {
  const { reply } = record.received;
  const writeFailure = record.writeFailure ?? unopenedFailure(record);
  if (!reply.started || !writeFailure) return reply.fail(error);
  reply.end(writeFailure({ code: failureCode(error), message: error.message }));
  return OK;
}

/** Of the codes that a response's error may have, the one that says the most. */
function failureCode({ code, message, details: { provider } }: GatewayError): string {
  if (code === 'rate_limit_exceeded') return code;
  if (code !== 'upstream_refused') return 'server_error';
  return isContextOverflow({ message, code: provider?.code }) ? OVERFLOW_CODE : 'invalid_prompt';
}

/** For a response of OpenAI's that began with a ping, and that no provider has opened. */
function unopenedFailure({ received: { requestId: id, createdMs }, routed }: CallRecord): CallRecord['writeFailure'] {
  if (routed?.call.pingForm !== 'Responses') return undefined;
  const call = { id, createdSeconds: Math.floor(createdMs / 1000), model: routed.call.model };
  return (failure) => writeFailedStream(call, failure);
}

function statusSeen({ started }: ClientReply): number {
  return started ? OK : CLIENT_CLOSED_REQUEST;
}

/** Adds the call's cost and what remains under the key's limit. */
function addCostHeaders(headers: Record<string, string>, result: SettleResult): void {
  const { record, keyRemainingNanoUsd: remaining } = result;
  headers['x-modelgateway-cost-usd'] = formatDecimal(record.costNanoUsd, 2);
  headers['x-modelgateway-remaining-usd'] = remaining === null ? 'Unlimited' : formatDecimal(remaining, 2);
  if (record.usageSource === 'Estimated') headers['x-modelgateway-usage'] = 'estimated';
}
