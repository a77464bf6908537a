/** `mgw operator`: checks the flags, and runs the operator for a cluster until a signal ends it. */
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import { openClusterOperator } from '../../programs/cluster-operator.ts';
import type { ClusterOperator } from '../../programs/cluster-operator.ts';
import type { ClusterSettings } from '../../programs/cluster-operator/settings.ts';
import { NoKubeAccess, openAccess } from '#kube/access.ts';
import type { SharedAccess } from '#kube/access.ts';
import { parseSidecarSettings, SettingsFault } from '../../operator/webhook/settings.ts';
import { DEFAULT_GATEWAY_NAMESPACE } from '../defaults.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import { openLedger } from '../../programs/open-ledger.ts';
import { formatAddress, urlOf } from '../options.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import { VERSION } from '../version.ts';
import type { FlagAddress } from './listen-errors.ts';
import { explainStart } from './start-errors.ts';
import { listenStopSignals, logEnded } from './stop-signals.ts';
import { standardOutput } from './output.ts';

/** The flags of `mgw operator`, parsed. */
export interface OperatorFlags extends ClusterSettings {
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly ledger?: LedgerLocation;
  readonly logLevel: NonNullable<LogOptions['level']>;
}

type Log = ReturnType<typeof createLogger>;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Runs until a signal stops it; resolves with the exit code. */
export async function runOperator(flags: OperatorFlags): Promise<number> {
  check(flags);
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel, to: standardOutput() });
  const access = reachCluster(flags);
  await using ending = new AsyncDisposableStack();
  try {
    const operator = ending.adopt(await open(flags, access, log), (each) => each.stop());
    const started = operator.start();
    const port = await Promise.race([signals.first, started]);
    if (typeof port === 'number') log.info({ xds: port }, 'proxies can connect');
    const signal = await signals.first;
    log.info({ signal }, 'released the leadership; proxies keep their configuration');
  } catch (error) {
    throw explainStart(error, portsOf(flags));
  }
  await ending.disposeAsync();
  return logEnded(signals, log);
}

async function open(flags: OperatorFlags, access: SharedAccess, log: Log): Promise<ClusterOperator> {
  const namespace = flags.namespace ?? namespaceOf(access, flags) ?? DEFAULT_GATEWAY_NAMESPACE;
  const { admin, ledger } = flags;
  const operator = await openClusterOperator({
    settings: flags,
    access,
    namespace,
    version: VERSION,
    log,
    ...(ledger?.kind === 'valkey' && {
      ledger: {
        url: ledger.url,
        open: (refill) => openLedger({ place: ledger, sync: 'normal', dataDir: undefined, log, refill }),
      },
    }),
  });
  const adminUrl = urlOf({ ...admin, port: operator.adminPort });
  log.info({ server: access.server, namespace, admin: adminUrl }, 'the operator is starting');
  return operator;
}

function reachCluster({ kubeconfig }: OperatorFlags): SharedAccess {
  try {
    return openAccess({ ...(kubeconfig !== undefined && { kubeconfig }), nowMs: () => Date.now() });
  } catch (error) {
    if (error instanceof NoKubeAccess) throw new CommandFailed(error.message, EXIT.failed, error);
    throw error;
  }
}

/** The namespace of a pod is the gateway's, but not the one that a person's kubeconfig happens to name. */
function namespaceOf({ namespace }: SharedAccess, { kubeconfig }: OperatorFlags): string | undefined {
  return kubeconfig === undefined && process.env['KUBERNETES_SERVICE_HOST'] !== undefined ? namespace : undefined;
}

function portsOf(flags: OperatorFlags): readonly FlagAddress[] {
  const { admin, xdsListen, envoyXdsListen, webhookListen, console } = flags;
  return [
    { flag: '--admin', ...admin },
    { flag: '--xds-listen', ...xdsListen },
    ...(envoyXdsListen ? [{ flag: '--envoy-xds-listen', ...envoyXdsListen }] : []),
    ...(webhookListen ? [{ flag: '--webhook-listen', ...webhookListen }] : []),
    ...(console ? [{ flag: '--console', ...console }] : []),
  ];
}

/** Validates the flags before anything starts. */
function check(flags: OperatorFlags): void {
  checkInsecure(flags);
  if (flags.ledger?.kind === 'file') {
    throw new CommandFailed(
      '--ledger: a ledger file is open in one process only. Pass the shared ledger of the fleet: ' +
        'valkey://HOST:PORT.',
      EXIT.usage,
    );
  }
  checkSidecarSettings(flags);
}

function checkInsecure({ insecureXds, xdsListen, envoyXdsListen }: OperatorFlags): void {
  if (!insecureXds) return;
  if (envoyXdsListen && !LOOPBACK.test(envoyXdsListen.host)) {
    throw new CommandFailed(
      '--insecure-xds: Envoys are configured without TLS only on a loopback address, such as ' +
        `--envoy-xds-listen 127.0.0.1:${envoyXdsListen.port}, and ${formatAddress(envoyXdsListen)} is not one.`,
      EXIT.usage,
    );
  }
  if (!LOOPBACK.test(xdsListen.host)) {
    throw new CommandFailed(
      "--insecure-xds: the configuration contains providers' credentials, so it is served without TLS only on " +
        `a loopback address, such as --xds-listen 127.0.0.1:${xdsListen.port}, and ${formatAddress(xdsListen)} ` +
        'is not one.',
      EXIT.usage,
    );
  }
}

function checkSidecarSettings(flags: OperatorFlags): void {
  const { webhookListen, sidecarSettings, namespace = DEFAULT_GATEWAY_NAMESPACE } = flags;
  if (!webhookListen) return;
  if (sidecarSettings === undefined) {
    throw new CommandFailed(
      '--webhook-listen requires --sidecar-settings with an image, such as {"image": "model-gateway:0.1.0"}.',
      EXIT.usage,
    );
  }
  try {
    parseSidecarSettings(sidecarSettings, { fleet: `https://model-gateway-tls.${namespace}.svc` });
  } catch (error) {
    if (!(error instanceof SettingsFault)) throw error;
    throw new CommandFailed(`--sidecar-settings: ${error.message}.`, EXIT.usage, error);
  }
}
