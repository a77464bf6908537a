/**
 * Lets statuses show whether an operator still stands behind them. The leader renews status.lastConfirmedTime of each
 * object every six hours, a few objects at a time. A gateway that has confirmed none of its ApiKeys and Accounts for a
 * day counts as silent: the leaders of other gateways that see these objects then set Ready=Unknown on them. The first
 * confirmation ends the silence, however old those of the gateway's other objects are.
 */
import type { Logger } from 'pino';
import { REASONS } from '#crds/conditions.ts';
import type { Account, ApiKey } from '#crds/types.gen.ts';
import type { TimerClock } from '#runtime/clock.ts';
import type { KubeClient, KubeJson } from '#kube/client.ts';
import { explainKubeError } from '#kube/errors.ts';
import { createStatusClient } from '#kube/status-client.ts';
import { formatTime } from '../status/conditions.ts';
import { partOf } from '../status/differences.ts';
import type { LiveObject } from '#objects/live-object.ts';
import { objectId } from '#objects/resources.ts';
import { withdrawnStatus } from './retire.ts';

interface ConfirmationOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly gatewayNamespace: string;
  readonly leading: () => boolean;
  /** The gateway's own objects, by "Kind namespace/name". */
  readonly ownIds: () => readonly string[];
  /** ApiKeys and Accounts of all gateways. */
  readonly tenantObjects: () => readonly (ApiKey | Account)[];
  /** An object that may be written; undefined also while it or its namespace is being deleted. */
  readonly writable: (id: string) => LiveObject | undefined;
  /** Called with the object after each write. */
  readonly onWritten: (kind: LiveObject['kind'], object: KubeJson) => void;
  readonly clock: TimerClock;
  readonly log: Pick<Logger, 'warn'>;
  /** Default: a minute. */
  readonly sweepEveryMs?: number;
}

export interface Confirmations {
  /** Stops renewing; resolves when the running write has ended. */
  stop(): Promise<void>;
}

const SWEEP_EVERY_MS = 60_000;
const CONFIRM_EVERY_MS = 6 * 60 * 60 * 1000;
/** By then the gateway's proxies refuse calls too (--max-config-age). */
const SILENT_AFTER_MS = 24 * 60 * 60 * 1000;
const SWEEPS_PER_ROUND = CONFIRM_EVERY_MS / SWEEP_EVERY_MS;
const MIN_WRITES_PER_SWEEP = 20;

/** Starts at once. */
export function startConfirmations(options: ConfirmationOptions): Confirmations {
  const { clock, sweepEveryMs = SWEEP_EVERY_MS } = options;
  const run: Run = {
    ...options,
    stopped: false,
    overdue: startRounds(),
    due: startRounds(),
    silent: startRounds(),
  };
  let running: Promise<void> = Promise.resolve();
  let cancel = next();

  function next(): () => void {
    return clock.after(sweepEveryMs, () => {
      running = sweep(run)
        .catch((error: unknown) => {
          options.log.warn({ err: error }, 'statuses could not be confirmed; the next sweep tries it again');
        })
        .then(() => {
          if (!run.stopped) cancel = next();
        });
    });
  }

  return {
    async stop() {
      run.stopped = true;
      cancel();
      await running;
    },
  };
}

interface Run extends ConfirmationOptions {
  stopped: boolean;
  /** Among the gateway's own objects. */
  readonly overdue: TakeNext;
  /** Among the gateway's own objects. */
  readonly due: TakeNext;
  /** Among the objects of all gateways. */
  readonly silent: TakeNext;
}

/** Returns what `find` finds, for at most so many items, and continues with the next item when it is called again. */
type TakeNext = <T, Found>(
  items: readonly T[],
  atMost: number,
  find: (item: T) => Found | undefined,
) => readonly Found[];

/** Goes round a list again and again, so that items that fail each time do not hold up the others. */
function startRounds(): TakeNext {
  let at = 0;
  return (items, atMost, find) => {
    const taken = [];
    for (let seen = 0; seen < items.length && taken.length < atMost; seen++) {
      at = (at + 1) % items.length;
      const item = items[at];
      const found = item === undefined ? undefined : find(item);
      if (found !== undefined) taken.push(found);
    }
    return taken;
  };
}

