/**
 * [P] Translates a Group to its access. Selectors are resolved to names of routes, so that the data plane needs no
 * labels. Dangling references are listed in the status; the rest of the group works.
 */
import type { Reason } from '#crds/conditions.ts';
import type { Group, GroupRoute, ModelRoute } from '#crds/types.gen.ts';
import type { Group as GroupMessage, GroupRoute as GroupRouteMessage, NameFilter } from '#snapshot/snapshot.gen.ts';
import { findingsOf } from '../status/findings.ts';
import type { Finding, Findings } from '../status/findings.ts';
import { memoize } from './memoize.ts';
import { selectRoutes } from './references.ts';
import { FieldReader, refuseInvalid } from './translated.ts';
import type { Translated } from './translated.ts';
import { suggestNames } from './nearest-names.ts';
import { quoteNames } from './quote-names.ts';

/** A group with the models that its keys can reach, priced or not. */
export interface TranslatedGroup extends Translated<GroupMessage> {
  readonly group: Group;
  readonly models: ReadonlySet<string>;
}

/** The accepted routes, and the names of refused ones. */
interface RouteIndex {
  readonly accepted: readonly ModelRoute[];
  readonly refused: ReadonlySet<string>;
  /** Names of groups that are invalid by the current schema. */
  readonly refusedGroups: ReadonlySet<string>;
}

type NotReady = Finding<
  Extract<
    Reason,
    | 'RouteNotFound'
    | 'RouteNotAccepted'
    | 'ModelNotFound'
    | 'ChannelNotFound'
    | 'MemberNotFound'
    | 'MemberNotDirect'
    | 'MemberNotAccepted'
  >
>;

const translated = memoize<Group, TranslatedGroup>();

/** Translates Direct groups first, because Automatic ones consist of them. */
export function translateGroups(groups: readonly Group[], routes: RouteIndex): TranslatedGroup[] {
  const direct = groups
    .filter(({ spec }) => spec.type === 'Direct')
    .map((group) =>
      translated(group, [routes.accepted.length, ...routes.accepted, ...routes.refused], () =>
        translateDirect(group, routes),
      ),
    );
  const byName = new Map(direct.map((translated) => [translated.group.metadata.name, translated]));
  const names = new Set(groups.map(({ metadata }) => metadata.name));
  const all = { names, refused: routes.refusedGroups };
  const automatic = groups
    .filter(({ spec }) => spec.type === 'Automatic')
    .map((group) => {
      const members: unknown[] = (group.spec.members ?? []).flatMap(({ name }) => [
        byName.get(name),
        names.has(name),
        routes.refusedGroups.has(name),
      ]);
      if (group.spec.members?.some(({ name }) => !names.has(name))) members.push(...byName.keys());
      return translated(group, members, () => translateAutomatic(group, byName, all));
    });
  return [...direct, ...automatic];
}

function translateDirect(group: Group, routes: RouteIndex): TranslatedGroup {
  const opened = (group.spec.routes ?? []).map((entry, index) => openRoutes(entry, `spec.routes[${index}]`, routes));
  const models = new Set(opened.flatMap((entry) => [...entry.models]));
  const access = { $case: 'direct', value: { routes: opened.flatMap((entry) => entry.routes) } } as const;
  return finish(group, { models, access, faults: opened.flatMap((entry) => entry.faults), serves: true });
}

function translateAutomatic(
  group: Group,
  direct: ReadonlyMap<string, TranslatedGroup>,
  all: { readonly names: ReadonlySet<string>; readonly refused: ReadonlySet<string> },
): TranslatedGroup {
  const faults: NotReady[] = [];
  const members: TranslatedGroup[] = [];
  for (const { name } of group.spec.members ?? []) {
    const member = direct.get(name);
    if (member?.message) members.push(member);
    else if (member !== undefined || all.refused.has(name)) faults.push(memberNotAccepted(name));
    else faults.push(all.names.has(name) ? memberNotDirect(name) : memberNotFound(name, direct.keys()));
  }
  const models = new Set(members.flatMap((member) => [...member.models]));
  const access = {
    $case: 'automatic',
    value: { members: members.map((member) => member.group.metadata.name) },
  } as const;
  return finish(group, { models, access, faults, serves: members.length > 0 });
}

function memberNotAccepted(name: string): NotReady {
  return { reason: 'MemberNotAccepted', message: `The member "${name}" is not Accepted.` };
}

function memberNotDirect(name: string): NotReady {
  const message = `The member "${name}" is not a Direct group; all members of an Automatic group must be.`;
  return { reason: 'MemberNotDirect', message };
}

function memberNotFound(name: string, existing: Iterable<string>): NotReady {
  return { reason: 'MemberNotFound', message: `The member "${name}" does not exist.${suggestNames(name, existing)}` };
}

interface Access {
  readonly models: ReadonlySet<string>;
  readonly access: Exclude<GroupMessage['access'], undefined>;
  readonly faults: readonly NotReady[];
  /** False if no member remains that could serve a call. */
  readonly serves: boolean;
}

