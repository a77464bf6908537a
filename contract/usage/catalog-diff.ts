/** [P] Computes what billed calls would have cost under changed catalogs: sums, and the calls that change most. */
import type { UsageRecord } from './record.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { indexPrices } from '#price/model-prices.ts';
import { createPricer } from './repriced-call.ts';
import type { Catalogs, PricedCall } from './repriced-call.ts';

export type DiffedCall = PricedCall & Pick<UsageRecord, 'callId' | 'account' | 'createdMs' | 'status'>;

/** The cost in nano-USD under the old and the new catalogs. */
export interface Change {
  readonly calls: number;
  readonly oldNanoUsd: bigint;
  readonly newNanoUsd: bigint;
}

export type ChangedCall = Change & Pick<DiffedCall, 'callId' | 'model' | 'account' | 'keyUid' | 'createdMs'>;

export const DIMENSIONS = ['model', 'group', 'account', 'key'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export interface CatalogDiff {
  readonly total: Change;
  /** Largest change first. */
  readonly by: Readonly<Record<Dimension, readonly (readonly [name: string, change: Change])[]>>;
  /** The ten calls that change most. */
  readonly calls: readonly ChangedCall[];
  /** What calls used that the new catalogs do not price: a name, and the number of calls. */
  readonly unpriced: readonly (readonly [what: string, calls: number])[];
}

const MOST_CALLS = 10;
/** Calls that cost nothing whatever the prices are, or whose cost is not known yet. */
const NOT_BILLED: ReadonlySet<string> = new Set(['Failed', 'Refunded', 'Running']);

/**
 * The prices and the groups' ratios. A group that only the other snapshot has is included with its ratio there.
 * `groupOfKey`: the group's name by the key's uid, for the keys of automatic groups, which records do not name.
 */
export function catalogsOf(
  { catalogs, groups }: Snapshot,
  other: Snapshot,
  groupOfKey: ReadonlyMap<string, string>,
): Catalogs {
  const all = new Map([...other.groups, ...groups].map((group) => [group.name, group] as const));
  const automatic = [...groupOfKey].flatMap(([uid, name]) => {
    const { access, priceRatioE9: ratioE9 = 0n } = all.get(name) ?? {};
    return access?.$case === 'automatic' ? [[uid, { ratioE9, members: new Set(access.value.members) }] as const] : [];
  });
  return {
    prices: indexPrices(catalogs),
    automaticGroups: new Map(automatic),
    groupRatiosE9: new Map([...all].map(([name, { priceRatioE9 }]) => [name, priceRatioE9])),
  };
}

/** Prices every billed call under both catalogs. Leaves out calls that failed, were refunded or are still running. */
export async function diffCatalogs(
  old: Catalogs,
  next: Catalogs,
  calls: AsyncIterable<DiffedCall> | Iterable<DiffedCall>,
): Promise<CatalogDiff> {
  const [priceOld, priceNew] = [createPricer(old), createPricer(next)];
  const sums: Record<Dimension, Map<string, Change>> = {
    model: new Map(),
    group: new Map(),
    account: new Map(),
    key: new Map(),
  };
  const unpriced = new Map<string, number>();
  let total: Change = { calls: 0, oldNanoUsd: 0n, newNanoUsd: 0n };
  let top: ChangedCall[] = [];
  for await (const call of calls) {
    if (NOT_BILLED.has(call.status)) continue;
    const after = priceNew(call);
    const change = { calls: 1, oldNanoUsd: priceOld(call).nanoUsd, newNanoUsd: after.nanoUsd };
    total = add(total, change);
    for (const dimension of DIMENSIONS) addTo(sums[dimension], nameIn(call, dimension), change);
    for (const what of after.unpriced) unpriced.set(what, (unpriced.get(what) ?? 0) + 1);
    const { callId, model, account, keyUid, createdMs } = call;
    top = withCall(top, { ...change, callId, model, account, keyUid, createdMs });
  }
  const sorted = (sum: Map<string, Change>): [string, Change][] =>
    [...sum].sort(([, a], [, b]) => compare(sizeOf(b), sizeOf(a)));
  return {
    total,
    calls: top,
    by: { model: sorted(sums.model), group: sorted(sums.group), account: sorted(sums.account), key: sorted(sums.key) },
    unpriced: [...unpriced].sort(([, a], [, b]) => b - a),
  };
}

function nameIn({ model, group, account, keyUid }: DiffedCall, dimension: Dimension): string {
  return { model, group, account, key: keyUid }[dimension];
}

function addTo(sums: Map<string, Change>, name: string, change: Change): void {
  const known = sums.get(name);
  sums.set(name, known ? add(known, change) : change);
}

function add(a: Change, b: Change): Change {
  return {
    calls: a.calls + b.calls,
    oldNanoUsd: a.oldNanoUsd + b.oldNanoUsd,
    newNanoUsd: a.newNanoUsd + b.newNanoUsd,
  };
}

/** Adds the call to the list if it is one of the most changed. A call that costs the same is never added. */
function withCall(top: ChangedCall[], call: ChangedCall): ChangedCall[] {
  const size = sizeOf(call);
  const last = top.at(-1);
  if (size === 0n || (top.length === MOST_CALLS && last && sizeOf(last) >= size)) return top;
  return [...top, call].sort((a, b) => compare(sizeOf(b), sizeOf(a))).slice(0, MOST_CALLS);
}

function sizeOf({ oldNanoUsd, newNanoUsd }: Change): bigint {
  return newNanoUsd > oldNanoUsd ? newNanoUsd - oldNanoUsd : oldNanoUsd - newNanoUsd;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
