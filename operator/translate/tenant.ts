/**
 * [P] Gathers and translates what tenants own in one namespace: this gateway's keys, with their Secrets, and accounts.
 * Both results are memoized by the namespace's lists, so that the cost of an edit depends on the size of its namespace.
 */
import type { Account, ApiKey } from '#crds/types.gen.ts';
import type { Account as AccountMessage, Key } from '#snapshot/snapshot.gen.ts';
import type { Findings } from '../status/findings.ts';
import { secretNameOf } from '#objects/key-secret.ts';
import { accountIdOf, freezeDeep } from '#objects/resources.ts';
import type { MalformedObject, Resources, SecretObject } from '#objects/resources.ts';
import { translateAccount } from './account.ts';
import { translateKey } from './api-key.ts';
import type { KeyContext } from './api-key.ts';
import { compareName, findConflicts } from './conflicts.ts';
import type { Conflicts } from './conflicts.ts';
import { hashesOf, isUnverifiedPrevious, readKeyMaterial } from './key-material.ts';
import type { GatheredKey } from './key-material.ts';
import { memoize } from './memoize.ts';

/** A result that depends on the time, valid from `fromMs` until before `untilMs`. */
interface Timed {
  readonly fromMs: number;
  /** Infinity: for ever. */
  readonly untilMs: number;
}

type TimedKey = GatheredKey & Timed;

/** One namespace's keys and accounts, both sorted by name. */
export interface GatheredTenant extends Timed {
  readonly namespace: string;
  readonly keys: readonly GatheredKey[];
  /** The hashes that its keys claim. */
  readonly hashes: readonly string[];
  readonly accounts: readonly Account[];
  /** Names of accounts that are invalid by the current schema. */
  readonly malformedAccounts: ReadonlySet<string>;
  /** Names of accounts of other gateways. */
  readonly foreignAccounts: ReadonlySet<string>;
  /** The namespaces of other gateways that own objects here. */
  readonly otherGateways: ReadonlySet<string>;
}

export interface GatherOptions {
  readonly gatewayNamespace: string;
  readonly nowMs: number;
}

const NONE: readonly never[] = Object.freeze([]);
const NO_CONFLICTS: Conflicts<GatheredKey> = new Map();
const NO_SECRETS: ReadonlyMap<string, SecretObject> = new Map();

const gatheredTenants = memoize<readonly (ApiKey | Account)[], GatheredTenant>();
const gatheredKeys = memoize<ApiKey, TimedKey>();

/** Gathers a namespace that has keys or accounts. */
export function gatherTenant(namespace: string, resources: Resources, options: GatherOptions): GatheredTenant {
  const apiKeys: readonly ApiKey[] = resources.apiKeys.get(namespace) ?? NONE;
  const accounts: readonly Account[] = resources.accounts.get(namespace) ?? NONE;
  const secrets = resources.secrets.get(namespace) ?? NO_SECRETS;
  const malformed: readonly MalformedObject[] = resources.malformed?.get(namespace) ?? NONE;
  const { gatewayNamespace, nowMs } = options;
  const source = apiKeys.length > 0 ? apiKeys : accounts;
  return gatheredTenants(
    source,
    [apiKeys, accounts, secrets, malformed, gatewayNamespace],
    () => {
      const isOurs = ({ spec }: ApiKey | Account): boolean => spec.gatewayNamespace === gatewayNamespace;
      const foreign = [...apiKeys, ...accounts].filter((object) => !isOurs(object));
      const keys = apiKeys
        .filter(isOurs)
        .sort(compareName)
        .map((apiKey) => gatherKey(apiKey, secrets.get(secretNameOf(apiKey)), nowMs));
      return {
        namespace,
        keys,
        hashes: keys.flatMap(({ hashes }) => hashes),
        accounts: accounts.filter(isOurs).sort(compareName),
        malformedAccounts: new Set(
          malformed
            .filter(({ kind, gatewayNamespace: gateway }) => kind === 'Account' && gateway === gatewayNamespace)
            .map(nameOf),
        ),
        foreignAccounts: new Set(accounts.filter((account) => !isOurs(account)).map(nameOf)),
        otherGateways: new Set(foreign.map(({ spec }) => spec.gatewayNamespace)),
        fromMs: nowMs,
        untilMs: earliest(
          keys.map(({ untilMs }) => untilMs),
          nowMs,
        ),
      };
    },
    holdsAt(nowMs),
  );
}

