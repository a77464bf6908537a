/**
 * [P] Finds all reasons for which a proxy would refuse a snapshot. The operator checks before it publishes, the proxy
 * before it applies. References to missing objects are valid, because a route may arrive after the group that names it;
 * until then it offers nothing. validate-routes.ts and validate-prices.ts check further kinds.
 */
import { isTimeZone } from './time-zone.ts';
import { expectFilter, expectLimits, expectNames, FaultCollector } from './faults.ts';
import type { SnapshotKind } from './kinds.gen.ts';
import type { SnapshotFault } from './faults.ts';
import { Period, WhenShort } from './snapshot.gen.ts';
import type { Account, AutomaticAccess, DirectAccess, Group, Key, Snapshot, SpendingLimit } from './snapshot.gen.ts';
import { validateCatalogs } from './validate-prices.ts';
import { validateRoute } from './validate-routes.ts';

const SHA256_HEX = /^[0-9a-f]{64}$/;
const NAMESPACED_NAME = /^[^/]+\/[^/]+$/;

/** Returns every fault of a snapshot; an empty list means that it can be applied. */
export function validateSnapshot(snapshot: Snapshot): SnapshotFault[] {
  const faults: SnapshotFault[] = [];
  expectUnique(faults, 'ApiKey', snapshot.keys);
  expectUnique(faults, 'Account', snapshot.accounts);
  validateKeys(faults, snapshot.keys);
  for (const account of snapshot.accounts) validateAccount(new FaultCollector(faults, 'Account', account), account);
  return [...faults, ...validateOffering(snapshot)];
}

/** The faults of what is offered to keys: groups, routes and prices. */
export function validateOffering({
  groups,
  routes,
  catalogs,
}: Pick<Snapshot, 'groups' | 'routes' | 'catalogs'>): SnapshotFault[] {
  const faults: SnapshotFault[] = [];
  expectUnique(faults, 'Group', groups);
  expectUnique(faults, 'ModelRoute', routes);
  expectUnique(faults, 'PriceCatalog', catalogs);
  validateGroups(faults, groups);
  for (const route of routes) validateRoute(new FaultCollector(faults, 'ModelRoute', route), route);
  validateCatalogs(faults, catalogs);
  return faults;
}

/** The faults of one key by itself, without a check whether other keys have its hashes or uid. */
export function validateOneKey(key: Key): SnapshotFault[] {
  const faults: SnapshotFault[] = [];
  expectUnique(faults, 'ApiKey', [key]);
  validateKey(new FaultCollector(faults, 'ApiKey', key), key);
  return faults;
}

/** The faults of one account by itself. */
export function validateOneAccount(account: Account): SnapshotFault[] {
  const faults: SnapshotFault[] = [];
  expectUnique(faults, 'Account', [account]);
  expectLimits(new FaultCollector(faults, 'Account', account), '', account);
  return faults;
}

type ObjectId = Pick<Account, 'namespace' | 'name'>;

/** Objects are identified by namespace and name; groups and routes live in one namespace and are identified by name. */
function expectUnique(faults: SnapshotFault[], kind: SnapshotKind, objects: readonly ObjectId[]): void {
  const seen = new Map<string, Set<string>>();
  const byNameOnly = kind === 'Group' || kind === 'ModelRoute';
  for (const object of objects) {
    const { namespace, name } = object;
    const scope = byNameOnly ? '' : namespace;
    const names = seen.get(scope) ?? new Set();
    seen.set(scope, names);
    if (namespace === '' || name === '')
      new FaultCollector(faults, kind, object).expect(false, 'namespace and name are required');
    if (names.has(name)) {
      const id = byNameOnly ? name : `${namespace}/${name}`;
      new FaultCollector(faults, kind, object).expect(false, `"${id}" is there twice`);
    }
    names.add(name);
  }
}

