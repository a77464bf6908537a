/** The console of one machine: the folder of manifests as its admin's to change, on a port of its own. */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { loadApiKinds } from '#crds/load.ts';
import { createFilesAccess } from '../../operator/console/access/files.ts';
import { openFileMemory } from '../../operator/console/access/files/file-memory.ts';
import { openConsoleSecrets } from '../../operator/console/access/files/console-secrets.ts';
import type { ConsoleSecrets } from '../../operator/console/access/files/console-secrets.ts';
import { startConsole } from '../../operator/console/server.ts';
import type { ConsoleServer } from '../../operator/console/server.ts';
import { openFileUsageBook } from '../../operator/console/usage/file-book.ts';
import type { UsageBook } from '../../operator/console/usage/usage.ts';
import { CONSOLE_ADDRESS } from '../defaults.ts';
import { CommandFailed } from '../exit.ts';
import { formatAddress, urlOf } from '../options.ts';
import type { Address, LedgerPlace } from '../options.ts';
import type { Gateway } from './gateway.ts';

interface MachineConsoleOptions {
  /** undefined: nobody has asked for one, so none is fine where its default port is in use. */
  readonly asked: Address | undefined;
  readonly gateway: Gateway;
  readonly gatewayUrl: string;
  readonly gatewayNamespace: string;
  readonly dataDir: string;
  /** undefined: ledger.db in the data folder. */
  readonly ledger: LedgerPlace | undefined;
  readonly log: Logger;
}

export interface MachineConsole {
  readonly url: string;
  /** Where it was made just now. */
  readonly newToken: string | undefined;
  readonly tokenFile: string;
  close(): Promise<void>;
}

/** undefined: its default port is in use, which the log says. */
export async function startMachineConsole({ asked, gateway, gatewayUrl, gatewayNamespace, dataDir, ledger, log }: MachineConsoleOptions): Promise<MachineConsole | undefined> {
  const listen = asked ?? CONSOLE_ADDRESS;
  const { manifests: source } = gateway;
  const { isToken, newToken, tokenFile, sealingKey } = await openSecrets(dataDir);
  const usage = await openUsage(ledger, dataDir);
  try {
    const server = await startConsole({
      listen, usage, gatewayNamespace, gatewayUrl, log,
      memory: await openFileMemory(dataDir),
      access: createFilesAccess({ source, kinds: await loadApiKinds(), log, isToken, delay: async (ms) => { await setTimeout(ms); } }),
      resources: () => source.resources,
      sealingKeys: [sealingKey],
      nowMs: () => Date.now(),
    });
    // so that nobody's first page waits for the spending of ten thousand keys; where it fails, that page asks again
    source.readSpending().catch(() => undefined);
    return { url: urlOf({ ...listen, port: server.port }), newToken, tokenFile, close: () => close(server, usage) };
  } catch (error) {
    usage.close();
    if (asked !== undefined || !isInUse(error)) throw error;
    log.warn({ address: formatAddress(listen) }, 'no console: its port is in use; choose another with --console, or --no-console');
    return undefined;
  }
}

/** What is wrong with a file of its own is said in words. */
async function openSecrets(dataDir: string): Promise<ConsoleSecrets> {
  try {
    return await openConsoleSecrets(dataDir);
  } catch (error) {
    if (error instanceof Error && !('code' in error)) throw new CommandFailed(error.message, undefined, error);
    throw error;
  }
}

async function openUsage(ledger: LedgerPlace | undefined, dataDir: string): Promise<UsageBook> {
  if (ledger?.kind !== 'valkey') return openFileUsageBook(ledger?.path ?? join(dataDir, 'ledger.db'));
  const [{ openValkeyReader }, { valkeyUsageBook }] = await Promise.all([import('../../dataplane/ledger/valkey-reader.ts'), import('../../operator/console/usage/valkey-book.ts')]);
  return valkeyUsageBook(openValkeyReader(ledger.url));
}

async function close(server: ConsoleServer, usage: UsageBook): Promise<void> {
  await server.close();
  usage.close();
}

function isInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
