/** Reads catalogs, groups and routes from a folder of manifests, or from one file. */
import { readFile, stat } from 'node:fs/promises';
import { loadApiKinds } from '#crds/load.ts';
import type { PriceCatalog } from '#crds/types.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { countGenerations } from '#manifests/generations.ts';
import { createLoader } from '#manifests/load-folder.ts';
import { readFolder } from '../../operator/sources/folder/provider.ts';
import { allOf, groupsOfKeys } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { translate } from '../../operator/translate/translate.ts';
import { CommandFailed } from '../exit-codes.ts';
import { DEFAULT_GATEWAY_NAMESPACE } from '../defaults.ts';

interface Manifests {
  /** What a gateway would make of them. */
  readonly snapshot: Snapshot;
  /** The names of groups by the uid of their keys. */
  readonly groupOfKey: ReadonlyMap<string, string>;
}

/** Loads manifests as they count at `nowMs`. Throws CommandFailed if they have mistakes. */
export async function loadManifests(path: string, nowMs: number): Promise<Manifests> {
  const resources = await loadResources(path);
  const { snapshot } = translate(resources, { gatewayNamespace: DEFAULT_GATEWAY_NAMESPACE, nowMs });
  return { snapshot, groupOfKey: groupsOfKeys(allOf(resources.apiKeys)) };
}

/** The PriceCatalog of this name. Throws CommandFailed if the manifests have mistakes. */
export async function findCatalog(path: string, name: string): Promise<PriceCatalog | undefined> {
  const { priceCatalogs } = await loadResources(path);
  return priceCatalogs.find(
    ({ metadata }) => metadata.name === name && metadata.namespace === DEFAULT_GATEWAY_NAMESPACE,
  );
}

async function loadResources(path: string): Promise<Resources> {
  const files = await readFiles(path);
  const kinds = await loadApiKinds();
  const load = createLoader({ kinds, defaultNamespace: DEFAULT_GATEWAY_NAMESPACE }, countGenerations(0));
  const loaded = load(files);
  if (!loaded.isValid) throw new CommandFailed(`${path} is invalid; run mgw validate for the errors`);
  return loaded.resources;
}

async function readFiles(path: string): Promise<readonly { readonly path: string; readonly text: string }[]> {
  try {
    if ((await stat(path)).isDirectory()) return [...(await readFolder(path)).files.values()];
    return [{ path, text: await readFile(path, 'utf8') }];
  } catch (error) {
    throw new CommandFailed(
      `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      undefined,
      error,
    );
  }
}
