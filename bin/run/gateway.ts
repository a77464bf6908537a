/**
 * Composes operator and data plane in one process. The operator's first valid snapshot starts the data plane, so that
 * no call meets an empty configuration, and a folder with mistakes opens no port.
 */
import type { Logger } from 'pino';
import type { ActivityWriter } from '../../dataplane/activity/activity.ts';
import type { KeepingOptions } from '../../dataplane/kept/kept-values.ts';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { startDataplane } from '../../dataplane/main.ts';
import type { Dataplane } from '../../dataplane/main.ts';
import type { Snapshot } from '../../dataplane/snapshot/snapshot.gen.ts';
import { formatDiagnostic } from '../../operator/files/diagnostic.ts';
import type { Diagnostic } from '../../operator/files/diagnostic.ts';
import { startOperator } from '../../operator/file.ts';
import type { Operator, OperatorOptions } from '../../operator/file.ts';
import type { CallOptions } from '../call-flags.ts';
import type { Address } from '../options.ts';
import { VERSION } from '../version.ts';
import { createConditionReport } from './condition-report.ts';
import { PROCESS_STATS } from './output.ts';

export interface GatewayOptions extends CallOptions {
  readonly configDir: string;
  readonly dataDir: string;
  readonly gatewayNamespace: string;
  readonly usageLabels?: readonly string[] | undefined;
  readonly listen: Address;
  readonly admin: Address;
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
  /** Prints a line about the manifests. */
  readonly print: (line: string) => void;
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
  const { log, ledger, configDir, dataDir, gatewayNamespace, onMinted, print } = options;
  const report = createConditionReport(print);
  let dataplane: Dataplane | undefined;
  let inForce: Snapshot | undefined;
  let refreshSoon: NodeJS.Timeout | undefined;
  let startFault: { readonly error: unknown } | undefined;

  /** The operator is set once it has started, after the first snapshot. */
  const running: { operator?: Operator } = {};
  /** Updates the report after spending, changes of the manifests and refusals by providers. */
  function refresh(): void {
    running.operator
      ?.statusChanges()
      .then((changes) => report.update(changes))
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
    onProblems: (problems) => printProblems(problems, print),
    onWarnings: (warnings) => warnings.forEach((warning) => print(formatDiagnostic(warning))),
    async publish(snapshot) {
      try {
        dataplane ??= await startDataplane({
          ...options,
          ledger: await ledger,
          version: VERSION,
          process: PROCESS_STATS,
          env: process.env,
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

function printProblems(problems: readonly Diagnostic[], print: (line: string) => void): void {
  if (problems.length === 0) return print('the manifests are in order again');
  for (const problem of problems) print(formatDiagnostic(problem));
  print('the last good configuration stays in force');
}