function finish(group: Group, { models, access, faults, serves }: Access): TranslatedGroup {
  const fields = new FieldReader();
  const priceRatioE9 = fields.decimal('spec.priceRatio', group.spec.priceRatio);
  const findings: Findings = { ...findingsOf(group), ...joinFaults(faults, { serves, models }) };
  if (fields.faults.length > 0) return { group, models: new Set(), ...refuseInvalid(findings, fields.faults) };
  if (findings.refused) return { group, models: new Set(), findings };
  const { namespace, name, generation } = findings;
  const displayName = group.spec.displayName ?? name;
  return {
    group,
    models,
    findings: {
      ...findings,
      published: true,
    },
    message: {
      namespace,
      name,
      generation: BigInt(generation),
      displayName,
      priceRatioE9,
      access,
      restricted: group.spec.allowedNamespaces.from !== 'All',
    },
  };
}

/** All faults in one finding, with the reason of the first. */
function joinFaults(
  faults: readonly NotReady[],
  { serves, models }: Pick<Access, 'serves' | 'models'>,
): Pick<Findings, 'refused' | 'notReady'> {
  const [first] = faults;
  if (!first) return {};
  const words = faults.map(({ message }) => message).join(' ');
  if (!serves) return { refused: { reason: first.reason, message: `${words} No member is left.` } };
  return {
    notReady: {
      reason: first.reason,
      message: `${words} ${models.size > 0 ? 'The rest of the group serves.' : 'The group has no model left.'}`,
    },
  };
}

interface OpenedRoutes {
  readonly routes: readonly GroupRouteMessage[];
  readonly models: ReadonlySet<string>;
  readonly faults: readonly NotReady[];
}

/**
 * Translates one entry of spec.routes to one GroupRoute for each selected route with at least one of its models and
 * channels.
 */
function openRoutes(entry: GroupRoute, path: string, routes: RouteIndex): OpenedRoutes {
  const selected = selectRoutes(entry, routes.accepted);
  if (selected.length === 0) return { routes: [], models: new Set(), faults: [faultOfSelection(entry, path, routes)] };
  const opened = selected.flatMap((route) => openRoute(entry, route));
  return {
    routes: opened.map(({ message }) => message),
    models: new Set(opened.flatMap(({ models }) => models)),
    faults: faultsOfNames(entry, path, selected),
  };
}

function openRoute(
  entry: GroupRoute,
  { metadata, spec }: ModelRoute,
): { message: GroupRouteMessage; models: readonly string[] }[] {
  const routeModels = spec.models.map(({ name }) => name);
  const models = narrow(entry.models, routeModels);
  const channels = narrow(
    entry.channels,
    spec.channels.map(({ name }) => name),
  );
  if (models?.names.length === 0 || channels?.names.length === 0) return [];
  const limits = {
    ...(entry.maxConcurrency === undefined ? {} : { maxConcurrency: entry.maxConcurrency }),
    ...(entry.rateLimits && { rateLimits: entry.rateLimits }),
  };
  return [{ message: { route: metadata.name, models, channels, ...limits }, models: models?.names ?? routeModels }];
}

/** Those names of a filter that a route has, in the filter's order. */
function narrow(names: readonly string[] | undefined, present: readonly string[]): NameFilter | undefined {
  return names && { names: names.filter((name) => present.includes(name)) };
}

function faultOfSelection({ routeRef }: GroupRoute, path: string, { accepted, refused }: RouteIndex): NotReady {
  if (!routeRef) return { reason: 'RouteNotFound', message: `${path}: no ModelRoute has the labels of routeSelector.` };
  if (refused.has(routeRef.name))
    return {
      reason: 'RouteNotAccepted',
      message: `${path}: the ModelRoute "${routeRef.name}" is not Accepted.`,
    };
  const suggestion = suggestNames(
    routeRef.name,
    accepted.map(({ metadata }) => metadata.name),
  );
  const message = `${path}: the ModelRoute "${routeRef.name}" does not exist.${suggestion}`;
  return { reason: 'RouteNotFound', message };
}

function faultsOfNames(entry: GroupRoute, path: string, selected: readonly ModelRoute[]): NotReady[] {
  const models = new Set(selected.flatMap(({ spec }) => spec.models.map(({ name }) => name)));
  const channels = new Set(selected.flatMap(({ spec }) => spec.channels.map(({ name }) => name)));
  const missingModels = (entry.models ?? []).filter((name) => !models.has(name));
  const missingChannels = (entry.channels ?? []).filter((name) => !channels.has(name));
  const faults: NotReady[] = [];
  if (missingModels.length > 0)
    faults.push({
      reason: 'ModelNotFound',
      message:
        `${path}: no selected ModelRoute has the model ${quoteNames(missingModels)}.` +
        suggestNames(missingModels[0] ?? '', models),
    });
  if (missingChannels.length > 0)
    faults.push({
      reason: 'ChannelNotFound',
      message:
        `${path}: no selected ModelRoute has the channel ${quoteNames(missingChannels)}.` +
        suggestNames(missingChannels[0] ?? '', channels),
    });
  return faults;
}
