/**
 * [P] The Events for a change of a status: an object became Ready or not Ready, or a warning appeared. Transient states
 * have none, and neither have the keys of an Account that reaches its limit.
 */
import { CONDITIONS } from '#crds/conditions.ts';
import type { Condition } from '#crds/types.gen.ts';
import type { EventNote } from '#kube/events.ts';
import type { StatusBody } from '#objects/live-object.ts';

/** Conditions that are present only while True. Not those of progress: the Event of Ready tells it. */
const WARNINGS: ReadonlySet<string> = new Set(
  Object.entries(CONDITIONS)
    .filter(([type, row]) => 'onlyWhileTrue' in row && type !== 'Reconciling' && type !== 'Stalled')
    .map(([type]) => type),
);
/** Reasons of transient states. AccountLimitReached: the Account has an Event, and thousands of its keys none. */
const SILENT_REASONS: ReadonlySet<string> = new Set([
  'Pending',
  'Reconciling',
  'SecretPending',
  'NoProxies',
  'ProxyNotConnected',
  'Deleting',
  'AccountLimitReached',
]);

/** Compares the previous status with the current one. */
export function transitionsOf(before: StatusBody, now: StatusBody): EventNote[] {
  const old = new Map((before.conditions ?? []).map((condition) => [condition.type, condition]));
  return (now.conditions ?? []).flatMap((condition) => {
    const last = old.get(condition.type);
    if (condition.type === 'Ready') return readiness(condition, last);
    if (condition.type === 'CredentialReady') return signIn(condition, last);
    return WARNINGS.has(condition.type) && last?.status !== 'True'
      ? [{ type: 'Warning', reason: condition.type, note: condition.message }]
      : [];
  });
}

/** A channel has lost its sign-in, or has it again. */
function signIn({ type, status, reason, message }: Condition, last: Condition | undefined): EventNote[] {
  if (status === (last?.status ?? 'True')) return [];
  return [
    status === 'True' ? { type: 'Normal', reason: type, note: message } : { type: 'Warning', reason, note: message },
  ];
}

function readiness({ status, reason, message }: Condition, last: Condition | undefined): EventNote[] {
  if (status === last?.status && reason === last.reason) return [];
  if (status === 'True')
    return last?.reason === 'AccountLimitReached' ? [] : [{ type: 'Normal', reason: 'Ready', note: message }];
  if (status === 'Unknown' || SILENT_REASONS.has(reason)) return [];
  return [{ type: reason === 'Disabled' ? 'Normal' : 'Warning', reason, note: message }];
}
