/** What `mgw dataplane` does: opens the ledger and both ports, takes its configuration from an operator, and ends in order. */
import { access, constants, readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { startDataplane } from '../../dataplane/main.ts';
import type { Dataplane } from '../../dataplane/main.ts';
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
import { listenStopSignals } from '../run/stop-signals.ts';
import { VERSION } from '../version.ts';

/** The flags of `mgw dataplane`, parsed. */
export interface DataplaneFlags {
  /** "host:port" each. */
  readonly xds: readonly string[];
  readonly xdsCa: string;
  readonly tokenFile: string;
  readonly insecureXds?: boolean;
  readonly listen: Address;
  readonly admin: Address;
  readonly data?: string;
  readonly ledger?: LedgerPlace;
  readonly ledgerSync: 'normal' | 'full';
  readonly configCache?: string;
  readonly configCacheKey?: string;
  readonly nodeId?: string;
  readonly maxBody: number;
  readonly maxBuffered?: number;
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
  const log = createLogger({ level: flags.logLevel, to: process });
  const { ledger, dataplane, xds } = await start(flags, log);
  log.info({ address: urlOf({ ...flags.listen, port: dataplane.port }), admin: urlOf({ ...flags.admin, port: dataplane.adminPort }), operators: flags.xds }, 'the proxy listens');
  const signal = await signals.first;
  log.info({ signal }, 'no new calls; waiting for the running ones');
  // revocations reach the running calls' proxy to the end
  await dataplane.drain();
  await xds.stop();
  await ledger.close();
  signals.ignore();
  log.info('ended');
  await new Promise<void>((resolve) => { log.flush(() => resolve()); });
  return EXIT.ok;
}

/** Everything, or nothing: what was started before a failure is ended again. */
async function start(flags: DataplaneFlags, log: ReturnType<typeof createLogger>): Promise<Parts> {
  await using started = new AsyncDisposableStack();
  const running: { xds?: XdsClient } = {};
  try {
    if (flags.data !== undefined) prepareDataFolder(flags.data);
    const ledger = started.adopt(await openLedger({ place: flags.ledger, sync: flags.ledgerSync, dataDir: flags.data, log }), (each) => each.close());
    const dataplane = started.adopt(await startDataplane({
      listen: flags.listen, admin: flags.admin, ledger, log, maxBodyBytes: flags.maxBody, ...flags.maxBuffered === undefined ? {} : { maxBufferedBytes: flags.maxBuffered },
      version: VERSION, process,
      onRouteWarning: (warning) => running.xds?.reportRefusal(warning),
      distribution: () => running.xds?.figures() ?? { connected: false, connections: 0, lastUpdateMs: 0, resources: 0, refused: 0 },
      dump: { xds: () => running.xds?.figures() },
    }), (each) => each.drain());
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
    throw explainStart(error, [{ flag: '--listen', ...flags.listen }, { flag: '--admin', ...flags.admin }]);
  }
}

/** What could be seen to be wrong before anything is started. */
async function check(flags: DataplaneFlags): Promise<void> {
  const { insecureXds, xds, configCache, configCacheKey, ledger, data } = flags;
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
