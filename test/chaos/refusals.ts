/** Checks refused calls: there was a reason, the client was told it, and the call cost nothing. */
import type { CallLog } from './client.ts';
import type { Pause } from './happened.ts';
import type { Evidence } from './reconcile.ts';

/** Without the attempts of calls that a provider answered with an error: these never came to one. */
export function refusals({ calls, attempts, records }: Evidence): string[] {
  const forwarded = new Set(attempts.map(({ asked: { n } }) => n));
  const byId = new Map(records.map((record) => [record.id, record]));
  return calls
    .filter(({ plan, status }) => status >= 400 && !forwarded.has(plan.n))
    .flatMap((call) => {
      const { plan, status, said } = call;
      const record = byId.get(call.id);
      return [
        ...(record && record.costNanoUsd > 0n
          ? [`call ${plan.n} was refused with ${status}, and billed: ${record.status} ${record.costNanoUsd}`]
          : []),
        ...(isExplained(call)
          ? []
          : [`call ${plan.n} was refused with ${status} and not told why: ${said.slice(0, 200)}`]),
      ];
    });
}

/** A gateway that cannot reach its ledger says that, or that it shuts down, and nothing else. */
function isExplained({ plan, status, said }: CallLog): boolean {
  if (status !== 503 || said === '') return true;
  const isAnthropic = plan.path === '/v1/messages';
  return /shutting down/.test(said) || (isAnthropic ? /"api_error"/ : /"ledger_unavailable"/).test(said);
}

export interface Disturbed {
  readonly pauses: readonly Pause[];
  /** The member that a call was sent to. */
  readonly memberOf: (n: number) => number;
}

/** The time after which a dead gateway's slot is free, with the delay of its detection. */
const LEASE_MS = 26_500;
/** The usual delay until an end is reported. */
const SLACK_MS = 2_000;

/** A key is full only while as many calls as its threshold may have a slot. */
export function refusedAsFull(evidence: Evidence, disturbed: Disturbed): string[] {
  const ends = new Map(evidence.calls.map((call) => [call, slotEnd(call, evidence, disturbed)]));
  return evidence.calls.flatMap((call) => {
    const limit = /number of calls in flight \((\d+)\)/.exec(call.said)?.[1];
    if (call.status !== 429 || limit === undefined) return [];
    const others = evidence.calls.filter(
      (other) =>
        other !== call &&
        other.plan.key === call.plan.key &&
        other.sentMs <= call.overMs &&
        (ends.get(other) ?? 0) >= call.sentMs,
    );
    return others.length >= Number(limit)
      ? []
      : [
          `call ${call.plan.n} of key ${call.plan.key} was refused as full ` +
            `(${limit}), and at most ${others.length} others ran`,
        ];
  });
}

/** The latest moment at which a call may have a slot. */
function slotEnd(call: CallLog, { attempts, records }: Evidence, { pauses, memberOf }: Disturbed): number {
  const { plan, sentMs } = call;
  const record = records.find(({ id }) => id === call.id);
  const mine = attempts.filter(({ asked: { n } }) => n === plan.n);
  const overMs = Math.max(
    call.overMs,
    ...mine.map((each) => each.overMs ?? each.arrivedMs),
    record ? record.createdMs + record.durationMs : 0,
  );
  const struck = pauses.filter(
    ({ fromMs, toMs, member }) =>
      fromMs <= overMs + SLACK_MS && toMs >= sentMs && (member === undefined || member === memberOf(plan.n)),
  );
  // a slot is given back when the store is there again; one of a dead gateway when its lease ends
  const freeMs = struck.map(({ fromMs, toMs, member }) => (member === undefined ? toMs : fromMs + LEASE_MS));
  return Math.max(overMs, ...freeMs) + SLACK_MS;
}
