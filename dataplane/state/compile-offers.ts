/**
 * [P] Compiles the offers of a Direct group: for every model of its routes the channels that serve it, in tiers of
 * equal priority.
 */
import { hasOwnPrice } from '#snapshot/catalog-prices.ts';
import type { DirectAccess } from '#snapshot/snapshot.gen.ts';
import type { CountLimit } from '../ledger/ledger.ts';
import { compileLimits } from './compile-limits.ts';
import type { StatedLimits } from '#snapshot/faults.ts';
import type { CostOf } from './compile-costs.ts';
import { priceAt } from '#price/model-prices.ts';
import type { PriceEntry } from '#price/model-prices.ts';
import type { CompiledChannel, CompiledRoute } from './compile-routes.ts';
import type { Candidate, ModelState, Offer } from './state.ts';

/** The compiled routes and prices from which offers are made. */
export interface OfferSources {
  readonly routes: ReadonlyMap<string, CompiledRoute>;
  readonly prices: ReadonlyMap<string, PriceEntry>;
  readonly costOf: CostOf;
}

interface NamedGroup {
  readonly name: string;
  readonly displayName: string;
}

/** A channel as one group may use it. */
interface GroupChannel {
  readonly group: NamedGroup;
  readonly route: CompiledRoute;
  readonly channel: CompiledChannel;
  readonly limits: readonly CountLimit[];
  readonly costOf: CostOf;
}

/** The offers of a Direct group at its ratio (10⁻¹⁸), by model name. Routes that offer the same model merge. */
export function compileOffers(
  group: NamedGroup,
  access: DirectAccess,
  groupRatioE18: bigint,
  { routes, prices, costOf }: OfferSources,
): Map<string, Offer> {
  const candidates = new Map<string, ModelCandidates>();
  const limits = groupLimits(access);
  for (const entry of access.routes) {
    const route = routes.get(entry.route);
    if (!route) continue;
    const channels = withNames(route.channels, entry.channels?.names).map((channel) => ({
      group,
      route,
      channel,
      costOf,
      limits: limitsOf(group.name, channel, limits),
    }));
    for (const model of withNames(route.models, entry.models?.names)) {
      const pricesAt = pricesOf(model.name, groupRatioE18, prices);
      const found = candidates.get(model.name) ?? { open: [], drained: [] };
      candidates.set(model.name, found);
      for (const from of channels)
        addCandidate(from.channel.drained ? found.drained : found.open, candidateOf(from, model, pricesAt));
    }
  }
  return offersOf(candidates, prices);
}

interface ModelCandidates {
  readonly open: Candidate[];
  readonly drained: Candidate[];
}

function offersOf(
  candidates: ReadonlyMap<string, ModelCandidates>,
  prices: OfferSources['prices'],
): Map<string, Offer> {
  const offers = new Map<string, Offer>();
  for (const [model, { open, drained }] of candidates)
    if (open.length + drained.length > 0)
      offers.set(model, offerOf(model, prices.get(model), { tiers: tiersByPriority(open), drained }));
  return offers;
}

/** The items that a filter names; all of them if there is no filter. */
function withNames<T extends { readonly name: string }>(
  all: readonly T[],
  names: readonly string[] | undefined,
): readonly T[] {
  if (!names) return all;
  const wanted = new Set(names);
  return all.filter(({ name }) => wanted.has(name));
}

/** The group's limits by "route/channel", or by "route/" if an entry has no channel filter. */
function groupLimits(access: DirectAccess): Map<string, readonly StatedLimits[]> {
  const limits = new Map<string, readonly StatedLimits[]>();
  for (const { route, channels, ...stated } of access.routes)
    for (const channel of channels?.names ?? ['']) {
      const id = `${route}/${channel}`;
      limits.set(id, [...(limits.get(id) ?? []), stated]);
    }
  return limits;
}

/**
 * The group's limits on a channel, then the channel's own. If several entries name one channel, the lowest of each
 * limit counts.
 */
function limitsOf(
  group: string,
  { target, limits: own }: CompiledChannel,
  limits: ReadonlyMap<string, readonly StatedLimits[]>,
): readonly CountLimit[] {
  const route = target.id.slice(0, target.id.indexOf('/') + 1);
  const stated = [...(limits.get(target.id) ?? []), ...(limits.get(route) ?? [])];
  return [...compileLimits('Group', `group/${group}/${target.id}`, ...stated), ...own];
}

/** Adds a candidate unless an earlier entry of the group already offers its channel. */
function addCandidate(list: Candidate[], candidate: Candidate): void {
  if (!list.some(({ target }) => target === candidate.target)) list.push(candidate);
}

/** Returns the prices of a candidate on a channel. */
export type PricesAt = (channel: CompiledChannelNames) => Pick<Candidate, 'price' | 'priceOf'>;

type CompiledChannelNames = Pick<CompiledChannel, 'target' | 'renames'>;

/** The prices of a model at a group's ratio (10⁻¹⁸), compiled once for all channels without prices of their own. */
export function pricesOf(model: string, groupRatioE18: bigint, prices: ReadonlyMap<string, PriceEntry>): PricesAt {
  const entry = prices.get(model);
  const common = entry && priceAt(entry, groupRatioE18);
  return ({ target, renames }) => ({
    price: entry && hasOwnPrice(entry.price, target.id) ? priceAt(entry, groupRatioE18, target.id) : common,
    priceOf: (upstreamModel) => {
      const other = prices.get(clientName(upstreamModel, renames));
      return other && priceAt(other, groupRatioE18, target.id);
    },
  });
}

function clientName(upstreamModel: string, renames: CompiledChannel['renames']): string {
  return renames.entries().find(([, upstream]) => upstream === upstreamModel)?.[0] ?? upstreamModel;
}

function candidateOf(
  { group, route, channel, limits, costOf }: GroupChannel,
  model: ModelState,
  pricesAt: PricesAt,
): Candidate {
  return {
    group: group.name,
    groupDisplayName: group.displayName,
    model,
    upstreamModel: channel.renames.get(model.name) ?? model.name,
    target: channel.target,
    priority: channel.priority,
    weight: channel.weight,
    retryAttempts: route.retryAttempts,
    retryOn: route.retryOn,
    clientDisconnect: route.clientDisconnect,
    onTimeout: route.onTimeout,
    allowedFields: route.allowedFields,
    routing: route.routing,
    limits,
    renames: channel.renames,
    ...pricesAt(channel),
    cost: costOf(channel, model.name),
    costOf: (upstreamModel) => costOf(channel, clientName(upstreamModel, channel.renames)),
  };
}

function tiersByPriority(candidates: readonly Candidate[]): Candidate[][] {
  const tiers = new Map<number, Candidate[]>();
  for (const candidate of candidates) {
    const tier = tiers.get(candidate.priority);
    if (tier) tier.push(candidate);
    else tiers.set(candidate.priority, [candidate]);
  }
  return [...tiers].sort(([a], [b]) => a - b).map(([, tier]) => tier);
}

/** An offer of a model, from its price and the channels that serve it. */
export function offerOf(
  model: string,
  price: PriceEntry | undefined,
  { tiers, drained }: Pick<Offer, 'tiers' | 'drained'>,
): Offer {
  const endpoints = new Set([...tiers.flat(), ...drained].flatMap((candidate) => [...candidate.model.endpoints]));
  const { catalog, quotaType } = price ?? {};
  return { model, vendor: price?.price.vendor ?? '', catalog, quotaType, tiers, drained, endpoints };
}
