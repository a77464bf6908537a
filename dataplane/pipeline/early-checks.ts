/**
 * Refuses a call that its key has no slot or no money for, before the gateway does work for it: before a large body or a
 * kept response is read. The ledger decides in the end.
 */
import { isConcurrency } from '../ledger/load.ts';
import { isFree } from '#price/sheet.ts';
import { spendingLimits } from '../state/limits.ts';
import type { GroupState, KeyState, Offer } from '../state/state.ts';
import type { Caller, EndpointCall, PipelineDeps } from './context.ts';
import { noSlotIsFree } from './failures.ts';
import { readFunds, usedUp } from './out-of-money.ts';

/** Refuses a call that was read. Rejects as the two checks do. */
export async function checkEarly(
  deps: Pick<PipelineDeps, 'running' | 'state' | 'ledger' | 'consoleUrl'>,
  caller: Caller,
  { model }: Pick<EndpointCall, 'model'>,
): Promise<void> {
  checkConcurrency(deps, caller.key);
  await checkFunds(deps, caller, model);
}

/** Refuses if the key has as many calls as it may have: each running one counts, and so do `arriving` others. */
export function checkConcurrency(
  { running }: Pick<PipelineDeps, 'running'>,
  { uid, limits }: Pick<KeyState, 'uid' | 'limits'>,
  arriving = 0,
): void {
  const limit = limits.find(isConcurrency);
  if (!limit) return;
  const calls = [...running.values()].filter(({ authenticated }) => authenticated?.key.uid === uid);
  if (calls.length + arriving < limit.amount) return;
  throw noSlotIsFree(limit);
}

/**
 * Rejects with insufficient_quota or credit_balance_exhausted if nothing is left, and with LedgerUnavailable. Undefined:
 * the call may be to any model.
 */
export async function checkFunds(
  deps: Pick<PipelineDeps, 'state' | 'ledger' | 'consoleUrl'>,
  caller: Caller,
  model?: string,
): Promise<void> {
  const { key } = caller;
  const current = deps.state.get();
  const limits = spendingLimits(current, caller);
  const group = current.groups.get(key.group);
  if (!limits || !group) return;
  if (model === undefined ? offersFreeModel(group) : isFreeOffer(group.offers.get(model))) return;
  const funds = await readFunds(deps, key, limits);
  const empty = funds.find(({ spentNanoUsd, limitNanoUsd }) => spentNanoUsd >= limitNanoUsd);
  if (empty) throw usedUp(empty);
}

const freeOffers = new WeakMap<GroupState, boolean>();

/** True if the group offers a model without costs, which can be called without money. */
function offersFreeModel(group: GroupState): boolean {
  const known = freeOffers.get(group);
  if (known !== undefined) return known;
  const free = [...group.offers.values()].some(isFreeOffer);
  freeOffers.set(group, free);
  return free;
}

function isFreeOffer(offer: Offer | undefined): boolean {
  const candidates = offer ? [...offer.tiers.flat(), ...offer.drained] : [];
  return candidates.some(({ price }) => price && isFree(price));
}
