/** The pinned kubectl, from the cache folder of the other programs of Kubernetes; built the first time. */
import type { Needed } from '../needs.ts';
import { kubeFolder, kubernetesProgram } from './binaries.ts';
import { findOrBuildOne, goBuild } from './go-build.ts';

/** Where it is, or why it cannot be had; with CI=true that is an error. */
export async function needKubectl(env: NodeJS.ProcessEnv): Promise<Needed> {
  const folder = kubeFolder(env);
  const found = await findOrBuildOne({
    folder, name: 'kubectl', build: async () => goBuild(folder, await kubernetesProgram('kubectl')),
  });
  if ('path' in found) return { path: found.path, skip: false };
  const failure = `no kubectl: ${found.missing}`;
  if (env['CI'] === 'true') throw new Error(failure);
  return { path: '', skip: failure };
}