function gatherKey(apiKey: ApiKey, secret: SecretObject | undefined, nowMs: number): TimedKey {
  return gatheredKeys(
    apiKey,
    [secret],
    () => {
      const material = readKeyMaterial(apiKey, secret, nowMs);
      const previous = material.state === 'Present' ? material.previous : [];
      return {
        metadata: apiKey.metadata,
        apiKey,
        account: accountIdOf(apiKey),
        material,
        hashes: hashesOf(material),
        fromMs: nowMs,
        untilMs: earliest(
          previous.map(({ notAfterMs }) => notAfterMs),
          nowMs,
        ),
      };
    },
    holdsAt(nowMs),
  );
}

/** Decides between keys that claim the same hash. Counts the hashes first: one is hardly ever claimed twice. */
export function findKeyConflicts(tenants: readonly GatheredTenant[]): Conflicts<GatheredKey> {
  const claims = tenants.flatMap(({ hashes }) => hashes);
  if (new Set(claims).size === claims.length) return NO_CONFLICTS;
  return findConflicts(
    tenants.flatMap(({ keys }) => keys),
    ({ hashes }) => hashes,
    isUnverifiedPrevious,
  );
}

/** What a namespace contributes to the snapshot and to the statuses, sorted by name. */
export interface TranslatedTenant extends Timed {
  readonly keys: readonly Key[];
  readonly accounts: readonly AccountMessage[];
  readonly keyFindings: readonly Findings[];
  readonly accountFindings: readonly Findings[];
  /** The number of accepted keys by group. */
  readonly keysByGroup: ReadonlyMap<string, number>;
}

/** What the translation of a namespace depends on besides its own objects. */
export type TenantContext = Omit<KeyContext, 'accounts' | 'accountNames' | 'foreignAccounts'>;

const translated = memoize<GatheredTenant, TranslatedTenant>();

/** Translates a gathered namespace. */
export function translateTenant(tenant: GatheredTenant, context: TenantContext): TranslatedTenant {
  const { nowMs, namespaces, groups, mintFailures, usageLabels } = context;
  const isContested = context.conflicts.size > 0 && tenant.keys.some((key) => context.conflicts.has(key));
  const conflicts = isContested ? context.conflicts : NO_CONFLICTS;
  const inputs = [namespaces.get(tenant.namespace), conflicts, mintFailures, groups, usageLabels];
  return translated(tenant, inputs, () => translateObjects(tenant, context), holdsAt(nowMs));
}

function translateObjects(tenant: GatheredTenant, context: TenantContext): TranslatedTenant {
  const accounts = tenant.accounts.map(translateAccount);
  const keyContext: KeyContext = {
    ...context,
    accounts: new Map([
      ...[...tenant.malformedAccounts].map((name) => [name, false] as const),
      ...accounts.map(({ findings, message }) => [findings.name, message !== undefined] as const),
    ]),
    accountNames: tenant.accounts.map(nameOf),
    foreignAccounts: tenant.foreignAccounts,
  };
  const keys = tenant.keys.map((key) => translateKey(key, keyContext));
  const byGroup = Map.groupBy(
    keys.filter(({ findings }) => !findings.refused),
    ({ group }) => group,
  );
  const expirations = tenant.keys.map(({ apiKey }) => Date.parse(apiKey.spec.expirationTime ?? ''));
  return freezeDeep({
    keys: keys.flatMap(({ message }) => message ?? []),
    accounts: accounts.flatMap(({ message }) => message ?? []),
    keyFindings: keys.map(({ findings }) => findings),
    accountFindings: accounts.map(({ findings }) => findings),
    keysByGroup: new Map([...byGroup].map(([group, accepted]) => [group, accepted.length])),
    fromMs: context.nowMs,
    untilMs: Math.min(tenant.untilMs, earliest(expirations, context.nowMs)),
  });
}

/** The first of these moments that is to come; Infinity if none is. */
function earliest(moments: readonly number[], nowMs: number): number {
  return moments.reduce((first, ms) => (ms > nowMs && ms < first ? ms : first), Number.POSITIVE_INFINITY);
}

function holdsAt(nowMs: number): (result: Timed) => boolean {
  return ({ fromMs, untilMs }) => fromMs <= nowMs && nowMs < untilMs;
}

function nameOf({ metadata }: { readonly metadata: { readonly name: string } }): string {
  return metadata.name;
}
