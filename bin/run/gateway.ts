/**
 * Composes operator and data plane in one process. The operator's first valid snapshot starts the data plane, so that
 * no call is answered from an empty configuration, and a folder with mistakes opens no port.
 */
import type { Logger } from 'pino';
import type { ActivityWriter } from '../../dataplane/activity/activity.ts';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { startDataplane } from '../../dataplane/main.ts';
import type { Dataplane } from '../../dataplane/main.ts';
import type { Snapshot } from '../../dataplane/snapshot/snapshot.gen.ts';
import { formatDiagnostic } from '../../operator/files/diagnostic.ts';
import type { Diagnostic } from '../../operator/files/diagnostic.ts';
import { startOperator } from '../../operator/file.ts';
import type { Operator, OperatorOptions } from '../../operator/file.ts';
import type { Address } from '../options.ts';
import { VERSION } from '../version.ts';
import { createConditionReport } from './condition-report.ts';

export interface GatewayOptions {
  readonly configDir: string;
  readonly dataDir: string;
  readonly gatewayNamespace: string;
  readonly listen: Address;
  readonly admin: Address;
  readonly maxBodyBytes: number;
  readonly maxBufferedBytes?: number;
  readonly corsOrigins?: readonly string[];
  /** Where people find the console; it may become known after the start. */
  readonly consoleUrl?: () => string | undefined;
  /** The ledger, which may still be opening while the manifests are read. */
  readonly ledger: Ledger | Promise<Ledger>;
  /** Keeps recent and refused calls for the console. */
  readonly activity?: ActivityWriter | undefined;
  readonly log: Logger;
  readonly onMinted: OperatorOptions['onMinted'];
  /** Lines for people about the manifests. */
  readonly print: (line: string) => void;
}

export interface Gateway {
  readonly port: number;
  readonly adminPort: number;
  /** The one in force. */
  snapshot(): Snapshot;
  /** The folder of manifests, for whoever changes it. */
  readonly manifests: Operator['manifests'];
  /** No new calls; resolves when the running ones have ended. */
  stop(): Promise<void>;
}

/** The same interval at which statuses follow spending in a cluster. */
const STATUS_INTERVAL_MS = 30_000;
const WARNING_INTERVAL_MS = 1_000;
const FIRST_STATUSES_MS = 50;

/** Resolves once calls are answered. Rejects with InvalidManifests, or where a port cannot be had. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { log, ledger, configDir, dataDir, gatewayNamespace, onMinted, print } = options;
  const report = createConditionReport(print);
  let dataplane: Dataplane | undefined;
  let inForce: Snapshot | undefined;
  let refreshSoon: NodeJS.Timeout | undefined;
  let startFault: { readonly error: unknown } | undefined;

  /** Set once it has started; the first snapshot comes before that. */
  const running: { operator?: Operator } = {};
  /** Updates the report after spending, changes of the manifests and refusals by providers. */
  function refresh(): void {
    running.operator?.statusChanges().then((changes) => report.update(changes)).catch((error: unknown) =>
      log.error({ err: error }, 'the statuses cannot be read'));
  }

  /** Reports refusals at most once a second, because a busy client may be refused a thousand times in it. */
  function reportRefusals(): void {
    refreshSoon = undefined;
    refresh();
  }

  const operator = await startOperator({
    configDir, dataDir, gatewayNamespace, ledger, log, onMinted,
    onProblems: (problems) => printProblems(problems, print),
    async publish(snapshot) {
      try {
        dataplane ??= await startDataplane({
          ...options, ledger: await ledger, version: VERSION, process, env: process.env,
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
  refreshSoon ??= setTimeout(reportRefusals, FIRST_STATUSES_MS); // calls and the readiness probe go first
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
      // running calls and requests on open connections still need the configuration, above all revoked keys
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
