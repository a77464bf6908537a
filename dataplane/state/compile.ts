/**
 * [P] compile(snapshot) → State: the configuration as lookup maps, so that a call costs a few map reads. Everything that a
 * call would have to work out is worked out here: which channels serve a model for a group, in which order, at what price,
 * under which thresholds.
 * The parts: compile-keys (who may call), compile-routes (models and channels), compile-offers (what a group offers),
 * compile-pricing (prices and the public page). Expects a snapshot that snapshot/validate has passed; references to what is
 * not there offer nothing.
 */
import { makePricingRows } from '#web/pricing/price-rows.ts';
import type { Snapshot } from '../snapshot/snapshot.gen.ts';
import { compileCredentials, compileAccounts } from './compile-keys.ts';
import type { SharedFilters } from './compile-keys.ts';
import { compileGroups } from './compile-groups.ts';
import { compilePricingGroups, indexPrices } from './compile-pricing.ts';
import type { PriceEntry } from './compile-pricing.ts';
import { compileRoutes } from './compile-routes.ts';
import type { State } from './state.ts';

/** A state with what the next compile can use again. */
export interface CompiledState extends State {
  readonly filters: SharedFilters;
  readonly prices: ReadonlyMap<string, PriceEntry>;
}

/**
 * The state of a snapshot. Channels that are the same as in `previous` keep their UpstreamTarget object, so that their
 * connection pools live on; keys and prices that are the same keep their objects too.
 */
export function compile(snapshot: Snapshot, previous?: CompiledState): CompiledState {
  const { credentials, filters } = compileCredentials(snapshot.keys, previous);
  return { credentials, filters, accounts: compileAccounts(snapshot.accounts), ...compileOffering(snapshot, previous) };
}

/** What can be called, and at what price: all of the state but who may call. */
export function compileOffering(snapshot: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'>, previous?: CompiledState): Omit<CompiledState, 'credentials' | 'filters' | 'accounts'> {
  const { routes, targets, channelSlots } = compileRoutes(snapshot.routes, previous?.targets);
  const prices = indexPrices(snapshot.catalogs, previous?.prices);
  const groups = compileGroups(snapshot.groups, { routes, prices });
  return {
    groups,
    pricing: {
      groups: compilePricingGroups(snapshot.groups, groups),
      rows: makePricingRows(prices.values(), groups.values()),
    },
    targets,
    channelSlots,
    prices,
  };
}

/** What holds before any configuration has come: no key opens anything. */
export const EMPTY_STATE: State = {
  credentials: new Map(),
  accounts: new Map(),
  groups: new Map(),
  pricing: { groups: [], rows: [] },
  targets: new Map(),
  channelSlots: new Map(),
};
