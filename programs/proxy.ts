/**
 * The composition root of a fleet's proxy: a data plane with its certificate, which gets its configuration from an
 * operator.
 */
import type { Logger } from 'pino';
import { every, SYSTEM_CLOCK } from '../dataplane/clock.ts';
import { startDataplane } from './dataplane.ts';
import type { Dataplane, DataplaneOptions } from './dataplane.ts';
import { keepRotation } from '../dataplane/rotation.ts';
import type { Rotation } from '../dataplane/rotation.ts';
import { watchTlsFiles } from '../dataplane/tls-files.ts';
import { startXdsClient } from '../dataplane/xds/client.ts';
import type { XdsClient, XdsClientOptions } from '../dataplane/xds/client.ts';

type Distribution = Pick<XdsClientOptions, 'addresses' | 'secure' | 'nodeId' | 'cache' | 'keepaliveMs'>;

export interface ProxyOptions extends Omit<
  DataplaneOptions,
  'onRouteWarning' | 'distribution' | 'dump' | 'outOfRotation'
> {
  /** The source of the configuration. */
  readonly xds: Distribution;
  /** After this time without an operator, calls are refused, because keys may have been revoked meanwhile. */
  readonly maxConfigAgeMs: number;
  /**
   * After this time without an operator while other proxies have one, the proxy is not ready. 0: it stays ready.
   */
  readonly leaveRotationAfterMs: number;
  /** The folder of the TLS port's certificate, which is reloaded when it changes. */
  readonly tlsFolder?: string;
  readonly log: Logger;
}

export interface Proxy {
  readonly port: number;
  readonly adminPort: number;
  /** Reports not ready from now on; see Dataplane. */
  startDraining(): void;
  /** Accepts no new calls. Resolves when the running ones have ended. */
  stop(): Promise<void>;
}

const NOT_CONNECTED = { connected: false, connections: 0, lastUpdateMs: 0, resources: 0, refused: 0 };

/** Resolves once all ports listen, perhaps before there is a configuration. Rejects if a port cannot be opened. */
export async function startProxy({ xds: from, tlsFolder, maxConfigAgeMs, ...options }: ProxyOptions): Promise<Proxy> {
  const { log, version } = options;
  const running: { xds?: XdsClient; rotation?: Rotation } = {};
  const dataplane = await startDataplane({
    ...options,
    onRouteWarning: (warning) => running.xds?.reportRefusal({ connectError: '', ...warning }),
    configExpired: () => (running.xds?.configAgeMs() ?? 0) > maxConfigAgeMs,
    distribution: () => ({
      ...(running.xds?.figures() ?? NOT_CONNECTED),
      expiresInMs: Math.max(0, maxConfigAgeMs - (running.xds?.configAgeMs() ?? 0)),
    }),
    outOfRotation: () => running.rotation?.left ?? false,
    dump: { xds: () => running.xds?.figures() },
  });
  const rotation = keepRotation({
    ledger: options.ledger,
    connected: () => running.xds?.connected ?? false,
    leaveAfterMs: options.leaveRotationAfterMs,
    clock: options.clock ?? SYSTEM_CLOCK,
    every: options.timers?.every ?? every,
    log,
  });
  running.rotation = rotation;
  try {
    await keepCertificate(tlsFolder, dataplane, log);
    const xds = await startXdsClient({ ...from, version, log, install: (config) => dataplane.install(config) });
    running.xds = xds;
    return {
      port: dataplane.port,
      adminPort: dataplane.adminPort,
      startDraining() {
        rotation.stop();
        dataplane.startDraining();
      },
      async stop() {
        rotation.stop();
        await dataplane.drain(); // only then, so that running calls still learn of revoked keys
        await xds.stop();
      },
    };
  } catch (error) {
    rotation.stop();
    await dataplane.drain();
    throw error;
  }
}

async function keepCertificate(folder: string | undefined, { tls }: Dataplane, log: Logger): Promise<void> {
  if (folder !== undefined && tls) await watchTlsFiles(folder, { renew: (material) => tls.renew(material), log });
}
