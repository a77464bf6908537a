/** What `mgw sidecar` does: reads the key, opens both ports, and ends in order. Little is loaded: an app waits for it at its start. */
import { createAdmin } from '../../dataplane/admin/server.ts';
import type { Admin } from '../../dataplane/admin/server.ts';
import { pollFiles } from '../../dataplane/polled-files.ts';
import { connectFleet } from '../../dataplane/sidecar/fleet.ts';
import type { Fleet } from '../../dataplane/sidecar/fleet.ts';
import { holdKey } from '../../dataplane/sidecar/key.ts';
import type { KeyHolder } from '../../dataplane/sidecar/key.ts';
import { createSidecarMetrics } from '../../dataplane/sidecar/metrics.ts';
import { startSidecar } from '../../dataplane/sidecar/sidecar.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import { CommandFailed, EXIT } from '../exit.ts';
import { urlOf } from '../options.ts';
import type { Address } from '../options.ts';
import { explainListen } from '../run/listen-errors.ts';
import { listenStopSignals, sayEnded } from '../run/stop-signals.ts';
import { VERSION } from '../version.ts';

/** The flags of `mgw sidecar`, parsed. */
export interface SidecarFlags {
  readonly fleet: string;
  /** A file's path, or PEM. */
  readonly fleetCa?: string;
  readonly insecureFleet?: boolean;
  readonly keyFile: string;
  readonly listen: Address;
  readonly admin: Address;
  readonly logLevel: NonNullable<LogOptions['level']>;
}

type Log = ReturnType<typeof createLogger>;

/** Runs until told to stop; resolves with the exit code. */
export async function runSidecar(flags: SidecarFlags): Promise<number> {
  check(flags);
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel });
  await using ending = new AsyncDisposableStack();
  try {
    const fleet = connectFleet({ url: flags.fleet });
    const key = holdKey(flags.keyFile);
    ending.use(await watchFiles(flags, { fleet, key, log }));
    const metrics = createSidecarMetrics({ version: VERSION, process, key, fleet });
    const state = { draining: false };
    const admin = ending.adopt(adminOf(flags, { key, metrics, state }), (each) => each.close());
    const adminPort = await admin.listen(flags.admin.host, flags.admin.port);
    const sidecar = await startSidecar({ fleet, key, metrics, log, listen: flags.listen, monotonicMs: () => performance.now(), random: Math.random });
    log.info({ address: urlOf({ ...flags.listen, port: sidecar.port }), admin: urlOf({ ...flags.admin, port: adminPort }), fleet: flags.fleet }, 'the sidecar listens');
    const signal = await signals.first;
    log.info({ signal }, 'no new connections; waiting for the running calls');
    state.draining = true;
    await sidecar.drain();
  } catch (error) {
    throw explainListen(error, [{ flag: '--listen', ...flags.listen }, { flag: '--admin', ...flags.admin }]);
  }
  await ending.disposeAsync();
  return sayEnded(signals, log);
}

/** The key, and the authorities where they are a file. */
async function watchFiles({ keyFile, fleetCa }: SidecarFlags, { fleet, key, log }: { readonly fleet: Fleet; readonly key: KeyHolder; readonly log: Log }): Promise<Disposable> {
  const inline = fleetCa?.includes('-----BEGIN ') ?? false;
  if (inline) fleet.trust(fleetCa);
  const caFile = inline ? undefined : fleetCa;
  const files = await pollFiles({
    paths: caFile === undefined ? [keyFile] : [keyFile, caFile],
    onRead([keyText, authorities]) {
      const { changes } = key;
      key.take(keyText);
      if (key.current.header === undefined) log.warn({ problem: key.current.problem }, 'there is no key; calls are refused until there is');
      else if (key.changes > changes) log.info('another key is in use now');
      if (caFile === undefined) return;
      if (authorities === undefined) log.warn({ file: caFile }, 'the authorities of the fleet cannot be read; those of before are trusted');
      else fleet.trust(authorities);
    },
  });
  return { [Symbol.dispose]: () => files.stop() };
}

interface Told {
  readonly key: KeyHolder;
  readonly metrics: ReturnType<typeof createSidecarMetrics>;
  readonly state: { readonly draining: boolean };
}

function adminOf({ fleet, keyFile }: SidecarFlags, { key, metrics, state }: Told): Admin {
  return createAdmin({
    metrics: metrics.registry,
    readiness: () => [
      { name: 'key', ok: key.current.header !== undefined, detail: key.current.problem },
      { name: 'draining', ok: !state.draining, detail: 'this process is shutting down' },
    ],
    dump: () => ({ version: VERSION, fleet, keyFile, keyLoaded: key.current.header !== undefined, keyChanges: key.changes }),
  });
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** What could be seen to be wrong before anything is started. */
function check({ fleet, insecureFleet }: SidecarFlags): void {
  const url = URL.parse(fleet);
  if (!url || !isAddress(url)) throw new CommandFailed(`--fleet ${url?.password ? 'with a password' : fleet}: it must be an https URL, such as https://model-gateway-tls.model-gateway.svc.`, EXIT.usage);
  if (url.protocol === 'https:' || insecureFleet || LOOPBACK.test(url.hostname)) return;
  throw new CommandFailed(`--fleet ${fleet}: without TLS, whoever sees the traffic has the key. Use https, or allow it with --insecure-fleet.`, EXIT.usage);
}

/** An address, and no more than that. */
function isAddress({ protocol, username, password, hash }: URL): boolean {
  return (protocol === 'https:' || protocol === 'http:') && `${username}${password}${hash}` === '';
}
