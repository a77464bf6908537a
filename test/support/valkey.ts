/**
 * A real server for a test: `valkey-server` or `redis-server`, in a temporary folder. It can be killed, stopped and
 * started again on the same data, and accepts any command.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { freePort } from './free-port.ts';
import { need } from './needs.ts';

export interface ValkeyServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly dir: string;
  /** Sends a command, over a connection of its own; not while the server is stopped. */
  command(...args: readonly string[]): Promise<unknown>;
  signal(name: NodeJS.Signals): void;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again, on its port and its data. Resolves when it responds. */
  start(): Promise<void>;
  /** The process id. */
  pid(): number;
}

export interface ValkeyOptions {
  /** Settings of the command line, in pairs: `['appendonly', 'yes']`. */
  readonly settings?: readonly (readonly [string, string])[];
  /** The port without TLS; by default a free one. */
  readonly port?: number;
  readonly tls?: { readonly port: number; readonly ca: string; readonly cert: string; readonly key: string };
  /** Credentials for `command`, where the server requires them. */
  readonly credentials?: { readonly username: string; readonly password: string };
}

export const valkey = await need('valkey');

const DEADLINE_MS = 120_000;

/** Keeps everything in memory by default, so that tests are quick. */
export async function startValkey({
  settings = [],
  port: asked,
  tls,
  credentials,
}: ValkeyOptions = {}): Promise<ValkeyServer> {
  const dir = await mkdtemp(join(tmpdir(), 'mgw-valkey-'));
  const port = asked ?? (await freePort());
  let child: ChildProcess | undefined;
  // an interrupted test must not leave it behind
  const end = (): void => {
    child?.kill('SIGKILL');
  };
  process.once('exit', end);
  const server: ValkeyServer = {
    port,
    dir,
    url: `valkey://127.0.0.1:${port}`,
    async command(...args) {
      const client = createClient({
        RESP: 2,
        socket: { host: '127.0.0.1', port, reconnectStrategy: false },
        ...credentials,
      });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return await client.sendCommand(args);
      } finally {
        client.destroy();
      }
    },
    signal: (name) => {
      child?.kill(name);
    },
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
    async start() {
      const flags = [
        ['port', String(port)],
        ['dir', dir],
        ['save', ''],
        ['appendonly', 'no'],
        ['loglevel', 'warning'],
        ...tlsFlags(tls),
        ...settings,
      ];
      child = spawn(
        valkey.path,
        flags.flatMap(([name = '', value = '']) => [`--${name}`, value]),
        { stdio: 'ignore' },
      );
      await Promise.race([
        answers(port),
        once(child, 'exit').then(() => {
          throw new Error('the server ended at its start');
        }),
      ]);
    },
    pid: () => child?.pid ?? 0,
    async [Symbol.asyncDispose]() {
      await server.kill();
      process.off('exit', end);
      await rm(dir, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

function tlsFlags(tls: ValkeyOptions['tls']): [string, string][] {
  if (!tls) return [];
  return [
    ['tls-port', String(tls.port)],
    ['tls-ca-cert-file', tls.ca],
    ['tls-cert-file', tls.cert],
    ['tls-key-file', tls.key],
    ['tls-auth-clients', 'no'],
  ];
}

/** Waits until it accepts a connection and has loaded its data. */
async function answers(port: number): Promise<void> {
  const untilMs = performance.now() + DEADLINE_MS;
  while (performance.now() < untilMs) {
    const word = await ping(port);
    if (word !== undefined && !word.startsWith('-LOADING')) return;
    await sleep(10);
  }
  throw new Error(`the server on port ${port} does not answer`);
}

/** The first line of its response, which may be that it requires a password. */
function ping(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (word: string | undefined): void => {
      socket.destroy();
      resolve(word);
    };
    socket
      .once('connect', () => socket.write('PING\r\n'))
      .once('data', (data) => end(data.toString()))
      .once('error', () => end(undefined))
      .once('close', () => end(undefined));
  });
}
