/**
 * What is measured, each in a process of its own: the mock directly, the floor, the gateway with its ledger in a file,
 * with a large configuration and on Valkey, and any other by its URL. Valkey shares the core of the load.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from './gateway.ts';
import { pinRunning } from './pinned.ts';
import type { PinnedProcess } from './pinned.ts';
import { residentBytes } from './proc.ts';
import type { BenchOptions } from './options.ts';
import { ANY_KEY, startScript, urlOf } from './scripts.ts';
import { startValkey, valkey } from '../support/valkey.ts';

export type TargetName = 'mock' | 'floor' | 'gateway' | 'large' | 'valkey' | 'compared';

export interface Target {
  readonly name: TargetName;
  readonly url: string;
  readonly keys: readonly string[];
  /** Undefined: unknown, so that neither its CPU nor its memory can be told. */
  readonly pid: number | undefined;
  /** Resident memory before the first call. */
  readonly restBytes: number | undefined;
  readonly readyMs: number | undefined;
  /** The process id of its ledger's store. */
  readonly storePid?: number;
}

export interface Scene {
  readonly targets: readonly Target[];
  stop(): Promise<void>;
}

/** Everything started and ready; ends what it has started where one of them does not come up. */
export async function startScene(options: BenchOptions, folder: string): Promise<Scene> {
  const processes: PinnedProcess[] = [];
  await using stores = new AsyncDisposableStack();
  const stop = async (ending: AsyncDisposableStack): Promise<void> => {
    for (const each of processes.toReversed()) await each.stop();
    await ending.disposeAsync();
  };
  const script = async (name: 'mock' | 'floor', args: readonly string[], core: number): Promise<Target> => {
    const started = startScript(name, args, { core, folder });
    processes.push(started);
    return {
      name,
      url: await urlOf(started),
      keys: [ANY_KEY],
      pid: started.pid,
      restBytes: residentBytes(started.pid),
      readyMs: undefined,
    };
  };
  try {
    const mock = await script('mock', [String(options.mockPort)], options.loadCore);
    const floor = await script('floor', [mock.url], options.core);
    const stage: Stage = { options, folder, mockUrl: mock.url, processes };
    const own = await gateway('gateway', stage);
    const large = options.large ? [await gateway('large', stage)] : [];
    const shared = options.valkey ? [await onValkey(stage, stores)] : [];
    const ending = stores.move();
    return { targets: [mock, floor, own, ...large, ...shared, ...compared(options)], stop: () => stop(ending) };
  } catch (error) {
    await stop(stores);
    throw error;
  }
}

interface Stage {
  readonly options: BenchOptions;
  readonly folder: string;
  readonly mockUrl: string;
  readonly processes: PinnedProcess[];
}

async function gateway(
  name: 'gateway' | 'large' | 'valkey',
  { options, folder, mockUrl, processes }: Stage,
  ledgerUrl?: string,
): Promise<Target> {
  const place = join(folder, name);
  mkdirSync(place);
  const started = await startGateway({
    folder: place,
    mockUrl,
    core: options.core,
    large: name === 'large',
    ...(ledgerUrl !== undefined && { ledgerUrl }),
  });
  processes.push(started.process);
  const { pid } = started.process;
  return { name, url: started.url, keys: started.keys, pid, restBytes: residentBytes(pid), readyMs: started.readyMs };
}

async function onValkey(stage: Stage, stores: AsyncDisposableStack): Promise<Target> {
  if (valkey.skip) throw new Error(valkey.skip);
  const server = stores.use(await startValkey());
  pinRunning(server.pid(), stage.options.loadCore);
  return { ...(await gateway('valkey', stage, server.url)), storePid: server.pid() };
}

function compared({ compare }: BenchOptions): Target[] {
  if (!compare) return [];
  const { url, key, pid } = compare;
  return [
    {
      name: 'compared',
      url,
      keys: [key ?? ANY_KEY],
      pid,
      restBytes: pid === undefined ? undefined : residentBytes(pid),
      readyMs: undefined,
    },
  ];
}
