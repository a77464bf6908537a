/** [P] The groups that a person may know: others are between the platform team and the tenants that it admits. */
import type { PriceList } from '#web/pricing/price-list.ts';
import type { PageRequest } from '../route.ts';
import { groupsOfNamespaces } from './group-choices.ts';
import { groupNames } from './names.ts';
import { priceListOf } from './price-lists.ts';

interface SeenGroups {
  /** With these groups and no other. */
  readonly list: PriceList;
  /** Names of the groups whose objects the person may read. */
  readonly readable: ReadonlySet<string>;
}

type Asked = Pick<PageRequest, 'person' | 'deps'>;

/** Groups that are open to all namespaces, that admit the person's, or that the person may read. */
export async function seenGroups(request: Asked): Promise<SeenGroups> {
  const { readable, names } = await readGroups(request);
  return { list: seenBy(priceListOf(request.deps), names), readable };
}

/** The same groups' names as users know them, those included that offer nothing now. */
export async function seenGroupNames(request: Asked): Promise<ReadonlyMap<string, string>> {
  const { deps } = request;
  const { names } = await readGroups(request);
  const open = deps.resources().groups.filter(({ spec }) => spec.allowedNamespaces.from === 'All');
  const seen = new Set([...names, ...open.map(({ metadata }) => metadata.name)]);
  return new Map([...groupNames(deps)].filter(([name]) => seen.has(name)));
}

/** The groups that the person may read, and with them those that admit the person's namespaces. */
async function readGroups(request: Asked): Promise<{ readonly readable: Set<string>; readonly names: Set<string> }> {
  const { person } = request;
  const [groups, namespaces] = await Promise.all([person.list('Group'), person.namespaces('list', 'ApiKey')]);
  const readable = new Set(groups.objects.map(({ metadata }) => metadata.name));
  const admitted = groupsOfNamespaces(request, namespaces, '').map(({ name }) => name);
  return { readable, names: new Set([...readable, ...admitted]) };
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
