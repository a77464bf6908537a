/** [P] The options of a key form: groups with their models and ratios, and the accounts that the person may see. */
import { compareText } from '#web/compare-text.ts';
import { compareNames } from '#web/compare-text.ts';
import type { Group, PriceCatalog } from '#crds/types.gen.ts';
import { formatDecimal, ONE_E9, parseDecimal } from '#snapshot/decimal.ts';
import type { Resources } from '#objects/resources.ts';
import { admitsNamespace } from '#objects/selectors.ts';
import type { GroupOffer } from '#objects/translator.ts';
import type { ConsoleDeps, PageRequest } from '../route.ts';

/**
 * Choices for people who may see or create keys in the namespace. Names, ratios and models of groups are public, as on
 * the price page, so no right to Group objects is needed. `current` is the key's group.
 */
export function groupsOfNamespace(
  { deps }: Pick<PageRequest, 'deps'>,
  namespace: string,
  current: string,
): GroupChoice[] {
  const facts = deps.resources();
  return groupChoices(facts.groups, facts, { ...deps, namespace, current });
}

/** The groups that admit any of the namespaces, by name. */
export function groupsOfNamespaces(
  request: Pick<PageRequest, 'deps'>,
  namespaces: readonly string[],
  current: string,
): GroupChoice[] {
  const found = new Map<string, { readonly choice: GroupChoice; readonly onlyIn: string[] }>();
  for (const namespace of namespaces) {
    for (const choice of groupsOfNamespace(request, namespace, current)) {
      const known = found.get(choice.name);
      if (choice.warning !== undefined) continue;
      if (known) known.onlyIn.push(namespace);
      else found.set(choice.name, { choice, onlyIn: [namespace] });
    }
  }
  return [...found.values()]
    .map(({ choice, onlyIn }) => (onlyIn.length === namespaces.length ? choice : { ...choice, onlyIn }))
    .sort((a, b) => compareText(a.name, b.name));
}

export interface GroupChoice {
  readonly name: string;
  readonly displayName: string;
  /** It tries several groups in order. */
  readonly automatic: boolean;
  /** "0.8"; of an Automatic group "0.8 to 1.2" where its members differ. */
  readonly ratio: string;
  /** Priced and with a route, in order. */
  readonly models: readonly string[];
  /** The namespaces that it admits, of those that can be chosen; undefined: all of them. */
  readonly onlyIn?: readonly string[];
  /** Why it is listed although no key should choose it any more. */
  readonly warning?: string;
}

/** The sources of groups' models and ratios, which the public price page shows too. */
type GroupFacts = Pick<Resources, 'groups' | 'modelRoutes' | 'priceCatalogs' | 'namespaces'>;

/** The key that the choices are for. */
interface Asker extends Pick<ConsoleDeps, 'gatewayNamespace' | 'translator'> {
  readonly namespace: string;
  /** The key's current group, which stays a choice in any case. */
  readonly current: string;
}

/** Sorted by name. `seen` are the groups to choose from. */
export function groupChoices(
  seen: readonly Group[],
  facts: GroupFacts,
  { namespace, gatewayNamespace, translator, current }: Asker,
): GroupChoice[] {
  const { translated, priced } = offersOf(facts, { gatewayNamespace, translator });
  const choices = seen
    .filter(({ metadata }) => metadata.namespace === gatewayNamespace)
    .flatMap((group): GroupChoice[] => {
      const admitted = admitsNamespace(group, namespace, facts.namespaces);
      if (!admitted && group.metadata.name !== current) return [];
      const models = [...(translated.get(group.metadata.name)?.models ?? [])]
        .filter((model) => priced.has(model))
        .sort(compareNames);
      const choice = {
        name: group.metadata.name,
        displayName: group.spec.displayName ?? group.metadata.name,
        automatic: group.spec.type === 'Automatic',
        ratio: ratioOf(group, translated),
        models,
      };
      return [admitted ? choice : { ...choice, warning: `It does not admit keys of ${namespace} any more.` }];
    });
  const gone = current !== '' && !choices.some(({ name }) => name === current);
  if (gone)
    choices.push({
      name: current,
      displayName: current,
      automatic: false,
      ratio: '',
      models: [],
      warning: 'There is no such group.',
    });
  return choices.sort((a, b) => compareText(a.name, b.name));
}

/** The offers of all groups, computed once per state of the resources, because a gateway may have hundreds. */
interface Offers {
  readonly modelRoutes: GroupFacts['modelRoutes'];
  readonly priceCatalogs: GroupFacts['priceCatalogs'];
  readonly translated: ReadonlyMap<string, GroupOffer>;
  readonly priced: ReadonlySet<string>;
}

const known = new WeakMap<GroupFacts['groups'], Offers>();

function offersOf(
  facts: GroupFacts,
  { gatewayNamespace, translator }: Pick<Asker, 'gatewayNamespace' | 'translator'>,
): Offers {
  const { groups, modelRoutes, priceCatalogs } = facts;
  const before = known.get(groups);
  if (before?.modelRoutes === modelRoutes && before.priceCatalogs === priceCatalogs) return before;
  const offers = {
    modelRoutes,
    priceCatalogs,
    translated: translator.offersOf(facts, gatewayNamespace),
    priced: pricedModels(priceCatalogs, gatewayNamespace),
  };
  known.set(groups, offers);
  return offers;
}

function pricedModels(catalogs: readonly PriceCatalog[], gatewayNamespace: string): Set<string> {
  return new Set(
    catalogs
      .filter(({ metadata, spec }) => metadata.namespace === gatewayNamespace && spec.purpose !== 'Costs')
      .flatMap(({ spec }) => spec.models.map(({ name }) => name)),
  );
}

/** An Automatic group multiplies its own ratio with that of the member that serves. */
function ratioOf({ spec }: Group, translated: ReadonlyMap<string, GroupOffer>): string {
  const own = parseDecimal(spec.priceRatio);
  if (own === undefined) return spec.priceRatio;
  if (spec.type === 'Direct') return formatDecimal(own);
  const ratios = (spec.members ?? [])
    .flatMap(({ name }) => {
      const member = parseDecimal(translated.get(name)?.group.spec.priceRatio ?? '');
      return member === undefined ? [] : [(own * member) / ONE_E9];
    })
    .sort((a, b) => (a < b ? -1 : 1));
  const [low, high] = [ratios[0], ratios.at(-1)];
  if (low === undefined || high === undefined) return formatDecimal(own);
  return low === high ? formatDecimal(low) : `${formatDecimal(low)} to ${formatDecimal(high)}`;
}
