/**
 * Lets statuses show whether an operator still stands behind them. The leader renews status.lastConfirmedTime of each
 * object every six hours, a few objects at a time. An ApiKey or Account whose own gateway has not renewed it for a day
 * gets Ready=Unknown from the leader of any other gateway that sees the object.
 */
import type { Logger } from 'pino';
import { REASONS } from '#crds/conditions.ts';
import type { Account, ApiKey } from '#crds/types.gen.ts';
import type { TimerClock } from '../clock.ts';
import type { KubeClient, KubeJson } from '../kube/client.ts';
import { explainKubeError } from '../kube/errors.ts';
import { createStatusClient } from '../kube/status-client.ts';
import { formatTime } from '../status/conditions.ts';
import { partOf } from '../status/differences.ts';
import type { LiveObject } from '../store/live-objects.ts';
import { objectId } from '../store/resources.ts';
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
  const run: Run = { ...options, stopped: false, cursor: 0 };
  let running: Promise<void> = Promise.resolve();
  let cancel = next();

  function next(): () => void {
    return clock.after(sweepEveryMs, () => {
      running = sweep(run).then(() => {
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
  /** Where the next sweep begins among the gateway's own objects, so that one that fails holds up no other. */
  cursor: number;
}

async function sweep(run: Run): Promise<void> {
  const { client, gatewayNamespace, leading, onWritten, clock } = run;
  if (!leading()) return;
  const own = createStatusClient({ client, gatewayNamespace, leading, onWritten });
  const confirmations = dueForConfirmation(run).map((target) => () =>
    own.apply(target, 'confirmation', { lastConfirmedTime: formatTime(clock.nowMs()) }));
  const withdrawals = silentObjects(run).map(({ target, gateway, withdrawn }) => () =>
    // under the silent gateway's own field manager, so that its operator takes the fields over when it is back
    createStatusClient({ client, gatewayNamespace: gateway, leading, onWritten })
      .apply(target, 'operator', partOf(withdrawn, 'operator')));
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

/** Few enough objects that a round of all of them takes half as long as a confirmation lasts. */
function dueForConfirmation(run: Run): readonly LiveObject[] {
  const ids = run.ownIds();
  const atMost = Math.max(MIN_WRITES_PER_SWEEP, Math.ceil(ids.length / SWEEPS_PER_ROUND) * 2);
  const isDue = ({ status: { observedGeneration, lastConfirmedTime = '' } }: LiveObject): boolean =>
    observedGeneration !== undefined && !(run.clock.nowMs() - Date.parse(lastConfirmedTime) < CONFIRM_EVERY_MS);
  const due: LiveObject[] = [];
  for (let seen = 0; seen < ids.length && due.length < atMost; seen++) {
    run.cursor = (run.cursor + 1) % ids.length;
    const live = run.writable(ids[run.cursor] ?? '');
    if (live && isDue(live)) due.push(live);
  }
  return due;
}

interface SilentObject {
  readonly target: LiveObject;
  /** The namespace of the object's gateway. */
  readonly gateway: string;
  readonly withdrawn: NonNullable<ReturnType<typeof withdrawnStatus>>;
}

function silentObjects(options: Run): readonly SilentObject[] {
  const { tenantObjects, gatewayNamespace, writable, clock } = options;
  const nowMs = clock.nowMs();
  return tenantObjects().values().flatMap((object) => {
    const gateway = object.spec.gatewayNamespace;
    const target = gateway === gatewayNamespace ? undefined : writable(objectId(object));
    const confirmed = target?.status.lastConfirmedTime;
    if (!target || confirmed === undefined || nowMs - Date.parse(confirmed) < SILENT_AFTER_MS) return [];
    const withdrawn = withdrawnStatus({ ...target.status }, nowMs, {
      reason: 'GatewaySilent',
      message: silenceMessage(gateway, confirmed),
    });
    return withdrawn ? [{ target, gateway, withdrawn }] : [];
  }).take(MIN_WRITES_PER_SWEEP).toArray();
}

/** A sentence for the object's owner. */
export function silenceMessage(gateway: string, confirmed: string): string {
  return `${REASONS.GatewaySilent} The gateway is "${gateway}"; it last confirmed the status at ${confirmed}.`;
}
