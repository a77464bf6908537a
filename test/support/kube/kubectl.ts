/** The pinned kubectl, built once into the cache folder of Kubernetes' programs. */
import type { Needed } from '../needs.ts';
import { kubeFolder, kubernetesProgram } from './binaries.ts';
import { findOrBuildOne, goBuild } from './go-build.ts';

/** Returns the path, or the reason why there is none; throws instead if CI=true. */
export async function needKubectl(env: NodeJS.ProcessEnv): Promise<Needed> {
  const folder = kubeFolder(env);
  const found = await findOrBuildOne({
    folder,
    name: 'kubectl',
    build: async () => goBuild(folder, await kubernetesProgram('kubectl')),
  });
  if ('path' in found) return { path: found.path, skip: false };
  const failure = `no kubectl: ${found.missing}`;
  if (env['CI'] === 'true') throw new Error(failure);
  return { path: '', skip: failure };
}
