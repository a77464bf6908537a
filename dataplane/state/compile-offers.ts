/**
 * [P] What a Direct group offers: for every model of its routes the channels that serve it, as tiers of equal priority.
 */
import type { DirectAccess } from '../snapshot/snapshot.gen.ts';
import type { SlotLimit } from '../ledger/ledger.ts';
import type { CompiledPrice } from '../ledger/price.ts';
import { priceAt } from './compile-pricing.ts';
import type { PriceEntry } from './compile-pricing.ts';
import type { CompiledChannel, CompiledRoute } from './compile-routes.ts';
import type { Candidate, EndpointKind, ModelState, Offer } from './state.ts';

/** What offers are made from. */
export interface OfferSources {
  readonly routes: ReadonlyMap<string, CompiledRoute>;
  readonly prices: ReadonlyMap<string, PriceEntry>;
}

/** A channel as one group may use it. */
interface GroupChannel {
  readonly group: string;
  readonly route: CompiledRoute;
  readonly channel: CompiledChannel;
  readonly slots: readonly SlotLimit[];
}

/** The offers of a Direct group at its ratio (10^-18), by model name. Routes that offer the same model merge. */
export function compileOffers(group: string, access: DirectAccess, groupRatioE18: bigint, { routes, prices }: OfferSources): Map<string, Offer> {
  const candidates = new Map<string, Candidate[]>();
  const limits = groupLimits(access);
  for (const entry of access.routes) {
    const route = routes.get(entry.route);
    if (!route) continue;
    const models = filtered(route.models, entry.models?.names);
    for (const channel of filtered(route.channels, entry.channels?.names)) {
      const used = { group, route, channel, slots: slotsOf(group, channel, limits) };
      for (const model of models) {
        const price = prices.get(model.name);
        addCandidate(candidates, candidateOf(used, model, price && priceAt(price, groupRatioE18)));
      }
    }
  }
  const offers = new Map<string, Offer>();
  for (const [model, list] of candidates) offers.set(model, offerOf(model, prices.get(model), tiersByPriority(list)));
  return offers;
}

function filtered<T extends { readonly name: string }>(all: readonly T[], names: readonly string[] | undefined): readonly T[] {
  if (!names) return all;
  const wanted = new Set(names);
  return all.filter(({ name }) => wanted.has(name));
}

/**
 * The group's thresholds by "route/channel", or by "route/" where an entry has no channel filter. Several entries may name
 * one channel: its slots are counted together, so the strictest of them holds.
 */
function groupLimits(access: DirectAccess): Map<string, number> {
  const limits = new Map<string, number>();
  for (const { route, channels, maxConcurrency } of access.routes) {
    if (maxConcurrency === undefined) continue;
    for (const channel of channels?.names ?? ['']) {
      const id = `${route}/${channel}`;
      limits.set(id, Math.min(maxConcurrency, limits.get(id) ?? Infinity));
    }
  }
  return limits;
}

/** The group's own threshold on a channel and the channel's, as far as they are set. */
function slotsOf(group: string, { target, slot }: CompiledChannel, limits: ReadonlyMap<string, number>): SlotLimit[] {
  const route = target.id.slice(0, target.id.indexOf('/') + 1);
  const limit = Math.min(limits.get(target.id) ?? Infinity, limits.get(route) ?? Infinity);
  const slots: SlotLimit[] = [];
  if (limit !== Infinity) slots.push({ scope: 'Group', id: `group/${group}/${target.id}`, limit });
  if (slot) slots.push(slot);
  return slots;
}

/** A channel that several entries let in counts once, by the first of them. */
function addCandidate(candidates: Map<string, Candidate[]>, candidate: Candidate): void {
  const list = candidates.get(candidate.model.name);
  if (!list) candidates.set(candidate.model.name, [candidate]);
  else if (!list.some(({ target }) => target === candidate.target)) list.push(candidate);
}

function candidateOf({ group, route, channel, slots }: GroupChannel, model: ModelState, price: CompiledPrice | undefined): Candidate {
  return {
    group,
    route: route.name,
    model,
    upstreamModel: channel.renames.get(model.name) ?? model.name,
    target: channel.target,
    priority: channel.priority,
    weight: channel.weight,
    retryAttempts: route.retryAttempts,
    clientDisconnect: route.clientDisconnect,
    slots,
    price,
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

/** A model with its price's facts and the channels that serve it. */
export function offerOf(model: string, price: PriceEntry | undefined, tiers: readonly (readonly Candidate[])[]): Offer {
  const endpoints = new Set<EndpointKind>();
  for (const tier of tiers) for (const candidate of tier) for (const endpoint of candidate.model.endpoints) endpoints.add(endpoint);
  return { model, vendor: price?.price.vendor ?? '', catalog: price?.catalog, quotaType: price?.quotaType, tiers, endpoints };
}
