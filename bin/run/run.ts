/** `mgw run`: opens the ledger, starts the gateway, prints the start message, and runs until a signal ends it. */
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Ledger } from '../../dataplane/ledger/ledger.ts';
import { createLogger } from '../../dataplane/telemetry/log.ts';
import type { LogOptions } from '../../dataplane/telemetry/log.ts';
import type { DemoProvider } from '../../demo/provider.ts';
import type { FileConsole } from '../../programs/one-machine/console.ts';
import type { MintedKey } from '../../operator/reconcile/mint-keys.ts';
import { secretPath, secretsFolder } from '../../operator/reconcile/minted-files.ts';
import { InvalidManifests, formatDiagnostic } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { VERSION } from '../version.ts';
import { callOptions } from '../call-flags.ts';
import type { CallFlags } from '../call-flags.ts';
import { CONSOLE_ADDRESS, DEMO_ADDRESS } from '../defaults.ts';
import { CommandFailed } from '../exit-codes.ts';
import { openActivity } from '../../programs/open-activity.ts';
import { openLedger } from '../../programs/open-ledger.ts';
import { deleteUnwanted, openResponses } from '../../programs/open-responses.ts';
import { formatAddress, urlOf } from '../options.ts';
import type { LedgerLocation } from '../../programs/ledger-location.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import { assertFolder, defaultDataFolder, keyFiles, prepareDataFolder, shortPath } from './data-folder.ts';
import type { KeyFile } from './data-folder.ts';
import { startGateway } from '../../programs/one-machine.ts';
import type { Gateway } from '../../programs/one-machine.ts';
import { createConditionReport } from './condition-report.ts';
import { systemErrorOf } from './listen-errors.ts';
import type { FlagAddress } from './listen-errors.ts';
import { findBusyPorts } from './probe-ports.ts';
import { startMessage } from './start-message.ts';
import { explainStart } from './start-errors.ts';
import { listenStopSignals, logEnded } from './stop-signals.ts';
import { PROCESS_STATS, standardOutput } from './output.ts';

/** The flags of `mgw run`, parsed. */
export interface RunFlags extends CallFlags {
  readonly config: string;
  readonly listen: ListenAddress;
  readonly admin: ListenAddress;
  /** False: no console. Undefined: at its default address, if that is free. */
  readonly console?: ListenAddress | boolean;
  readonly data?: string;
  readonly ledger?: LedgerLocation;
  readonly ledgerSync: 'normal' | 'full';
  readonly consoleUrl?: string;
  readonly consoleTrustedProxies?: readonly string[];
  readonly gatewayNamespace: string;
  readonly usageLabels?: readonly string[];
  readonly logLevel: NonNullable<LogOptions['level']>;
  /** True: at its default address. */
  readonly withDemoProvider?: ListenAddress | true;
  /** The first of the ports that --listen, --console, --admin and --with-demo-provider have by default. */
  readonly firstPort?: number;
  readonly hello?: boolean;
}

interface Parts {
  readonly gateway: Gateway;
  readonly ledger: Ledger;
  readonly demo: DemoProvider | undefined;
  readonly console: MachineConsole | undefined;
  /** Keys that were created during the start and not printed yet. */
  readonly minted: ReadonlySet<string>;
}

/** Long enough for a probe that comes every few milliseconds to be answered first. */
const CONSOLE_AFTER_MS = 25;

/** Runs until a signal stops it; resolves with the exit code. */
export async function run(flags: RunFlags): Promise<number> {
  const signals = listenStopSignals();
  const log = createLogger({ level: flags.logLevel, to: standardOutput() });
  const parts = await start(flags, log);
  const address = urlOf({ ...flags.listen, port: parts.gateway.port });
  log.info({ address, admin: urlOf({ ...flags.admin, port: parts.gateway.adminPort }) }, 'the gateway is listening');
  if (flags.hello) process.stdout.write(hello(flags, parts));
  const signal = await signals.first;
  log.info({ signal }, 'shutting down: waiting for running calls');
  await parts.console?.close();
  await parts.gateway.stop();
  await parts.demo?.stop();
  await parts.ledger.close();
  return logEnded(signals, log);
}

