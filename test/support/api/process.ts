/**
 * A gateway as users run it: `mgw run` in a process, with folders for manifests and data that survive it, so that it
 * can be killed, stopped and started again. Waits for events, never for a time.
 */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startMgw } from '../cli.ts';
import type { RunningCli } from '../cli.ts';

/** Long, because the machine may be busy with other tests. */
const DEADLINE_MS = 30_000;
const ANSWERS = /"address":"(http:\S+?)","admin":"(http:\S+?)"/;

export interface GatewayProcess {
  readonly pid: number;
  readonly url: string;
  readonly adminUrl: string;
  /** SIGSTOP, SIGCONT, SIGTERM and the like. */
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code; null: a signal ended it. */
  readonly exited: Promise<number | null>;
  /** kill -9; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  terminate(): Promise<number | null>;
  /** Its output so far, of both streams. */
  output(): string;
}

export interface GatewayHome {
  readonly dataDir: string;
  /** Replaces a file of manifests atomically. */
  write(file: string, yaml: string): Promise<void>;
  /** Resolves when the process is ready for calls; rejects with its output if it exits. */
  start(...flags: readonly string[]): Promise<GatewayProcess>;
  /** Kills running processes and removes the folders. */
  remove(): Promise<void>;
}

/** `files`: manifests by file name. `nodeFlags`: of Node itself. */
export async function createHome(
  files: Readonly<Record<string, string>>,
  nodeFlags: readonly string[] = [],
): Promise<GatewayHome> {
  const root = await mkdtemp(join(tmpdir(), 'mgw-promises-'));
  const [configDir, dataDir] = [join(root, 'config'), join(root, 'data')];
  await mkdir(configDir);
  for (const [file, yaml] of Object.entries(files)) await writeFile(join(configDir, file), yaml);
  const started: RunningCli[] = [];
  return {
    dataDir,
    async write(file, yaml) {
      await writeFile(join(root, file), yaml);
      await rename(join(root, file), join(configDir, file));
    },
    async start(...flags) {
      const folders = ['--config', configDir, '--data', dataDir];
      const addresses = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0'];
      const cli = startMgw(['run', ...folders, ...addresses, ...flags], { nodeFlags });
      started.push(cli);
      return whenReady(cli);
    },
    async remove() {
      for (const cli of started) {
        cli.kill('SIGKILL');
        await cli.finished;
      }
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function whenReady(cli: RunningCli): Promise<GatewayProcess> {
  const [, url = '', adminUrl = ''] = await Promise.race([cli.until(ANSWERS), silent(cli)]);
  await eventually(
    'the gateway is ready',
    async () => (await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(DEADLINE_MS) })).ok,
  );
  const exited = cli.finished.then(({ exitCode }) => exitCode);
  const end = (signal: NodeJS.Signals): Promise<number | null> => {
    cli.kill(signal);
    return exited;
  };
  return {
    pid: cli.pid,
    url,
    adminUrl,
    exited,
    signal: (name) => cli.kill(name),
    kill: async () => {
      await end('SIGKILL');
    },
    terminate: () => end('SIGTERM'),
    output: () => cli.stdout() + cli.stderr(),
  };
}

/** Rejects with the output of a process that does not become ready; a process that exits is handled elsewhere. */
async function silent(cli: RunningCli): Promise<never> {
  const ended = new AbortController();
  void cli.finished.then(() => ended.abort());
  await sleep(DEADLINE_MS, undefined, { ref: false, signal: ended.signal }).catch(() => new Promise(() => undefined));
  throw new Error(`not in ${DEADLINE_MS} ms: the gateway answers. It said:\n${cli.stdout()}${cli.stderr()}`);
}

/**
 * Returns the first result that is neither false nor undefined; rejects if there is none in time, or the function
 * fails.
 */
export async function eventually<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const untilMs = performance.now() + DEADLINE_MS;
  while (performance.now() < untilMs) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    await sleep(5);
  }
  throw new Error(`not in ${DEADLINE_MS} ms: ${what}`);
}
