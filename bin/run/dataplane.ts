/** `mgw dataplane`: checks the flags, and runs a proxy of a fleet until a signal ends it. */
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { startProxy } from '../../programs/proxy.ts';
import type { Proxy, ProxyOptions } from '../../programs/proxy.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import { readTlsFiles } from '../../dataplane/tls-files.ts';
import { cacheKey } from '../../dataplane/xds/config-cache.ts';
import { callOptions } from '../call-flags.ts';
import type { CallFlags } from '../call-flags.ts';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import { openActivity } from '../../programs/open-activity.ts';
import { openLedger } from '../../programs/open-ledger.ts';
import { deleteUnwanted, openResponses } from '../../programs/open-responses.ts';
import { urlOf } from '../options.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import { VERSION } from '../version.ts';
import { checkXdsFlags, securityOf } from '../xds-flags.ts';
import type { XdsFlags } from '../xds-flags.ts';
import { prepareDataFolder } from './data-folder.ts';
import type { FlagAddress } from './listen-errors.ts';
import { explainStart } from './start-errors.ts';
import { listenStopSignals, logEnded } from './stop-signals.ts';
import { PROCESS_STATS, standardOutput } from './output.ts';

/** The flags of `mgw dataplane`, parsed. */
export interface DataplaneFlags extends XdsFlags, CallFlags {
  readonly listen: ListenAddress;
  readonly admin: ListenAddress;
  readonly tlsListen?: ListenAddress;
  readonly tls?: string;
  readonly data?: string;
  readonly ledger?: LedgerLocation;
  readonly ledgerSync: 'normal' | 'full';
  readonly maxConfigAge: number;
  readonly leaveRotationAfter: number;
  readonly configCache?: string;
  readonly configCacheKey?: string;
  readonly nodeId?: string;
  readonly consoleUrl?: string;
  readonly drainDelay: number;
  readonly logLevel: NonNullable<LogOptions['level']>;
}

type Log = ReturnType<typeof createLogger>;

interface Parts {
  readonly ledger: Ledger;
  readonly proxy: Proxy;
}

/** Runs until a signal stops it; resolves with the exit code. */
export async function runDataplane(flags: DataplaneFlags): Promise<number> {
  await check(flags);
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel, to: standardOutput() });
  const { ledger, proxy } = await start(flags, log);
  const address = urlOf({ ...flags.listen, port: proxy.port });
  const admin = urlOf({ ...flags.admin, port: proxy.adminPort });
  log.info({ address, admin, operators: flags.xds }, 'the proxy is listening');
  const signal = await signals.first;
  proxy.startDraining();
  const { drainDelay: seconds } = flags;
  log.info(
    { signal, seconds },
    'shutting down: new calls are accepted for this time, then only running calls continue',
  );
  await delay(seconds * 1000);
  await proxy.stop();
  await ledger.close();
  return logEnded(signals, log);
}

/** Starts all parts. If one fails, ends those that were started. */
async function start(flags: DataplaneFlags, log: Log): Promise<Parts> {
  await using started = new AsyncDisposableStack();
  try {
    if (flags.data !== undefined) prepareDataFolder(flags.data);
    const opening = openLedger({ place: flags.ledger, sync: flags.ledgerSync, dataDir: flags.data, log });
    const ledger = started.adopt(await opening, (each) => each.close());
    // without a shared ledger, no console could read this process's file
    const activity =
      flags.ledger?.kind === 'valkey' ? await openActivity({ place: flags.ledger, dataDir: undefined }) : undefined;
    const responses = { place: flags.ledger, dataDir: flags.data };
    const keeping = await openResponses(responses, flags);
    deleteUnwanted(responses, flags);
    const proxy = await startProxy({
      activity,
      keeping,
      listen: flags.listen,
      admin: flags.admin,
      ...(await tlsOf(flags)),
      ledger,
      log,
      version: VERSION,
      process: PROCESS_STATS,
      env: process.env,
      ...callOptions(flags),
      consoleUrl: () => flags.consoleUrl,
      xds: xdsOf(flags),
      maxConfigAgeMs: flags.maxConfigAge * 1000,
      leaveRotationAfterMs: flags.leaveRotationAfter * 1000,
    });
    started.move();
    return { ledger, proxy };
  } catch (error) {
    throw explainStart(error, portsOf(flags));
  }
}

function xdsOf(flags: DataplaneFlags): ProxyOptions['xds'] {
  const { xds, nodeId, configCache: file, configCacheKey: keyFile } = flags;
  return {
    addresses: xds,
    secure: securityOf(flags),
    nodeId: nodeId ?? hostname(),
    ...(file !== undefined && keyFile !== undefined && { cache: { file, keyFile } }),
  };
}

function portsOf({ listen, admin, tlsListen }: DataplaneFlags): readonly FlagAddress[] {
  return [
    { flag: '--listen', ...listen },
    { flag: '--admin', ...admin },
    ...(tlsListen ? [{ flag: '--tls-listen', ...tlsListen }] : []),
  ];
}

/** Options of the TLS listener, if one is configured. */
async function tlsOf(flags: DataplaneFlags): Promise<Pick<ProxyOptions, 'tls' | 'tlsFolder'>> {
  const { tlsListen: listen, tls: folder } = flags;
  if (listen === undefined || folder === undefined) return {};
  const material = await readTlsFiles(folder).catch((error: Error) => {
    throw new CommandFailed(`--tls ${folder}: ${error.message}`, undefined, error);
  });
  return { tls: { listen, material }, tlsFolder: folder };
}

/** Validates the flags before anything starts. */
async function check(flags: DataplaneFlags): Promise<void> {
  const { configCacheKey } = flags;
  checkCombinations(flags);
  if (configCacheKey !== undefined) await checkKey(configCacheKey);
  await checkXdsFlags(flags);
}

function checkCombinations(flags: DataplaneFlags): void {
  const wrong = (message: string): CommandFailed => new CommandFailed(message, EXIT.usage);
  if ((flags.tls === undefined) !== (flags.tlsListen === undefined))
    throw wrong('--tls-listen and --tls must be set together: the address, and the folder with tls.crt and tls.key.');
  if ((flags.configCache === undefined) !== (flags.configCacheKey === undefined)) {
    throw wrong(
      "--config-cache and --config-cache-key must be set together: the cache contains providers' credentials, " +
        'so it is encrypted with a key that is stored elsewhere.',
    );
  }
  if (flags.ledger === undefined && flags.data === undefined) {
    throw wrong('No ledger: pass --ledger valkey://HOST:PORT, which a fleet shares, or --data DIR for a single proxy.');
  }
}

async function checkKey(path: string): Promise<void> {
  try {
    cacheKey(await readFile(path));
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be read';
    throw new CommandFailed(`--config-cache-key ${path}: ${reason}`, EXIT.failed, error);
  }
}
