/**
 * [P] Compiles a snapshot to a State, the configuration as lookup maps: which channels serve a model for a group, in
 * which order, at what price, under which thresholds. Parts: compile-keys (callers), compile-routes (models and
 * channels), compile-offers and compile-groups (what a group offers), compile-pricing (prices and the public page).
 * Expects a snapshot that snapshot/validate accepts; a reference to a missing object offers nothing.
 */
import { makePricingRows } from '#web/pricing/price-rows.ts';
import { SealingKeys } from '../sealing/sealing-keys.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compileKeys, compileAccounts } from './compile-keys.ts';
import { compileGroups } from './compile-groups.ts';
import { compileCosts } from './compile-costs.ts';
import { indexPrices } from '#price/model-prices.ts';
import { compilePricingGroups } from './compile-pricing.ts';
import { compileRoutes } from './compile-routes.ts';
import type { State } from './state.ts';

/**
 * The state of a snapshot. Channels that are the same as in `previous` keep their UpstreamTarget object, so that their
 * connection pools stay open.
 */
export function compile(snapshot: Snapshot, previous?: State): State {
  return {
    credentials: compileKeys(snapshot.keys),
    accounts: compileAccounts(snapshot.accounts),
    ...compileOffering(snapshot, previous),
  };
}

/** The part of the state that says what can be called and at what price. */
export function compileOffering(
  snapshot: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'>,
  previous?: State,
): Omit<State, 'credentials' | 'accounts'> {
  const { routes, targets, channelLimits } = compileRoutes(snapshot.routes, previous?.targets);
  const prices = indexPrices(snapshot.catalogs);
  const groups = compileGroups(snapshot.groups, { routes, prices, costOf: compileCosts(snapshot.catalogs) });
  return {
    groups,
    pricing: {
      groups: compilePricingGroups(snapshot.groups, groups),
      rows: makePricingRows({
        prices: prices.values(),
        groups: groups.values(),
        served: routes.values().flatMap(({ models }) => models),
      }),
    },
    targets,
    channelLimits,
    sealingKeys: compileSealingKeys(snapshot.routes),
  };
}

/** All routes have the same sealing keys, unless the snapshot arrives in parts while the keys are rotated. */
function compileSealingKeys(routes: Snapshot['routes']): SealingKeys | undefined {
  const texts = new Set(routes.flatMap(({ sealing }) => sealing?.keys ?? []).map(({ value }) => value));
  return texts.size === 0 ? undefined : new SealingKeys([...texts]);
}

/** The state before the first configuration: no key opens anything. */
export const EMPTY_STATE: State = {
  credentials: new Map(),
  accounts: new Map(),
  groups: new Map(),
  pricing: { groups: [], rows: [] },
  targets: new Map(),
  channelLimits: new Map(),
  sealingKeys: undefined,
};
