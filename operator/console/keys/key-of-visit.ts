/** The key that a page's address names. What no object can be called is asked of nobody. */
import type { ApiKey } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import type { ObjectRef } from '../access/access.ts';
import type { Visit } from '../route.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

/** Which key the address names. @throws AccessError (NotFound) */
function keyRef({ params }: Visit): ObjectRef {
  const { namespace = '', name = '' } = params;
  if (!NAME.test(namespace) || !NAME.test(name)) throw new AccessError('NotFound', 'There is no API key at this address.');
  return { namespace, name };
}

/** The key, as the person may see it. Rejects with AccessError (NotFound) where there is none. */
export async function keyOfVisit(visit: Visit): Promise<ApiKey> {
  const ref = keyRef(visit);
  const apiKey = await visit.person.get('ApiKey', ref);
  if (apiKey === undefined) throw new AccessError('NotFound', `There is no API key ${ref.name} in the namespace ${ref.namespace}, or it was deleted meanwhile.`);
  const { gatewayNamespace } = apiKey.spec;
  if (gatewayNamespace === visit.deps.gatewayNamespace) return apiKey;
  throw new AccessError('NotFound', `The API key ${ref.name} in the namespace ${ref.namespace} belongs to another gateway, the one in ${gatewayNamespace}.`);
}

/** The same key as the form speaks of. Rejects with AccessError (Conflict) where another one has taken its name. */
export async function sameKeyOfVisit(visit: Visit, uid: string): Promise<ApiKey> {
  const apiKey = await keyOfVisit(visit);
  if ((apiKey.metadata.uid ?? '') === uid) return apiKey;
  throw new AccessError('Conflict', `The API key ${apiKey.metadata.name} that you saw was deleted meanwhile, and another one was created under its name. Nothing was changed.`);
}

/** A change of a key's spec, made only if it is still as it was read. Rejects with AccessError. */
export function changeKey({ person }: Visit, { metadata: { namespace, name, generation = 0, uid = '' } }: ApiKey, spec: unknown): Promise<ApiKey> {
  return person.change('ApiKey', { namespace, name }, { generation, uid, patch: { spec } });
}
