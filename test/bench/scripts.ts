/**
 * Scripts of this folder, each in a process of its own, that say on which port they listen: the mock provider and the
 * floor.
 */
import { join } from 'node:path';
import { startPinned, untilOutput } from './pinned.ts';
import type { PinnedProcess } from './pinned.ts';
import { readPort } from './ready.ts';

interface ScriptPlace {
  readonly core: number;
  /** The folder for what it writes. */
  readonly folder: string;
}

/** What neither the mock provider nor the floor looks at, as long as a gateway's key. */
export const ANY_KEY = `sk-${'0'.repeat(48)}`;

/** It is not ready yet; whoever starts it ends it. */
export function startScript(
  name: 'mock' | 'floor',
  args: readonly string[],
  { core, folder }: ScriptPlace,
): PinnedProcess {
  const command = [process.execPath, join(import.meta.dirname, `${name}.ts`), ...args];
  return startPinned(command, { core, outputFile: join(folder, `${name}.log`) });
}

/** Resolves once it listens. Rejects where it ends before. */
export async function urlOf(script: PinnedProcess): Promise<string> {
  return `http://127.0.0.1:${await untilOutput(script, readPort)}`;
}