async function sweep(run: Run): Promise<void> {
  const { client, gatewayNamespace, leading, onWritten, clock } = run;
  if (!leading()) return;
  const own = createStatusClient({ client, gatewayNamespace, leading, onWritten });
  const confirmations = dueForConfirmation(run).map(
    (target) => () => own.apply(target, 'confirmation', { lastConfirmedTime: formatTime(clock.nowMs()) }),
  );
  const withdrawals = silentObjects(run).map(
    ({ target, gateway, withdrawn }) =>
      () =>
        // under the silent gateway's own field manager, so that its operator takes the fields over when it is back
        createStatusClient({ client, gatewayNamespace: gateway, leading, onWritten }).apply(
          target,
          'operator',
          partOf(withdrawn, 'operator'),
        ),
  );
  await writeAll([...confirmations, ...withdrawals], run);
}

/** Never rejects: what fails is due again at the next sweep. */
async function writeAll(writes: readonly (() => Promise<unknown>)[], run: Run): Promise<void> {
  const problems = new Set<string>();
  for (const write of writes) {
    if (run.stopped || !run.leading()) return;
    try {
      await write();
    } catch (error) {
      problems.add(explainKubeError(error));
    }
  }
  for (const problem of problems)
    run.log.warn({ problem }, 'statuses could not be confirmed; they are tried again in a minute');
}

/**
 * Few enough objects that a round of all of them takes half as long as a confirmation lasts. Overdue ones come first,
 * and have a limit of their own, so that they do not hold up the others if they cannot be written.
 */
function dueForConfirmation(run: Run): readonly LiveObject[] {
  const ids = run.ownIds();
  const nowMs = run.clock.nowMs();
  const atMost = Math.max(MIN_WRITES_PER_SWEEP, Math.ceil(ids.length / SWEEPS_PER_ROUND) * 2);
  const findDue = (id: string, overdue: boolean): LiveObject | undefined => {
    const live = run.writable(id);
    return live && isDue(live, nowMs) && isOverdue(live, nowMs) === overdue ? live : undefined;
  };
  return [...run.overdue(ids, atMost, (id) => findDue(id, true)), ...run.due(ids, atMost, (id) => findDue(id, false))];
}

function isDue({ status: { observedGeneration, lastConfirmedTime = '' } }: LiveObject, nowMs: number): boolean {
  return observedGeneration !== undefined && !(nowMs - Date.parse(lastConfirmedTime) < CONFIRM_EVERY_MS);
}

/** True if people who read the status cannot rely on it, or are told so. */
function isOverdue({ status: { conditions = [], lastConfirmedTime = '' } }: LiveObject, nowMs: number): boolean {
  return (
    nowMs - Date.parse(lastConfirmedTime) >= SILENT_AFTER_MS ||
    conditions.some(({ reason }) => reason === 'GatewaySilent')
  );
}

interface SilentObject {
  readonly target: LiveObject;
  /** The namespace of the object's gateway. */
  readonly gateway: string;
  readonly withdrawn: NonNullable<ReturnType<typeof withdrawnStatus>>;
}

function silentObjects(run: Run): readonly SilentObject[] {
  const nowMs = run.clock.nowMs();
  const objects = run.tenantObjects();
  const latest = latestConfirmations(objects, run);
  return run.silent(objects, MIN_WRITES_PER_SWEEP, (object) => {
    const gateway = object.spec.gatewayNamespace;
    const confirmedMs = latest.get(gateway);
    if (confirmedMs === undefined || nowMs - confirmedMs < SILENT_AFTER_MS) return undefined;
    const target = run.writable(objectId(object.kind, object.metadata));
    const withdrawn =
      target &&
      withdrawnStatus({ ...target.status }, nowMs, {
        reason: 'GatewaySilent',
        message: silenceMessage(gateway, formatTime(confirmedMs)),
      });
    return withdrawn && { target, gateway, withdrawn };
  });
}

/** When each other gateway last confirmed any object, by its namespace; a gateway that never did is absent. */
function latestConfirmations(
  objects: readonly (ApiKey | Account)[],
  { gatewayNamespace, writable }: Run,
): ReadonlyMap<string, number> {
  const latest = new Map<string, number>();
  for (const object of objects) {
    const gateway = object.spec.gatewayNamespace;
    if (gateway === gatewayNamespace) continue;
    const confirmedMs = Date.parse(writable(objectId(object.kind, object.metadata))?.status.lastConfirmedTime ?? '');
    if (confirmedMs > (latest.get(gateway) ?? -Infinity)) latest.set(gateway, confirmedMs);
  }
  return latest;
}

/** A sentence for the object's owner. */
export function silenceMessage(gateway: string, confirmed: string): string {
  return `${REASONS.GatewaySilent} The gateway is "${gateway}"; it last confirmed a status at ${confirmed}.`;
}
