/** The groups that a person could use, or may read. */
import type { PriceList } from '#web/pricing/price-list.ts';
import { groupsOfNamespaces } from '../keys/key-choices.ts';
import { renderGroups } from '../platform/groups-view.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { WALLET_FILES } from '../wallet/visible-calls.ts';
import { priceListOf } from './prices.ts';

async function showGroups(request: PageRequest): Promise<HandlerResult> {
  const { person, deps } = request;
  const [groups, routes, namespaces] = await Promise.all([
    person.list('Group'), person.list('ModelRoute'), person.namespaces('list', 'ApiKey'),
  ]);
  const readable = new Set(groups.objects.map(({ metadata }) => metadata.name));
  const admitted = groupsOfNamespaces(request, namespaces, '').map(({ name }) => name);
  const list = seenBy(priceListOf(deps), new Set([...readable, ...admitted]));
  const body = renderGroups({ list, readable, seesRoutes: routes.allowed });
  return { page: { title: 'Groups', active: 'groups', body, ...WALLET_FILES } };
}

/** Open groups, and those of `names`. */
function seenBy(list: PriceList, names: ReadonlySet<string>): PriceList {
  const { pricing: { rows, groups } } = list;
  const seen = groups.filter(({ name, restricted }) => !restricted || names.has(name));
  return { ...list, pricing: { rows, groups: seen } };
}

export const groupsRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/groups', handle: showGroups }];
