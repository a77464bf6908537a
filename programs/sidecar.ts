/**
 * The sidecar's composition root: reads the key and the fleet's certificate authorities from files, and opens both
 * ports.
 */
import type { Logger } from 'pino';
import { createAdmin } from '../dataplane/admin/server.ts';
import type { Admin } from '../dataplane/admin/server.ts';
import { SYSTEM_CLOCK } from '../dataplane/clock.ts';
import type { ListenAddress } from '../dataplane/listen.ts';
import { pollFiles } from '../dataplane/polled-files.ts';
import { connectFleet } from '../dataplane/sidecar/fleet.ts';
import type { FleetConnection } from '../dataplane/sidecar/fleet.ts';
import { createMountedKey } from '../dataplane/sidecar/key.ts';
import type { MountedKey } from '../dataplane/sidecar/key.ts';
import { createSidecarMetrics } from '../dataplane/sidecar/metrics.ts';
import { startSidecar } from '../dataplane/sidecar/sidecar.ts';

export interface SidecarConfig {
  /** The fleet's URL. */
  readonly fleet: string;
  /**
   * The certificate authorities that must have signed the fleet's certificate: a file's path, or PEM. Absent: Node's
   * own.
   */
  readonly fleetCa?: string;
  readonly keyFile: string;
  readonly listen: ListenAddress;
  readonly admin: ListenAddress;
  readonly version: string;
  readonly process: Parameters<typeof createSidecarMetrics>[0]['process'];
  readonly log: Logger;
}

export interface RunningSidecar {
  readonly port: number;
  readonly adminPort: number;
  /** Accepts no new connections. Resolves when the running calls have ended and everything is closed. */
  stop(): Promise<void>;
}

/** Resolves once both ports listen. Rejects if one of them cannot be opened. */
export async function openSidecar(settings: SidecarConfig): Promise<RunningSidecar> {
  const { version, process, log, listen } = settings;
  await using started = new AsyncDisposableStack();
  const fleet = connectFleet({ url: settings.fleet });
  const key = createMountedKey(settings.keyFile);
  started.use(await watchFiles(settings, fleet, key));
  const metrics = createSidecarMetrics({ version, process, key, fleet });
  const state = { draining: false };
  const admin = started.adopt(adminOf(settings, { key, metrics, state }), (each) => each.close());
  const adminPort = await admin.listen(settings.admin.host, settings.admin.port);
  const sidecar = await startSidecar({
    fleet,
    key,
    metrics,
    log,
    listen,
    clock: SYSTEM_CLOCK,
    random: Math.random,
  });
  const running = started.move();
  return {
    port: sidecar.port,
    adminPort,
    async stop() {
      state.draining = true;
      await sidecar.drain();
      await running.disposeAsync();
    },
  };
}

/** Watches the key's file, and that of the certificate authorities if there is one. */
async function watchFiles(settings: SidecarConfig, fleet: FleetConnection, key: MountedKey): Promise<Disposable> {
  const { keyFile, fleetCa, log } = settings;
  const inline = fleetCa?.includes('-----BEGIN ') ?? false;
  if (inline) fleet.trust(fleetCa);
  const caFile = inline ? undefined : fleetCa;
  const files = await pollFiles({
    paths: caFile === undefined ? [keyFile] : [keyFile, caFile],
    onRead([keyText, authorities]) {
      const { changes } = key;
      key.take(keyText);
      const { header, problem } = key.current;
      if (header === undefined) log.warn({ problem }, 'no key; calls are refused until a key exists');
      else if (key.changes > changes) log.info('loaded another key');
      if (caFile === undefined) return;
      if (authorities === undefined)
        log.warn({ file: caFile }, 'cannot read the CA certificates of the fleet; the previous ones stay trusted');
      else fleet.trust(authorities);
    },
  });
  return { [Symbol.dispose]: () => files.stop() };
}

interface Told {
  readonly key: MountedKey;
  readonly metrics: ReturnType<typeof createSidecarMetrics>;
  readonly state: { readonly draining: boolean };
}

function adminOf({ fleet, keyFile, version }: SidecarConfig, { key, metrics, state }: Told): Admin {
  return createAdmin({
    metrics: metrics.registry,
    readiness: () => [
      { name: 'key', ok: key.current.header !== undefined, detail: key.current.problem },
      { name: 'draining', ok: !state.draining, detail: 'the process is shutting down' },
    ],
    dump: () => ({ version, fleet, keyFile, keyLoaded: key.current.header !== undefined, keyChanges: key.changes }),
  });
}
