/**
 * The console of a cluster. Every replica serves it, to each person with their own token. It starts when the session
 * key exists, and restarts when the key is replaced.
 */
import type { Logger } from 'pino';
import type { ActivityReader } from '#activity/activity.ts';
import { openClusterState } from '../../console/access/cluster-state.ts';
import { keysOfList } from '../../console/access/key-access.ts';
import { openClusterAccess } from '../../console/access/kubernetes.ts';
import { startConsole } from '../../console/server.ts';
import type { ConsoleOptions, ConsoleServer } from '../../console/server.ts';
import { openTls } from '../../console/tls.ts';
import type { ConsoleTls } from '../../console/tls.ts';
import type { UsageStore } from '../../console/data/usage.ts';
import type { SharedAccess } from '#kube/access.ts';
import type { KubeClient } from '#kube/client.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import type { Ownership } from '#kube/owned-object.ts';
import type { MetricsRecorder } from '../../operator/metrics.ts';
import { manageConsoleKey } from './console-key.ts';
import type { ClusterManager } from './manager.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import { openSharedUsage } from '../open-usage.ts';
import type { ConsoleSettings } from './settings.ts';
import { TRANSLATOR } from '../../operator/translate/translator.ts';

interface ClusterConsoleOptions {
  readonly settings: ConsoleSettings & { readonly console: ListenAddress };
  /** The shared ledger's URL; undefined if there is none to read usage from. */
  readonly ledgerUrl: string | undefined;
  readonly version: string;
  readonly client: KubeClient;
  readonly access: SharedAccess;
  readonly namespace: string;
  readonly manager: ClusterManager;
  readonly ownership: Ownership;
  readonly meter: MetricsRecorder;
  readonly log: Logger;
}

export interface ClusterConsole {
  /** Resolves with the port once people can sign in. Rejects if the port cannot be opened. */
  readonly ready: Promise<number>;
  /** Call it when this replica has become the leader. */
  look(): void;
  stop(): Promise<void>;
}

/** Starts when there is a key. Rejects if the certificate cannot be read. */
export async function startClusterConsole(options: ClusterConsoleOptions): Promise<ClusterConsole> {
  const { settings, ledgerUrl, client, namespace, meter, log, ownership } = options;
  const { clock } = ownership;
  await using started = new AsyncDisposableStack();
  const { consoleTls } = settings;
  const tls =
    consoleTls === undefined
      ? undefined
      : started.adopt(await openTls(consoleTls, { after: clock.after, log }), (each) => each.stop());
  const usage = ledgerUrl === undefined ? undefined : await openSharedUsage(ledgerUrl, settings.consoleData);
  if (usage) started.defer(() => usage.close());
  const activity = await openActivity(ledgerUrl);
  if (activity) started.defer(() => activity.close());
  const parts = consoleParts(options, { usage, activity, tls });
  const ready = Promise.withResolvers<number>();
  const state = openClusterState({ client, namespace, clock, meter, log });
  let server: ConsoleServer | undefined;
  let turn: Promise<void> = Promise.resolve();
  let stopped = false;

  /** Closes the port first, so that no session is served with the previous key. */
  async function begin(key: Uint8Array): Promise<void> {
    await server?.close();
    server = undefined;
    await state.ready; // waits, so that revoked sessions stay revoked
    if (stopped) return;
    server = await startConsole({ ...parts, state, sealingKeys: [key], listen: settings.console });
    ready.resolve(server.port);
  }

  const key = manageConsoleKey(ownership, (next) => {
    turn = turn
      .then(() => begin(next))
      .catch((error: unknown) => {
        log.error({ err: error }, 'the console could not be started');
        ready.reject(error);
      });
  });
  started.defer(async () => {
    stopped = true;
    await key.stop();
    await state.stop();
    await turn;
    await server?.close();
  });
  const running = started.move();
  return { ready: ready.promise, look: () => key.look(), stop: () => running.disposeAsync() };
}

interface OpenedParts {
  readonly usage: UsageStore | undefined;
  readonly activity: ActivityReader | undefined;
  readonly tls: ConsoleTls | undefined;
}

function consoleParts(
  options: ClusterConsoleOptions,
  { usage, activity, tls }: OpenedParts,
): Omit<ConsoleOptions, 'sealingKeys'> {
  const { settings, access, namespace, version, manager, meter, log } = options;
  const nowMs = (): number => SYSTEM_CLOCK.nowMs();
  return {
    access: openClusterAccess({
      access,
      cache: manager.cache,
      gatewayNamespace: namespace,
      nowMs,
      userAgent: `model-gateway-console/${version}`,
      // counts these requests separately, because refusals of people's tokens do not mean that the operator lacks
      // rights
      meter: {
        add: (_name, labels, value) => meter.add('modelgateway_operator_console_api_requests_total', labels, value),
      },
    }),
    usage,
    activity,
    log,
    nowMs,
    gatewayNamespace: namespace,
    consoleUrl: settings.consoleUrl,
    gatewayUrl: settings.consoleGatewayUrl,
    resources: () => manager.resources(),
    translator: TRANSLATOR,
    keyHashOf: (key) => manager.keyHashOf(key),
    keys: keysOfList(() => manager.cache.list('ApiKey')),
    ...(settings.consoleTrustedProxies && { trustedProxies: settings.consoleTrustedProxies }),
    ...(settings.consoleProxyHeader !== undefined && { proxyHeader: settings.consoleProxyHeader }),
    ...(tls && { serverFactory: tls.serverFactory }),
  };
}

async function openActivity(url: string | undefined): Promise<ActivityReader | undefined> {
  if (url === undefined) return undefined;
  const { openValkeyActivityReader } = await import('../../dataplane/activity/valkey-activity.ts');
  return openValkeyActivityReader(url);
}
