/** [P] How a session ends: what its record says, and what its client sees. */
import { ERRORS, gatewayMessage, GatewayError } from '../../errors.ts';
import type { Close, Closed } from '../../message-socket.ts';
import type { RealtimeError } from '../../protocol/realtime/edit-events.ts';
import type { CallOutcome } from '../context.ts';
import type { ReplyStatus } from '../send-outcome.ts';

export type SessionEnd =
  | { readonly kind: 'ClientClosed' }
  | { readonly kind: 'ProviderClosed'; readonly closed: Closed }
  /** The gateway ends it. `isFault`: what runs is cut off without the gateway's doing. */
  | { readonly kind: 'Ended'; readonly error: GatewayError; readonly isFault: boolean }
  | { readonly kind: 'Draining' };

/** The maximum size of a provider's event, which may repeat the content of several of the client's. */
export const MAX_PROVIDED_MIB = 16;
const NO_BYTES = new Uint8Array(0);
const NORMAL = 1000;
const GOING_AWAY = 1001;
const NO_STATUS = 1005;
/** Closing codes of the gateway are 4000 and the error's HTTP status. */
const CLOSE_CODES = 4000;
const SWITCHED = 101;

const ORDERLY: ReadonlySet<number> = new Set([NORMAL, GOING_AWAY, NO_STATUS]);

/** The outcome by which a session is settled. `isResponding`: responses ran when it ended. */
export function outcomeOf(end: SessionEnd, isResponding: boolean): CallOutcome {
  if (end.kind === 'ClientClosed' && isResponding) return { kind: 'ClientGone' };
  const error = errorOf(end);
  if (error && (end.kind === 'ProviderClosed' || (end.kind === 'Ended' && end.isFault)))
    return { kind: 'Error', error };
  return { kind: 'Streamed', last: NO_BYTES };
}

/** What the client is told of the end; undefined: nothing is wrong. */
export function errorOf(end: SessionEnd): GatewayError | undefined {
  if (end.kind === 'Ended') return end.error;
  if (end.kind !== 'ProviderClosed' || ORDERLY.has(end.closed.code)) return undefined;
  return new GatewayError('upstream_error', breakText(end.closed));
}

function breakText({ code, receivedTooBig }: Closed): string {
  return receivedTooBig
    ? `The provider sent an event larger than ${MAX_PROVIDED_MIB} MiB, which the gateway does not pass on.`
    : `The provider broke off the session (code ${code}).`;
}

/** How the client's socket is closed. */
export function closeOf(end: SessionEnd): Close {
  const error = errorOf(end);
  if (error) return closeFor(error);
  switch (end.kind) {
    case 'Draining':
      return { code: GOING_AWAY, reason: 'The gateway is shutting down. Open another session.' };
    case 'ProviderClosed':
      return { ...end.closed, code: end.closed.code === NO_STATUS ? NORMAL : end.closed.code };
    default:
      return { code: NORMAL, reason: '' };
  }
}

/** How the client's socket is closed after an error. */
export function closeFor(error: GatewayError): Close {
  return { code: CLOSE_CODES + ERRORS[error.code].status, reason: error.message };
}

/** A session's status in reports. */
export function statusOfEnd(error: GatewayError | undefined): ReplyStatus {
  return {
    httpStatus: SWITCHED,
    errorCode: error?.code,
    ...(error && {
      errorMessage: gatewayMessage(error),
      exceededLimitNanoUsd: error.details.exceededLimitNanoUsd,
      fundsOf: error.details.fundsOf,
    }),
  };
}

/** An error as an event of the session. */
export function eventOf(error: GatewayError, eventId: string, causedBy: string | undefined): RealtimeError {
  const { openaiType: type, openaiCode: code } = ERRORS[error.code];
  const { message, details } = error;
  return { eventId, type, code, message, param: details.param ?? null, causedBy: causedBy ?? null };
}
