/** What `mgw dataplane` does: opens the ledger and both ports, takes its configuration from an operator, and ends in order. */
import { access, constants, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { startDataplane } from '../../dataplane/main.ts';
import type { Dataplane, DataplaneOptions } from '../../dataplane/main.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import { startXdsClient } from '../../dataplane/xds/client.ts';
import type { XdsClient } from '../../dataplane/xds/client.ts';
import { cacheKey } from '../../dataplane/xds/config-cache.ts';
import { CommandFailed, EXIT } from '../exit.ts';
import { openLedger } from '../open-ledger.ts';
import { isLoopback, urlOf } from '../options.ts';
import type { Address, LedgerPlace } from '../options.ts';
import { prepareDataFolder } from '../run/data-folder.ts';
import { explainStart } from '../run/start-errors.ts';
import type { AskedAddress } from '../run/listen-errors.ts';
import { listenStopSignals, sayEnded } from '../run/stop-signals.ts';
import { VERSION } from '../version.ts';
import { readTlsFiles, watchTlsFiles } from './tls-files.ts';

/** The flags of `mgw dataplane`, parsed. */
export interface DataplaneFlags {
  /** "host:port" each. */
  readonly xds: readonly string[];
  readonly xdsCa: string;
  readonly tokenFile: string;
  readonly insecureXds?: boolean;
  readonly listen: Address;
  readonly admin: Address;
  readonly tlsListen?: Address;
  readonly tls?: string;
  readonly data?: string;
  readonly ledger?: LedgerPlace;
  readonly ledgerSync: 'normal' | 'full';
  readonly configCache?: string;
  readonly configCacheKey?: string;
  readonly nodeId?: string;
  readonly maxBody: number;
  readonly maxBuffered?: number;
  readonly drainDelay: number;
  readonly logLevel: NonNullable<LogOptions['level']>;
}

interface Parts {
  readonly ledger: Ledger;
  readonly dataplane: Dataplane;
  readonly xds: XdsClient;
}

/** Runs until told to stop; resolves with the exit code. */
export async function runDataplane(flags: DataplaneFlags): Promise<number> {
  await check(flags);
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel });
  const { ledger, dataplane, xds } = await start(flags, log);
  log.info({ address: urlOf({ ...flags.listen, port: dataplane.port }), admin: urlOf({ ...flags.admin, port: dataplane.adminPort }), operators: flags.xds }, 'the proxy listens');
  const signal = await signals.first;
  dataplane.leave();
  log.info({ signal, seconds: flags.drainDelay }, 'leaving: new calls are taken for so long, then only the running ones end');
  await delay(flags.drainDelay * 1000);
  // revocations reach the running calls' proxy to the end
  await dataplane.drain();
  await xds.stop();
  await ledger.close();
  return sayEnded(signals, log);
}

/** Everything, or nothing: what was started before a failure is ended again. */
async function start(flags: DataplaneFlags, log: ReturnType<typeof createLogger>): Promise<Parts> {
  await using started = new AsyncDisposableStack();
  const running: { xds?: XdsClient } = {};
  try {
    if (flags.data !== undefined) prepareDataFolder(flags.data);
    const ledger = started.adopt(await openLedger({ place: flags.ledger, sync: flags.ledgerSync, dataDir: flags.data, log }), (each) => each.close());
    const dataplane = started.adopt(await startDataplane({
      listen: flags.listen, admin: flags.admin, ...await tlsOf(flags), ledger, log, maxBodyBytes: flags.maxBody, ...flags.maxBuffered === undefined ? {} : { maxBufferedBytes: flags.maxBuffered },
      version: VERSION, process,
      onRouteWarning: (warning) => running.xds?.reportRefusal(warning),
      distribution: () => running.xds?.figures() ?? { connected: false, connections: 0, lastUpdateMs: 0, resources: 0, refused: 0 },
      dump: { xds: () => running.xds?.figures() },
    }), (each) => each.drain());
    await keepCertificate(flags, dataplane, log);
    const { configCache: file, configCacheKey: keyFile } = flags;
    running.xds = await startXdsClient({
      addresses: flags.xds, secure: flags.insecureXds ? undefined : { caFile: flags.xdsCa, tokenFile: flags.tokenFile },
      nodeId: flags.nodeId ?? hostname(), version: VERSION, log,
      ...file !== undefined && keyFile !== undefined ? { cache: { file, keyFile } } : {},
      install: (config) => dataplane.install(config),
    });
    started.move();
    return { ledger, dataplane, xds: running.xds };
  } catch (error) {
    throw explainStart(error, portsOf(flags));
  }
}

function portsOf({ listen, admin, tlsListen }: DataplaneFlags): readonly AskedAddress[] {
  return [{ flag: '--listen', ...listen }, { flag: '--admin', ...admin }, ...tlsListen ? [{ flag: '--tls-listen', ...tlsListen }] : []];
}

/** The one on the disk, to the end of the process, which its timer does not keep. */
async function keepCertificate({ tls: folder }: DataplaneFlags, { tls: served }: Dataplane, log: ReturnType<typeof createLogger>): Promise<void> {
  if (folder !== undefined && served) await watchTlsFiles(folder, { renew: (material) => served.renew(material), log });
}

/** Where the fleet is reached over TLS too. */
async function tlsOf({ tlsListen: listen, tls: folder }: DataplaneFlags): Promise<Pick<DataplaneOptions, 'tls'>> {
  return listen === undefined || folder === undefined ? {} : { tls: { listen, material: await readTlsFiles(folder) } };
}

/** What could be seen to be wrong before anything is started. */
async function check(flags: DataplaneFlags): Promise<void> {
  const { insecureXds, xds, configCache, configCacheKey, ledger, data, tls, tlsListen } = flags;
  if ((tls === undefined) !== (tlsListen === undefined)) throw new CommandFailed('--tls-listen and --tls belong together: the port, and the folder with its tls.crt and tls.key.', EXIT.usage);
  if ((configCache === undefined) !== (configCacheKey === undefined))
    throw new CommandFailed('--config-cache and --config-cache-key belong together: the cache holds providers\' credentials, so it is encrypted with a key that is kept elsewhere.', EXIT.usage);
  if (ledger === undefined && data === undefined) throw new CommandFailed('Where is the ledger? Give --ledger valkey://HOST:PORT, which a fleet shares, or --data DIR for a single proxy.', EXIT.usage);
  const remote = insecureXds ? xds.find((address) => !isLoopback(address)) : undefined;
  if (remote !== undefined) throw new CommandFailed(`--insecure-xds: the configuration holds providers' credentials, so it is taken without TLS only from a loopback address; ${remote} is none.`, EXIT.usage);
  if (configCacheKey !== undefined) await checkKey(configCacheKey);
  if (insecureXds) return;
  for (const [name, path] of [['--xds-ca', flags.xdsCa], ['--token-file', flags.tokenFile]] as const) {
    await access(path, constants.R_OK).catch(() => { throw new CommandFailed(`${name} ${path}: there is no such file, or this user may not read it. In a pod it is mounted; on one machine, --insecure-xds takes the configuration from a loopback address without it.`); });
  }
}

async function checkKey(path: string): Promise<void> {
  try {
    cacheKey(await readFile(path));
  } catch (error) {
    throw new CommandFailed(`--config-cache-key ${path}: ${error instanceof Error ? error.message : 'it cannot be read'}`, EXIT.failed, error);
  }
}
