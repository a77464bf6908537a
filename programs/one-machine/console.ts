/** The console of a single machine, on its own port, where the admin can change the folder of manifests. */
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { loadApiKinds } from '#crds/load.ts';
import { createFilesAccess, keysOfSource } from '../../console/access/files.ts';
import { openConsoleSecrets } from '../../console/access/files/console-secrets.ts';
import type { ConsoleSecrets } from '../../console/access/files/console-secrets.ts';
import { openFileState } from '../../console/access/files/file-state.ts';
import type { ManifestSource } from '../../console/access/files/source.ts';
import type { ChannelDoctor } from '../../console/route.ts';
import { startConsole } from '../../console/server.ts';
import type { ConsoleServer } from '../../console/server.ts';
import { openActivityFile } from '../../dataplane/activity/activity-table.ts';
import type { ActivityReader } from '#activity/activity.ts';
import { openFileUsageStore } from '../../console/data/file-store.ts';
import { openUsageFile } from '../../dataplane/ledger/embedded/usage-file.ts';
import type { ListenAddress } from '../../dataplane/listen.ts';
import type { UsageStore } from '../../console/data/usage.ts';
import { TRANSLATOR } from '../../operator/translate/translator.ts';
import type { LedgerLocation } from '../ledger-location.ts';
import { ACTIVITY_FILE } from '../open-activity.ts';
import { openSharedUsage } from '../open-usage.ts';

interface FileConsoleOptions {
  readonly listen: ListenAddress;
  /** True if the gateway runs without a console when the port is in use. */
  readonly optional: boolean;
  readonly manifests: ManifestSource;
  readonly gatewayUrl: string;
  /** Where people open the console, if not at `listen`. */
  readonly consoleUrl: string | undefined;
  readonly gatewayNamespace: string;
  readonly dataDir: string;
  readonly ledger: LedgerLocation;
  readonly doctor: ChannelDoctor;
  readonly log: Logger;
  /** Addresses and CIDR ranges of the proxies before the console. */
  readonly trustedProxies?: readonly string[];
}

export interface FileConsole {
  readonly port: number;
  /** The token, if it was just created. */
  readonly newToken: string | undefined;
  readonly tokenFile: string;
  close(): Promise<void>;
}

/** One of the console's own files cannot be used; the message says which and why. */
export class ConsoleFileFault extends Error {
  override readonly name = 'ConsoleFileFault';
}

/** Resolves with undefined if it is optional and its port is in use. Rejects with a ConsoleFileFault. */
export async function startFileConsole(options: FileConsoleOptions): Promise<FileConsole | undefined> {
  const { listen, optional, manifests: source, gatewayUrl, gatewayNamespace, dataDir, ledger, doctor, log } = options;
  const { isToken, newToken, tokenFile, sealingKey } = await openSecrets(dataDir);
  const usage = await openUsage(ledger, dataDir);
  const activity = await openActivity(ledger, dataDir);
  try {
    const server = await startConsole({
      listen,
      ...(options.trustedProxies && { trustedProxies: options.trustedProxies }),
      usage,
      activity,
      gatewayNamespace,
      gatewayUrl,
      consoleUrl: options.consoleUrl,
      doctor,
      log,
      state: await openFileState(dataDir),
      access: createFilesAccess({
        source,
        kinds: await loadApiKinds(),
        log,
        isToken,
        delay: async (ms) => {
          await setTimeout(ms);
        },
      }),
      resources: () => source.resources,
      translator: TRANSLATOR,
      keys: keysOfSource(source),
      sealingKeys: [sealingKey],
      nowMs: () => Date.now(),
    });
    // so that the first page need not wait for the spending of ten thousand keys; if it fails, the page reads again
    source.readSpending().catch(() => undefined);
    return { port: server.port, newToken, tokenFile, close: () => close(server, usage, activity) };
  } catch (error) {
    usage.close();
    activity.close();
    if (optional && isInUse(error)) return undefined;
    throw error;
  }
}

async function openSecrets(dataDir: string): Promise<ConsoleSecrets> {
  try {
    return await openConsoleSecrets(dataDir);
  } catch (error) {
    if (error instanceof Error && !('code' in error)) throw new ConsoleFileFault(error.message, { cause: error });
    throw error;
  }
}

async function openUsage(ledger: LedgerLocation, dataDir: string): Promise<UsageStore> {
  if (ledger.kind === 'file') return openFileUsageStore(ledger.path, openUsageFile);
  return openSharedUsage(ledger.url, dataDir);
}

async function openActivity(ledger: LedgerLocation, dataDir: string): Promise<ActivityReader> {
  if (ledger.kind === 'file') return openActivityFile(join(dataDir, ACTIVITY_FILE));
  const { openValkeyActivityReader } = await import('../../dataplane/activity/valkey-activity.ts');
  return openValkeyActivityReader(ledger.url);
}

async function close(server: ConsoleServer, usage: UsageStore, activity: ActivityReader): Promise<void> {
  await server.close();
  usage.close();
  activity.close();
}

function isInUse(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
}
