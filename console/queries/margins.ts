/** What calls cost the platform, which only people of the platform see. */
import type { PageRequest } from '../route.ts';

/**
 * True if a channel of the gateway states its cost, and the person may list ModelRoutes of the gateway's namespace.
 * Tenants and holders of keys may not.
 */
export async function seesMargins({ person, deps }: Pick<PageRequest, 'person' | 'deps'>): Promise<boolean> {
  const { gatewayNamespace: namespace, resources } = deps;
  if (person.ownKey) return false;
  const isStated = resources().modelRoutes.some(
    ({ metadata, spec }) => metadata.namespace === namespace && spec.channels.some(({ cost }) => cost !== undefined),
  );
  return isStated && (await person.may('list', 'ModelRoute', { namespace }));
}
