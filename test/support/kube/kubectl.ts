/** The pinned kubectl, from the cache folder of the other programs of Kubernetes; built the first time. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Needed } from '../needs.ts';
import { kubeFolder, kubernetesProgram } from './binaries.ts';
import { buildFailure, goBuild, hasGo, isExecutable, once } from './go-build.ts';

/** Where it is, or why it cannot be had; with CI=true that is an error. */
export async function needKubectl(env: NodeJS.ProcessEnv): Promise<Needed> {
  const folder = kubeFolder(env);
  const path = join(folder, 'kubectl');
  const failure = await provide(folder, path);
  if (failure === undefined) return { path, skip: false };
  if (env['CI'] === 'true') throw new Error(failure);
  return { path: '', skip: failure };
}

async function provide(folder: string, path: string): Promise<string | undefined> {
  if (await isExecutable(path)) return undefined;
  if (!(await hasGo())) return 'no kubectl: install Go, with which it is built';
  try {
    await mkdir(folder, { recursive: true });
    const program = await kubernetesProgram('kubectl');
    await once(folder, () => isExecutable(path), () => goBuild(folder, program));
    return undefined;
  } catch (error) {
    return `no kubectl: it could not be built: ${buildFailure(error)}`;
  }
}
