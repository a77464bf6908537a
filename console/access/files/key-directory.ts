/** The keys of a folder of manifests, with the statuses that the operator keeps beside them. */
import type { ApiKey } from '#crds/types.gen.ts';
import type { KeyDirectory } from '../key-access.ts';
import { findObject } from './changes.ts';
import type { ManifestSource } from './source.ts';

export function keysOfSource(source: ManifestSource): KeyDirectory {
  const withStatus = (apiKey: ApiKey): ApiKey => {
    const status = source.statusOf({ kind: 'ApiKey', ...apiKey.metadata });
    return status === undefined ? apiKey : { ...apiKey, status };
  };
  return {
    findByHash: (keyHash) => source.resources.apiKeys.map(withStatus).find(({ status }) => status?.keyHash === keyHash),
    async read(ref) {
      await source.readSpending();
      const found = findObject(source.resources, 'ApiKey', ref);
      return found && withStatus(found);
    },
  };
}