/** Starts all parts. If one fails, ends those that were started. */
async function start(flags: RunFlags, log: ReturnType<typeof createLogger>): Promise<Parts> {
  await using started = new AsyncDisposableStack();
  const demoAddress = flags.withDemoProvider === true ? DEMO_ADDRESS : flags.withDemoProvider;
  const dataDir = dataFolder(flags);
  const minted = new Set<string>();
  const report = createConditionReport(print);
  let answering = false;
  let { consoleUrl } = flags;
  try {
    assertFolder('--config', flags.config);
    prepareDataFolder(dataDir);
    const ledger = openLedger({ place: flags.ledger, sync: flags.ledgerSync, dataDir, log, ownGenerations: true });
    const opening = started.adopt(ledger, closeOpened);
    opening.catch(() => undefined); // the gateway, which waits for it, reports the failure
    const activity = await openActivity({ place: flags.ledger, dataDir });
    const responses = { place: flags.ledger, dataDir };
    const keeping = await openResponses(responses, flags);
    const demo = demoAddress && started.adopt(await startDemo(demoAddress), (each) => each.stop());
    const gateway = started.adopt(
      await startGateway({
        configDir: flags.config,
        dataDir,
        ledger: opening,
        activity,
        keeping,
        log,
        gatewayNamespace: flags.gatewayNamespace,
        usageLabels: flags.usageLabels,
        listen: flags.listen,
        admin: flags.admin,
        replacedOrigin: demo && { from: urlOf(DEMO_ADDRESS), to: demo.url },
        ...callOptions(flags),
        consoleUrl: () => consoleUrl,
        version: VERSION,
        process: PROCESS_STATS,
        env: process.env,
        onProblems: printProblems,
        onWarnings: (warnings) => warnings.forEach((warning) => print(formatDiagnostic(warning))),
        onStatuses: (changes) => report.update(changes),
        onMinted(made) {
          if (flags.hello && !answering) minted.add(made.key);
          else printKey(made, dataDir);
        },
      }),
      (each) => each.stop(),
    );
    const console = started.adopt(await openConsole(flags, { gateway, dataDir, log }), (each) => each?.close());
    consoleUrl ??= console?.url;
    answering = true;
    deleteUnwanted(responses, flags);
    started.move();
    return { gateway, ledger: await opening, demo, console, minted };
  } catch (error) {
    await started.disposeAsync();
    throw await startFailure(error, flags, addressesOf(flags, demoAddress));
  }
}

/** What to report for an error at the start. If a port may be busy, that is all of them, and the manifests' mistakes. */
async function startFailure(error: unknown, flags: RunFlags, addresses: readonly FlagAddress[]): Promise<unknown> {
  const isListening = systemErrorOf(error).syscall === 'listen';
  const mistakes = isListening ? await mistakesIn(flags) : undefined;
  const failure = explainStart(mistakes ?? error, addresses);
  if (!(failure instanceof CommandFailed) || !(isListening || error instanceof InvalidManifests)) return failure;
  return withBusyPorts(failure, await findBusyPorts(addresses), flags);
}

/** The mistakes in the manifests, which may not have been read when a port could not be opened. */
async function mistakesIn({ config, gatewayNamespace }: RunFlags): Promise<InvalidManifests | undefined> {
  const { findMistakes } = await import('../../operator/reconcile/validate-folder.ts');
  const mistakes = await findMistakes(config, { gatewayNamespace });
  return mistakes.length > 0 ? new InvalidManifests(mistakes) : undefined;
}

function addressesOf(flags: RunFlags, demoAddress: ListenAddress | undefined): FlagAddress[] {
  return [
    { flag: '--listen', ...flags.listen },
    { flag: '--admin', ...flags.admin },
    ...(typeof flags.console === 'object' ? [{ flag: '--console', ...flags.console }] : []),
    ...(demoAddress ? [{ flag: '--with-demo-provider', ...demoAddress }] : []),
  ];
}

/** Adds the ports that cannot be opened to a failure that may be about one of them. */
function withBusyPorts(failure: CommandFailed, busy: readonly string[], flags: RunFlags): CommandFailed {
  const lines = [...new Set([...failure.message.split('\n'), ...busy])];
  const advice =
    busy.length > 1 && flags.firstPort === undefined ? ['Choose other ports for all with --first-port.'] : [];
  return new CommandFailed([...lines, ...advice].join('\n'), failure.exitCode, failure.cause);
}

/** Prints a line about the manifests. */
function print(line: string): void {
  process.stderr.write(`${line}\n`);
}

function printProblems(problems: readonly Diagnostic[]): void {
  if (problems.length === 0) return print('the manifests are valid again');
  for (const problem of problems) print(formatDiagnostic(problem));
  print('the last good configuration stays in effect');
}

async function closeOpened(opening: Promise<Ledger>): Promise<void> {
  const ledger = await opening.catch(() => undefined); // the failure was reported already
  await ledger?.close();
}

