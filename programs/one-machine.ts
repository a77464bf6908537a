/**
 * Composes operator and data plane in one process. The operator's first valid snapshot starts the data plane, so that
 * no call meets an empty configuration, and a folder with mistakes opens no port.
 */
import type { Logger } from 'pino';
import type { ActivityWriter } from '#activity/activity.ts';
import type { KeepingOptions } from '../dataplane/kept/kept-values.ts';
import type { Ledger } from '../dataplane/ledger/ledger.ts';
import { startDataplane } from './dataplane.ts';
import type { CallOptions, Dataplane, DataplaneOptions } from './dataplane.ts';
import type { ListenAddress } from '../dataplane/listen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { startOperator } from './one-machine/operator.ts';
import type { Operator, OperatorOptions, StatusChanges } from './one-machine/operator.ts';
import { replaceOrigin } from './one-machine/replace-origin.ts';
import type { ReplacedOrigin } from './one-machine/replace-origin.ts';

export interface GatewayOptions extends CallOptions, Pick<DataplaneOptions, 'version' | 'process' | 'env'> {
  readonly configDir: string;
  readonly dataDir: string;
  readonly gatewayNamespace: string;
  readonly usageLabels?: readonly string[] | undefined;
  readonly listen: ListenAddress;
  readonly admin: ListenAddress;
  /** Channels at `from` are called at `to`. */
  readonly replacedOrigin?: ReplacedOrigin | undefined;
  /** The console's URL, which may become known after the start. */
  readonly consoleUrl?: () => string | undefined;
  /** The ledger, which may still be opening while the manifests are read. */
  readonly ledger: Ledger | Promise<Ledger>;
  /** Keeps recent and refused calls for the console. */
  readonly activity?: ActivityWriter | undefined;
  /** Keeps responses of models whose provider stores none. */
  readonly keeping?: KeepingOptions | undefined;
  readonly log: Logger;
  readonly onMinted: OperatorOptions['onMinted'];
  readonly onProblems: OperatorOptions['onProblems'];
  readonly onWarnings: OperatorOptions['onWarnings'];
  /** Called with what has changed in statuses after edits, spending and refusals by providers. */
  readonly onStatuses: (changes: StatusChanges) => void;
}

export interface Gateway {
  readonly port: number;
  readonly adminPort: number;
  /** The snapshot in force. */
  snapshot(): Snapshot;
  /** The folder of manifests, for parts that change it. */
  readonly manifests: Operator['manifests'];
  /** Accepts no new calls. Resolves when the running ones have ended. */
  stop(): Promise<void>;
}

/** Equal to the interval at which a cluster's statuses follow spending. */
const STATUS_INTERVAL_MS = 30_000;
const WARNING_INTERVAL_MS = 1_000;
const FIRST_STATUSES_MS = 50;

/** Resolves once calls can be served. Rejects with InvalidManifests, or if a port cannot be opened. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { log, ledger, configDir, dataDir, gatewayNamespace, onMinted, onProblems, onWarnings, onStatuses } = options;
  let dataplane: Dataplane | undefined;
  let inForce: Snapshot | undefined;
  let refreshSoon: NodeJS.Timeout | undefined;
  let startFault: { readonly error: unknown } | undefined;
  const placed = options.replacedOrigin ? replaceOrigin(options.replacedOrigin) : (made: Snapshot) => made;

  /** The operator is set once it has started, after the first snapshot. */
  const running: { operator?: Operator } = {};
  /** Updates the report after spending, changes of the manifests and refusals by providers. */
  function refresh(): void {
    running.operator
      ?.statusChanges()
      .then(onStatuses)
      .catch((error: unknown) => log.error({ err: error }, 'the statuses cannot be read'));
  }

  /** Reports refusals at most once a second, because there may be a thousand of them in that time. */
  function reportRefusals(): void {
    refreshSoon = undefined;
    refresh();
  }

  const operator = await startOperator({
    configDir,
    dataDir,
    gatewayNamespace,
    ...(options.usageLabels && { usageLabels: options.usageLabels }),
    ledger,
    log,
    onMinted,
    onProblems,
    onWarnings,
    async publish(made) {
      const snapshot = placed(made);
      try {
        dataplane ??= await startDataplane({
          ...options,
          ledger: await ledger,
          dump: { statuses: () => running.operator?.lastStatuses() ?? [] },
          onRouteWarning(warning) {
            running.operator?.upstreamRefused(warning);
            refreshSoon ??= setTimeout(reportRefusals, WARNING_INTERVAL_MS);
          },
        });
      } catch (error) {
        startFault = { error };
        return { accepted: false, rejected: [] };
      }
      const result = dataplane.apply(snapshot);
      if (result.accepted) inForce = snapshot;
      if (running.operator) setImmediate(refresh);
      return result;
    },
  });
  running.operator = operator;

  if (dataplane === undefined || inForce === undefined) {
    await operator.stop();
    await dataplane?.drain();
    throw startFault?.error ?? new Error('the first configuration could not be put in force');
  }
  const started = dataplane;
  // later, because calls and the readiness probe come first
  refreshSoon ??= setTimeout(reportRefusals, FIRST_STATUSES_MS);
  const first = inForce;
  const timer = setInterval(refresh, STATUS_INTERVAL_MS);
  return {
    port: started.port,
    adminPort: started.adminPort,
    snapshot: () => inForce ?? first,
    manifests: operator.manifests,
    async stop() {
      clearInterval(timer);
      clearTimeout(refreshSoon);
      // running calls and open connections still need the configuration, above all revoked keys
      await started.drain();
      await operator.stop();
    },
  };
}