function validateKeys(faults: SnapshotFault[], keys: readonly Key[]): void {
  const uids = new Set<string>();
  const hashes = new Set<string>();
  for (const key of keys) {
    const to = new FaultCollector(faults, 'ApiKey', key);
    validateKey(to, key);
    if (uids.has(key.uid)) to.expect(false, 'uid: another key has the same');
    uids.add(key.uid);
    for (const sha256 of new Set(key.hashes.map((hash) => hash.sha256))) {
      if (hashes.has(sha256)) to.expect(false, `hashes: ${sha256} is there twice`);
      hashes.add(sha256);
    }
  }
}

function expectSpending(to: FaultCollector, path: string, { nanoUsd, period, timeZone }: SpendingLimit): void {
  to.expect(period !== Period.UNSPECIFIED, `${path}.period: required`);
  to.expect(nanoUsd === undefined || nanoUsd >= 0n, `${path}.nano_usd: must not be negative`);
  to.expect(timeZone === '' || isTimeZone(timeZone), `${path}.time_zone: ${timeZone} is unknown here`);
}

function validateAccount(to: FaultCollector, account: Account): void {
  expectLimits(to, '', account);
  account.limits.forEach((limit, index) => {
    expectSpending(to, `limits[${index}]`, limit);
    to.expect(limit.nanoUsd !== undefined, `limits[${index}].nano_usd: required`);
  });
}

function validateKey(to: FaultCollector, key: Key): void {
  to.expect(key.uid !== '', 'uid: required');
  to.expect(key.hashes.length > 0, 'hashes: at least one is required');
  to.expect(new Set(key.hashes.map(({ sha256 }) => sha256)).size === key.hashes.length, 'hashes: one is there twice');
  for (const { sha256 } of key.hashes) to.expect(SHA256_HEX.test(sha256), 'hashes: not 64 lower-case hex digits');
  to.expect(key.period !== Period.UNSPECIFIED, 'period: required');
  to.expect(key.whenShort !== WhenShort.UNSPECIFIED, 'when_short: required');
  to.expect(key.limitNanoUsd === undefined || key.limitNanoUsd >= 0n, 'limit_nano_usd: must not be negative');
  if (key.quota) expectSpending(to, 'quota', key.quota);
  expectFilter(to, 'models', key.models);
  expectLimits(to, '', key);
  if (key.refusal !== '') return; // a refused key opens nothing, so it may lack the other fields
  to.expect(key.group !== '', 'group: required');
  to.expect(NAMESPACED_NAME.test(key.account), 'account: must be namespace/name');
}

function validateGroups(faults: SnapshotFault[], groups: readonly Group[]): void {
  const byName = new Map(groups.map((group) => [group.name, group]));
  for (const group of groups) {
    const to = new FaultCollector(faults, 'Group', group);
    to.expect(group.displayName !== '', 'display_name: required');
    to.expect(group.priceRatioE9 >= 0n, 'price_ratio_e9: must not be negative');
    to.expect(group.access !== undefined, 'access: one of direct and automatic is required');
    if (group.access?.$case === 'direct') validateDirect(to, group.access.value);
    if (group.access?.$case === 'automatic') validateAutomatic(to, group.access.value, byName);
  }
}

function validateDirect(to: FaultCollector, access: DirectAccess): void {
  // a route may occur several times: entries with different filters merge
  for (const { route, models, channels, ...limits } of access.routes) {
    to.expect(route !== '', 'routes: a name is empty');
    expectFilter(to, `routes "${route}": models`, models);
    expectFilter(to, `routes "${route}": channels`, channels);
    expectLimits(to, `routes "${route}": `, limits);
  }
}

function validateAutomatic(to: FaultCollector, access: AutomaticAccess, byName: ReadonlyMap<string, Group>): void {
  to.expect(access.members.length > 0, 'members: at least one is required');
  expectNames(to, 'members', access.members);
  for (const member of access.members) {
    const kind = byName.get(member)?.access?.$case;
    to.expect(kind !== 'automatic', `members: "${member}" is not a Direct group`);
  }
}
