/** The groups that a person could use, or may read. */
import type { PriceList } from '#web/pricing/price-list.ts';
import { groupsOfNamespaces } from '../queries/group-choices.ts';
import { renderGroups } from './groups-view.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { priceListOf } from '../queries/price-lists.ts';

interface SeenGroups {
  /** With these groups and no other. */
  readonly list: PriceList;
  /** Names of the groups whose objects the person may read. */
  readonly readable: ReadonlySet<string>;
}

/** Groups that are open to all namespaces, that admit the person's, or that the person may read. */
export async function seenGroups(request: PageRequest): Promise<SeenGroups> {
  const { person, deps } = request;
  const [groups, namespaces] = await Promise.all([person.list('Group'), person.namespaces('list', 'ApiKey')]);
  const readable = new Set(groups.objects.map(({ metadata }) => metadata.name));
  const admitted = groupsOfNamespaces(request, namespaces, '').map(({ name }) => name);
  return { list: seenBy(priceListOf(deps), new Set([...readable, ...admitted])), readable };
}

async function showGroups(request: PageRequest): Promise<HandlerResult> {
  const [{ list, readable }, routes] = await Promise.all([seenGroups(request), request.person.list('ModelRoute')]);
  const body = renderGroups({ list, readable, seesRoutes: routes.allowed });
  return { page: { title: 'Groups', active: 'groups', body, styles: ['catalog.css'] } };
}

/** Open groups, and those of `names`. */
function seenBy(list: PriceList, names: ReadonlySet<string>): PriceList {
  const {
    pricing: { rows, groups },
  } = list;
  const seen = groups.filter(({ name, restricted }) => !restricted || names.has(name));
  const shown = new Set(seen.map(({ displayName }) => displayName));
  return {
    ...list,
    pricing: {
      rows: rows.map((row) => ({ ...row, enabledGroups: row.enabledGroups.filter((name) => shown.has(name)) })),
      groups: seen,
    },
  };
}

export const groupsRoutes: readonly ConsoleRoute[] = [route({ method: 'GET', path: '/groups', handle: showGroups })];