async function startDemo(address: ListenAddress): Promise<DemoProvider> {
  const { startDemoProvider } = await import('../../demo/provider.ts');
  return startDemoProvider(address);
}

interface ConsoleParts {
  readonly gateway: Gateway;
  readonly dataDir: string;
  readonly log: Logger;
}

interface MachineConsole extends FileConsole {
  readonly url: string;
}

/** Starts the console last, because its modules take long to load. Returns undefined if it is off. */
async function openConsole(flags: RunFlags, parts: ConsoleParts): Promise<MachineConsole | undefined> {
  const { gateway, dataDir, log } = parts;
  if (flags.console === false) return undefined;
  await delay(CONSOLE_AFTER_MS);
  const { startFileConsole, ConsoleFileFault } = await import('../../programs/one-machine/console.ts');
  const { createChannelDoctor } = await import('../doctor/examine.ts');
  const asked = typeof flags.console === 'object' ? flags.console : undefined;
  const listen = asked ?? CONSOLE_ADDRESS;
  const started = await startFileConsole({
    listen,
    optional: asked === undefined,
    manifests: gateway.manifests,
    dataDir,
    log,
    gatewayNamespace: flags.gatewayNamespace,
    gatewayUrl: urlOf({ ...flags.listen, port: gateway.port }),
    consoleUrl: flags.consoleUrl,
    ...(flags.consoleTrustedProxies && { trustedProxies: flags.consoleTrustedProxies }),
    ledger: flags.ledger ?? { kind: 'file', path: join(dataDir, 'ledger.db') },
    doctor: createChannelDoctor(() => gateway.snapshot()),
  }).catch((error: unknown) => {
    throw error instanceof ConsoleFileFault ? new CommandFailed(error.message, undefined, error) : error;
  });
  if (!started) {
    const address = formatAddress(listen);
    log.warn(
      { address },
      'the console is off: its port is in use; choose another port with --console, or --no-console',
    );
    return undefined;
  }
  const url = urlOf({ ...listen, port: started.port });
  const tokenFile = shortPath(started.tokenFile);
  log.info({ address: url, tokenFile }, 'the console is listening');
  const { newToken } = started;
  if (newToken !== undefined && !flags.hello) printSecret('admin token of the console', tokenFile, newToken);
  return { ...started, url };
}

/** Secrets are shown only on a terminal, because a redirected output is stored somewhere. */
function showsSecrets(): boolean {
  return process.stdout.isTTY;
}

/** Prints a new secret once, or only the path of its file if standard output is redirected. */
function printSecret(what: string, path: string, secret: string): void {
  process.stdout.write(
    showsSecrets() ? `${what}, printed only once and stored in ${path}: ${secret}\n` : `${what}: see ${path}\n`,
  );
}

function printKey({ namespace, name, key, secretName }: MintedKey, dataDir: string): void {
  const path = shortPath(secretPath(secretsFolder(dataDir), { namespace, name: secretName }));
  printSecret(`key of ApiKey ${namespace}/${name}`, path, key);
}

/** The message about one key, preferably one that was just created; other new keys get a line each. */
function hello(flags: RunFlags, { gateway, demo, console, minted }: Parts): string {
  const files = keyFiles(dataFolder(flags));
  const shown = files.find(({ key }) => minted.has(key)) ?? files[0];
  const further = files.filter(({ key }) => minted.has(key) && key !== shown?.key);
  const text = startMessage({
    url: urlOf({ ...flags.listen, port: gateway.port }),
    adminUrl: urlOf({ ...flags.admin, port: gateway.adminPort }),
    demoUrl: demo?.url,
    console: console && {
      url: console.url,
      newToken: showsSecrets() ? console.newToken : undefined,
      tokenFile: shortPath(console.tokenFile),
    },
    configDir: shortPath(flags.config),
    key: shown && minted.has(shown.key) && showsSecrets() ? shown.key : undefined,
    keyFile: shown && shortPath(shown.path),
    snapshot: gateway.snapshot(),
  });
  const line = ({ path, key }: KeyFile): string =>
    showsSecrets()
      ? `Another key, printed only once and stored in ${shortPath(path)}: ${key}\n`
      : `Another key: see ${shortPath(path)}\n`;
  return further.map(line).join('') + text;
}

/** Absolute, because Node's recursive mkdir of a relative path never returns if the working directory is deleted. */
function dataFolder({ data, config }: RunFlags): string {
  return resolve(data ?? defaultDataFolder(config));
}
