/** The kinds of a snapshot, generated from crds/ and snapshot.proto by `npm run generate`. */
import { Account, Group, Key, ModelRoute, PriceCatalog } from '../../contract/snapshot/snapshot.gen.ts';
import type { Snapshot } from '../../contract/snapshot/snapshot.gen.ts';

/** Parents first, which is the order of transmission; removals are sent in the opposite order. */
export const SNAPSHOT_KINDS = [
  { kind: 'PriceCatalog', field: 'catalogs' },
  { kind: 'ModelRoute', field: 'routes' },
  { kind: 'Group', field: 'groups' },
  { kind: 'Account', field: 'accounts' },
  { kind: 'ApiKey', field: 'keys' },
] as const;

export type SnapshotKind = (typeof SNAPSHOT_KINDS)[number]['kind'];

/** The configuration of a gateway without objects. */
export const EMPTY_SNAPSHOT: Snapshot = {
  catalogs: [],
  routes: [],
  groups: [],
  accounts: [],
  keys: [],
};

/** The fields by kind. */
export const FIELDS = {
  PriceCatalog: 'catalogs',
  ModelRoute: 'routes',
  Group: 'groups',
  Account: 'accounts',
  ApiKey: 'keys',
} as const;

/** The messages by field. */
export const MESSAGES = {
  catalogs: PriceCatalog,
  routes: ModelRoute,
  groups: Group,
  accounts: Account,
  keys: Key,
};

/** Their names. */
export const MESSAGE_NAMES = {
  catalogs: 'PriceCatalog',
  routes: 'ModelRoute',
  groups: 'Group',
  accounts: 'Account',
  keys: 'Key',
} as const;
