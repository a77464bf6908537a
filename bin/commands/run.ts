/** `mgw run`: operator and data plane in one process, from a folder of manifests. */
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { openEmbeddedLedger } from '../../dataplane/ledger/embedded.ts';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import { startDemoProvider } from '../../demo/provider.ts';
import type { DemoProvider } from '../../demo/provider.ts';
import { DEFAULT_GATEWAY_NAMESPACE } from '../../operator/main.ts';
import { EXIT } from '../exit.ts';
import { flag, paragraphs, parseAddress, parseBytes, parseLedger, parseNamespace, urlOf } from '../options.ts';
import type { Address } from '../options.ts';
import { assertFolder, defaultDataFolder, prepareDataFolder, shortPath } from '../run/data-folder.ts';
import { startGateway } from '../run/gateway.ts';
import type { Gateway } from '../run/gateway.ts';
import { helloText } from '../run/hello.ts';
import { keyFiles } from '../run/key-files.ts';
import { explainStart } from '../run/start-errors.ts';
import { listenStopSignals } from '../run/stop-signals.ts';
import { DEMO_ADDRESS } from './demo-provider.ts';

interface RunFlags {
  readonly config: string;
  readonly listen: Address;
  readonly admin: Address;
  readonly data?: string;
  /** The file's path. */
  readonly ledger?: string;
  readonly ledgerSync: 'normal' | 'full';
  readonly maxBody: number;
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

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

export function runCommand(ended: (exitCode: number) => void): Command {
  return new Command('run')
    .summary('the whole gateway on one machine, from a folder of manifests')
    .description(paragraphs(
      'Runs operator and data plane in one process. The manifests in DIR are watched: an edit is in force within a second; a mistake changes nothing and is printed with file and line.',
      'Logs go to standard output, one JSON object per line. SIGTERM or SIGINT: no new calls, running ones end, exit code 0; a second signal ends at once with 1.',
      'Every flag may be given as the environment variable that stands beside it.',
    ))
    .addOption(flag('--config <DIR>', 'folder of manifests (*.yaml, *.yml, at any depth)').makeOptionMandatory())
    .addOption(flag('--listen <ADDRESS>', 'where SDKs call').default({ host: '127.0.0.1', port: 8080 }, '127.0.0.1:8080').argParser(parseAddress))
    .addOption(flag('--admin <ADDRESS>', 'where healthz, readyz, metrics and config_dump are; keep it private').default({ host: '127.0.0.1', port: 9090 }, '127.0.0.1:9090').argParser(parseAddress))
    .addOption(flag('--data <DIR>', 'folder for the ledger and generated keys (default: the folder of manifests with .mgw-data added to its name)'))
    .addOption(flag('--ledger <URL>', 'the ledger: file:PATH (default: ledger.db in the data folder)').argParser(parseLedger))
    .addOption(flag('--ledger-sync <MODE>', 'what an acknowledged step survives: the end of the process (normal), or a loss of power too (full)').choices(['normal', 'full']).default('normal'))
    .addOption(flag('--max-body <SIZE>', 'largest request body').default(64 * 2 ** 20, '64MiB').argParser(parseBytes))
    .addOption(flag('--gateway-namespace <NAME>', 'namespace of the gateway, and of objects that name none').default(DEFAULT_GATEWAY_NAMESPACE).argParser(parseNamespace))
    .addOption(flag('--log-level <LEVEL>', 'least level that is logged').choices(LOG_LEVELS).default('info'))
    .addOption(flag('--with-demo-provider [ADDRESS]', 'also run the demo provider, by default on 127.0.0.1:4010').argParser(parseAddress))
    .addOption(flag('--hello', 'print calls to try once it answers'))
    .action(async (flags: RunFlags) => ended(await run(flags)));
}

/** Runs until told to stop; resolves with the exit code. */
async function run(flags: RunFlags): Promise<number> {
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel });
  const parts = await start(flags, log);
  log.info({ address: urlOf({ ...flags.listen, port: parts.gateway.port }), admin: urlOf({ ...flags.admin, port: parts.gateway.adminPort }) }, 'the gateway answers');
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
    const path = flags.ledger ?? join(dataDir, 'ledger.db');
    const ledger = started.adopt(await openEmbeddedLedger({
      path, sync: flags.ledgerSync,
      onFault: ({ state, reason }) => log[state === 'Failing' ? 'error' : 'info']({ reason }, state === 'Failing' ? 'the ledger fails: calls are refused' : 'the ledger works again'),
    }), (each) => each.close());
    const demo = demoAddress && started.adopt(await startDemoProvider(demoAddress), (each) => each.stop());
    const gateway = started.adopt(await startGateway({
      configDir: flags.config, dataDir, ledger, log,
      gatewayNamespace: flags.gatewayNamespace, listen: flags.listen, admin: flags.admin, maxBodyBytes: flags.maxBody,
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
