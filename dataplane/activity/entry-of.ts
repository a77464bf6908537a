/** [P] Makes the activity entry of a finished request from its report. */
import { reportedEndpoint } from '../telemetry/call-report.ts';
import type { CallReport } from '../telemetry/call-report.ts';
import type { ActivityEntry } from '#activity/activity.ts';

const NO_ENDPOINT: ReadonlySet<string | undefined> = new Set(['not_found', 'method_not_allowed']);
const MAX_MESSAGE_LENGTH = 600;
const MAX_ATTEMPTS = 10;

/** Returns undefined if the request belongs to no key, or if it is neither a call nor refused. */
export function entryOf(report: CallReport, nowMs: number): ActivityEntry | undefined {
  const { key, model, errorCode, errorMessage, firstByteMs, admitted = false } = report;
  const refused = !admitted && errorCode !== undefined;
  if (!key || !isCall(report) || !(refused || admitted)) return undefined;
  return {
    callId: report.requestId,
    keyUid: key.uid,
    account: key.account,
    atMs: Math.round(nowMs - report.durationMs),
    refused,
    endpoint: report.endpoint,
    model,
    stream: report.stream,
    httpStatus: report.httpStatus,
    errorCode,
    message: errorMessage && shorten(errorMessage),
    exceededLimitNanoUsd: report.exceededLimitNanoUsd?.toString(),
    fundsOf: report.fundsOf,
    durationMs: Math.round(report.durationMs),
    firstByteMs: firstByteMs && Math.round(firstByteMs),
    attempts: report.attempts
      .slice(0, MAX_ATTEMPTS)
      .map(({ channel, outcome, durationMs }) => ({ channel, outcome, durationMs: Math.round(durationMs) })),
  };
}

function isCall({ endpoint, errorCode }: CallReport): boolean {
  return reportedEndpoint(endpoint).isCall && !NO_ENDPOINT.has(errorCode);
}

function shorten(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
