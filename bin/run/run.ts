/**
 * What `mgw run` does: opens the ledger, starts the gateway, tells people what they need to know, and ends in order when it is
 * told to.
 */
import { flushCompileCache } from 'node:module';
import { resolve } from 'node:path';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import type { DemoProvider } from '../../demo/provider.ts';
import { DEMO_ADDRESS } from '../defaults.ts';
import { EXIT } from '../exit.ts';
import { openLedger } from '../open-ledger.ts';
import { urlOf } from '../options.ts';
import type { Address, LedgerPlace } from '../options.ts';
import { assertFolder, defaultDataFolder, prepareDataFolder, shortPath } from './data-folder.ts';
import { startGateway } from './gateway.ts';
import type { Gateway } from './gateway.ts';
import { helloText } from './hello.ts';
import { keyFiles } from './key-files.ts';
import { explainStart } from './start-errors.ts';
import { listenStopSignals } from './stop-signals.ts';

/** The flags of `mgw run`, parsed. */
export interface RunFlags {
  readonly config: string;
  readonly listen: Address;
  readonly admin: Address;
  readonly data?: string;
  readonly ledger?: LedgerPlace;
  readonly ledgerSync: 'normal' | 'full';
  readonly maxBody: number;
  readonly maxBuffered?: number;
  readonly gatewayNamespace: string;
  readonly logLevel: NonNullable<LogOptions['level']>;
  /** True: at its own address. */
  readonly withDemoProvider?: Address | true;
  readonly hello?: boolean;
}

interface Parts {
  readonly gateway: Gateway;
  readonly ledger: Ledger;
  readonly demo: DemoProvider | undefined;
  /** Keys made while it started, and not told yet. */
  readonly minted: ReadonlySet<string>;
}

/** Runs until told to stop; resolves with the exit code. */
export async function run(flags: RunFlags): Promise<number> {
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel, to: process });
  const parts = await start(flags, log);
  log.info({ address: urlOf({ ...flags.listen, port: parts.gateway.port }), admin: urlOf({ ...flags.admin, port: parts.gateway.adminPort }) }, 'the gateway answers');
  flushCompileCache(); // at the end otherwise, which a killed process does not reach
  if (flags.hello) process.stdout.write(hello(flags, parts));
  const signal = await signals.first;
  log.info({ signal }, 'no new calls; waiting for the running ones');
  await parts.gateway.stop();
  await parts.demo?.stop();
  await parts.ledger.close();
  signals.ignore();
  log.info('ended');
  await new Promise<void>((resolve) => { log.flush(() => resolve()); });
  return EXIT.ok;
}

/** Everything, or nothing: what was started before a failure is ended again. */
async function start(flags: RunFlags, log: ReturnType<typeof createLogger>): Promise<Parts> {
  await using started = new AsyncDisposableStack();
  const demoAddress = flags.withDemoProvider === true ? DEMO_ADDRESS : flags.withDemoProvider;
  const dataDir = dataFolder(flags);
  const minted = new Set<string>();
  let answering = false;
  try {
    assertFolder('--config', flags.config);
    prepareDataFolder(dataDir);
    const ledger = started.adopt(await openLedger({ place: flags.ledger, sync: flags.ledgerSync, dataDir, log, ownGenerations: true }), (each) => each.close());
    const demo = demoAddress && started.adopt(await startDemo(demoAddress), (each) => each.stop());
    const gateway = started.adopt(await startGateway({
      configDir: flags.config, dataDir, ledger, log,
      gatewayNamespace: flags.gatewayNamespace, listen: flags.listen, admin: flags.admin, maxBodyBytes: flags.maxBody, ...(flags.maxBuffered === undefined ? {} : { maxBufferedBytes: flags.maxBuffered }),
      print: (line) => process.stderr.write(`${line}\n`),
      onMinted({ namespace, name, key }) {
        if (flags.hello && !answering) minted.add(key);
        else tellKey(`${namespace}/${name}`, key, dataDir);
      },
    }), (each) => each.stop());
    answering = true;
    started.move();
    return { gateway, ledger, demo, minted };
  } catch (error) {
    throw explainStart(error, [
      { flag: '--listen', ...flags.listen }, { flag: '--admin', ...flags.admin },
      ...(demoAddress ? [{ flag: '--with-demo-provider', ...demoAddress }] : []),
    ]);
  }
}

async function startDemo(address: Address): Promise<DemoProvider> {
  const { startDemoProvider } = await import('../../demo/provider.ts');
  return startDemoProvider(address);
}

/** Its one and only time. */
function tellKey(apiKey: string, key: string, dataDir: string): void {
  const file = keyFiles(dataDir).find((each) => each.key === key);
  process.stdout.write(`key of ApiKey ${apiKey}, printed only this once${file ? `; it is kept in ${shortPath(file.path)}` : ''}: ${key}\n`);
}

/** Tells of one key: one that was made just now, if there is such a one. Further new ones get a line each. */
function hello(flags: RunFlags, { gateway, demo, minted }: Parts): string {
  const files = keyFiles(dataFolder(flags));
  const shown = files.find(({ key }) => minted.has(key)) ?? files[0];
  const further = files.filter(({ key }) => minted.has(key) && key !== shown?.key);
  const text = helloText({
    url: urlOf({ ...flags.listen, port: gateway.port }),
    adminUrl: urlOf({ ...flags.admin, port: gateway.adminPort }),
    demoUrl: demo?.url,
    configDir: shortPath(flags.config),
    key: shown && minted.has(shown.key) ? shown.key : undefined,
    keyFile: shown && shortPath(shown.path),
    snapshot: gateway.snapshot(),
  });
  return further.map(({ path, key }) => `Another key, printed only this once; it is kept in ${shortPath(path)}: ${key}\n`).join('') + text;
}

/** Absolute: in a working directory that is deleted under it, Node's recursive mkdir of a relative path never ends. */
function dataFolder({ data, config }: RunFlags): string {
  return resolve(data ?? defaultDataFolder(config));
}
