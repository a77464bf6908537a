/** Servers, folders and ledgers of one test, which are removed after it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { openValkeyLedger } from '../../../../../dataplane/ledger/valkey.ts';
import type { ValkeyLedgerOptions } from '../../../../../dataplane/ledger/valkey.ts';
import { startValkey } from '../../../../support/valkey.ts';
import type { ValkeyOptions, ValkeyServer } from '../../../../support/valkey.ts';

export type Event = Parameters<NonNullable<ValkeyLedgerOptions['onEvent']>>[0];

/** Acknowledged data survives a kill. */
export const ALWAYS: ValkeyOptions = {
  settings: [
    ['appendonly', 'yes'],
    ['appendfsync', 'always'],
  ],
};
const DEADLINE_MS = 30_000;

const opened: { close(): Promise<void> }[] = [];
const servers: ValkeyServer[] = [];
const folders: string[] = [];

export async function start(options?: ValkeyOptions): Promise<ValkeyServer> {
  const server = await startValkey(options);
  servers.push(server);
  return server;
}

export async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mgw-journal-'));
  folders.push(folder);
  return folder;
}

export async function open(
  server: ValkeyServer,
  options: Partial<ValkeyLedgerOptions> = {},
): Promise<{ ledger: Ledger; events: Event[] }> {
  const events: Event[] = [];
  const ledger = await openValkeyLedger({
    url: server.url,
    onEvent: (event) => events.push(event),
    ...options,
    over: { refillMs: 0, ...options.over },
  });
  opened.push(ledger);
  return { ledger, events };
}

/**
 * Ways in which a server does not respond, and how each ends. A hanging one has received its requests, and handles them
 * later.
 */
export const OUTAGES = {
  killed: { begin: (server: ValkeyServer) => server.kill(), end: (server: ValkeyServer) => server.start() },
  hanging: {
    begin: async (server: ValkeyServer) => server.signal('SIGSTOP'),
    end: async (server: ValkeyServer) => server.signal('SIGCONT'),
  },
} as const;

/** For `afterEach`. */
export async function endScene(): Promise<void> {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await Promise.all(servers.splice(0).map((server) => server[Symbol.asyncDispose]()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
}

export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (performance.now() > untilMs) throw new Error(`${what} has not come true`);
    await sleep(20);
  }
}

export const isReady = (ledger: Ledger) => (): boolean => ledger.health?.().ok === true;
