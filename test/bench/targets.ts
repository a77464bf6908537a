/** What is measured, each in a process of its own: the mock directly, the floor, the gateway, and any other by its URL. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from './gateway.ts';
import { startPinned, untilSaid } from './pinned.ts';
import type { PinnedProcess } from './pinned.ts';
import { residentBytes } from './proc.ts';
import { readPort } from './ready.ts';
import type { BenchOptions } from './options.ts';

export type TargetName = 'mock' | 'floor' | 'gateway' | 'compared';

export interface Target {
  readonly name: TargetName;
  readonly url: string;
  readonly keys: readonly string[];
  /** Undefined: unknown, so that neither its CPU nor its memory can be told. */
  readonly pid: number | undefined;
  /** Resident memory before the first call. */
  readonly restBytes: number | undefined;
  readonly readyMs: number | undefined;
}

export interface Scene {
  readonly targets: readonly Target[];
  stop(): Promise<void>;
}

const SCRIPT = (name: string): string => join(import.meta.dirname, name);
const ANY_KEY = `sk-${'0'.repeat(48)}`;

/** Everything started and ready; ends what it has started where one of them does not come up. */
export async function startScene(options: BenchOptions, folder: string): Promise<Scene> {
  const processes: PinnedProcess[] = [];
  const stop = async (): Promise<void> => { for (const each of processes.toReversed()) await each.stop(); };
  const script = async (name: string, args: readonly string[], core: number): Promise<Target> => {
    const started = startPinned([process.execPath, SCRIPT(`${name}.ts`), ...args], { core, outputFile: join(folder, `${name}.log`) });
    processes.push(started);
    const port = await untilSaid(started, readPort);
    return { name: name as TargetName, url: `http://127.0.0.1:${port}`, keys: [ANY_KEY], pid: started.pid, restBytes: residentBytes(started.pid), readyMs: undefined };
  };
  try {
    const mock = await script('mock', [String(options.mockPort)], options.loadCore);
    const floor = await script('floor', [mock.url], options.core);
    const gatewayFolder = join(folder, 'gateway');
    mkdirSync(gatewayFolder);
    const gateway = await startGateway({ folder: gatewayFolder, mockUrl: mock.url, core: options.core, large: options.large });
    processes.push(gateway.process);
    const { pid } = gateway.process;
    return {
      targets: [mock, floor, { name: 'gateway', url: gateway.url, keys: gateway.keys, pid, restBytes: residentBytes(pid), readyMs: gateway.readyMs }, ...compared(options)],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function compared({ compare }: BenchOptions): Target[] {
  if (!compare) return [];
  const { url, key, pid } = compare;
  return [{ name: 'compared', url, keys: [key ?? ANY_KEY], pid, restBytes: pid === undefined ? undefined : residentBytes(pid), readyMs: undefined }];
}
