/**
 * The console of a cluster: every replica serves it, each person with their own token. It begins when the key of its sessions is
 * there, and begins anew with another one.
 */
import type { Logger } from 'pino';
import { openClusterMemory } from '../../operator/console/access/cluster-memory.ts';
import { openClusterAccess } from '../../operator/console/access/kubernetes.ts';
import { startConsole } from '../../operator/console/server.ts';
import type { ConsoleOptions, ConsoleServer } from '../../operator/console/server.ts';
import { openTls } from '../../operator/console/tls.ts';
import type { ConsoleTls } from '../../operator/console/tls.ts';
import type { UsageBook } from '../../operator/console/usage/usage.ts';
import type { SharedAccess } from '../../operator/kube/access.ts';
import type { KubeClient } from '../../operator/kube/client.ts';
import { SYSTEM_CLOCK } from '../../operator/kube/clock.ts';
import type { Clock } from '../../operator/kube/clock.ts';
import type { KubernetesOperator } from '../../operator/kubernetes.ts';
import type { Meter } from '../../operator/metrics.ts';
import type { Address, LedgerPlace } from '../options.ts';
import { VERSION } from '../version.ts';
import { keepConsoleKey } from './console-key.ts';

/** The flags that concern it. */
export interface ConsoleFlags {
  readonly console?: Address;
  readonly consoleProxyHeader?: NonNullable<ConsoleOptions['proxyHeader']>;
  /** A folder with tls.crt and tls.key. */
  readonly consoleTls?: string;
  /** Where SDKs call, for snippets. */
  readonly consoleGatewayUrl?: string;
}

interface ClusterConsoleOptions {
  readonly flags: ConsoleFlags & { readonly console: Address };
  readonly ledger: LedgerPlace | undefined;
  readonly client: KubeClient;
  readonly access: SharedAccess;
  readonly namespace: string;
  readonly operator: KubernetesOperator;
  readonly meter: Meter;
  readonly after: Clock['after'];
  readonly log: Logger;
}

interface ClusterConsole {
  /** Its port, once people can sign in. Rejects where the port cannot be had. */
  readonly ready: Promise<number>;
  stop(): Promise<void>;
}

/** Begins when there is a key. Rejects where the certificate cannot be read. */
export async function startClusterConsole(options: ClusterConsoleOptions): Promise<ClusterConsole> {
  const { flags, client, namespace, operator, meter, after, log } = options;
  await using started = new AsyncDisposableStack();
  const tls = flags.consoleTls === undefined ? undefined : started.adopt(await openTls(flags.consoleTls, { after, log }), (each) => each.stop());
  const usage = await openUsage(options.ledger);
  if (usage) started.defer(() => usage.close());
  const parts = consoleParts(options, { usage, tls });
  const ready = Promise.withResolvers<number>();
  const memory = openClusterMemory({ client, namespace, clock: { ...SYSTEM_CLOCK, after }, meter, log });
  let server: ConsoleServer | undefined;
  let turn: Promise<void> = Promise.resolve();
  let stopped = false;

  /** The port is given back first, so nobody is served with the key of before. */
  async function begin(key: Uint8Array): Promise<void> {
    await server?.close();
    server = undefined;
    await memory.ready; // who was signed out stays so
    if (stopped) return;
    server = await startConsole({ ...parts, memory, sealingKeys: [key], listen: flags.console });
    ready.resolve(server.port);
  }

  const key = keepConsoleKey({
    client, namespace, after, log, leading: () => operator.leading,
    onKey(next) {
      turn = turn.then(() => begin(next)).catch((error: unknown) => {
        log.error({ err: error }, 'the console could not be started');
        ready.reject(error);
      });
    },
  });
  started.defer(async () => {
    stopped = true;
    key.stop();
    await memory.stop();
    await turn;
    await server?.close();
  });
  const running = started.move();
  return { ready: ready.promise, stop: () => running.disposeAsync() };
}

function consoleParts({ flags, access, namespace, operator, meter, log }: ClusterConsoleOptions, { usage, tls }: { readonly usage: UsageBook | undefined; readonly tls: ConsoleTls | undefined }): Omit<ConsoleOptions, 'sealingKeys'> {
  const nowMs = (): number => SYSTEM_CLOCK.nowMs();
  return {
    access: openClusterAccess({
      access, copy: operator.copy, gatewayNamespace: namespace, nowMs, userAgent: `model-gateway-console/${VERSION}`,
      // people are refused all the time, which is no fault of the operator's rights: figures of their own
      meter: { add: (_name, labels, value) => meter.add('modelgateway_operator_console_api_requests_total', labels, value), set: () => undefined, observe: () => undefined },
    }),
    usage, log, nowMs, gatewayNamespace: namespace, gatewayUrl: flags.consoleGatewayUrl, resources: () => operator.resources(),
    ...flags.consoleProxyHeader !== undefined && { proxyHeader: flags.consoleProxyHeader },
    ...tls && { serverFactory: tls.serverFactory },
  };
}

async function openUsage(ledger: LedgerPlace | undefined): Promise<UsageBook | undefined> {
  if (ledger?.kind !== 'valkey') return undefined;
  const [{ openValkeyReader }, { valkeyUsageBook }] = await Promise.all([import('../../dataplane/ledger/valkey-reader.ts'), import('../../operator/console/usage/valkey-book.ts')]);
  return valkeyUsageBook(openValkeyReader(ledger.url));
}
