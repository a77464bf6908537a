/**
 * [P] Translates an ApiKey to the key's access, limits and account. Named checks run first. A key that fails one stays
 * in the snapshot with the reason, so that calls with it are refused with an explanation.
 */
import type { ApiKey } from '#crds/types.gen.ts';
import { Period, WhenShort } from '#snapshot/snapshot.gen.ts';
import type { Key, KeyHash } from '#snapshot/snapshot.gen.ts';
import { isTimeZone, timeZoneOf, UTC } from '#snapshot/time-zone.ts';
import { findingsOf } from '../status/findings.ts';
import type { Findings, StatusFields } from '../status/findings.ts';
import { formatTime } from '../status/conditions.ts';
import { namespacedName } from '#objects/resources.ts';
import type { Labels } from '#objects/resources.ts';
import type { TranslatedGroup } from './group.ts';
import { checkKey } from './key-checks.ts';
import type { KeyDependencies, Refused } from './key-checks.ts';
import type { GatheredKey, KeyMaterial } from './key-material.ts';
import { memoize } from './memoize.ts';
import { admitsNamespace } from '#objects/selectors.ts';
import { expectTimeZone, FieldReader } from './translated.ts';
import type { Translated } from './translated.ts';
import { suggestNames } from './nearest-names.ts';
import { quoteNames } from './quote-names.ts';

const PERIODS = { Never: Period.NEVER, Daily: Period.DAILY, Weekly: Period.WEEKLY, Monthly: Period.MONTHLY } as const;
const WHEN_SHORT = { Lower: WhenShort.LOWER, Refuse: WhenShort.REFUSE } as const;
const UNLIMITED = 'Unlimited';

/** `group` is the name under which the Group's status counts the key. */
export interface TranslatedKey extends Translated<Key> {
  readonly group: string;
}

/** The groups that keys can name. */
export interface GroupIndex {
  readonly byName: ReadonlyMap<string, TranslatedGroup>;
  /** Names of groups that are invalid by the current schema. */
  readonly refused: ReadonlySet<string>;
}

export interface KeyContext {
  readonly nowMs: number;
  readonly namespaces: ReadonlyMap<string, Labels>;
  readonly groups: GroupIndex;
  /** The accounts of the key's namespace by name; true if Accepted. */
  readonly accounts: ReadonlyMap<string, boolean>;
  /** This gateway's accounts in the key's namespace, by which a message corrects a wrong name. */
  readonly accountNames: readonly string[];
  /** The names of the namespace's accounts that belong to another gateway. */
  readonly foreignAccounts: ReadonlySet<string>;
  /** For each key, its hashes that belong to keys of higher precedence. */
  readonly conflicts: ReadonlyMap<GatheredKey, ReadonlyMap<string, GatheredKey>>;
  /** Why a key could not be created, by "namespace/name". */
  readonly mintFailures: ReadonlyMap<string, string>;
  /** The names of the labels that usage records carry. */
  readonly usageLabels: readonly string[];
}

const translated = memoize<GatheredKey, TranslatedKey>();

/** Translates one key to its snapshot message and findings. */
export function translateKey(key: GatheredKey, context: KeyContext): TranslatedKey {
  const dependencies = dependenciesOf(key, context);
  return translated(key, Object.values(dependencies), () => evaluateKey(key, dependencies));
}

function dependenciesOf(key: GatheredKey, context: KeyContext): KeyDependencies {
  const { metadata, spec } = key.apiKey;
  const group = context.groups.byName.get(spec.groupRef.name);
  const account = accountOf(key, context);
  return {
    group,
    groupMalformed: context.groups.refused.has(spec.groupRef.name),
    admitted: group !== undefined && admitsNamespace(group.group, metadata.namespace, context.namespaces),
    account,
    suggestedGroups: group ? '' : suggestGroups(key.apiKey, context),
    suggestedAccounts: account === 'NotFound' ? suggestNames(spec.accountRef.name, context.accountNames) : '',
    lost: context.conflicts.get(key),
    expired: spec.expirationTime !== undefined && Date.parse(spec.expirationTime) <= context.nowMs,
    usageLabels: formatUsageLabels(key.apiKey, context),
    mintFailure: context.mintFailures.size === 0 ? undefined : context.mintFailures.get(namespacedName(metadata)),
  };
}

/**
 * The labels for the records of a key's calls. The namespace's label comes before the ApiKey's, because tenants may
 * label their keys but not their namespace.
 */
function formatUsageLabels({ metadata }: ApiKey, { usageLabels, namespaces }: KeyContext): string {
  const ofNamespace = namespaces.get(metadata.namespace);
  return usageLabels
    .flatMap((name) => {
      const value = ofNamespace?.[name] ?? metadata.labels?.[name];
      return value === undefined || value === '' ? [] : [`${name}=${value}`];
    })
    .join(',');
}

/** Suggests only groups that admit the key's namespace, because a tenant may not know of others. */
function suggestGroups({ metadata, spec }: ApiKey, { groups, namespaces }: KeyContext): string {
  const admitting = [...groups.byName.values()].filter(({ group }) =>
    admitsNamespace(group, metadata.namespace, namespaces),
  );
  return suggestNames(
    spec.groupRef.name,
    admitting.map(({ group }) => group.metadata.name),
  );
}

function accountOf({ apiKey }: GatheredKey, { accounts, foreignAccounts }: KeyContext): KeyDependencies['account'] {
  const { name } = apiKey.spec.accountRef;
  const accepted = accounts.get(name);
  if (accepted !== undefined) return accepted ? 'Accepted' : 'NotAccepted';
  return foreignAccounts.has(name) ? 'OtherGateway' : 'NotFound';
}

function evaluateKey(key: GatheredKey, dependencies: KeyDependencies): TranslatedKey {
  const fields = new FieldReader();
  const limits = readLimits(key.apiKey, fields);
  const refusals = [...checkFields(fields), ...checkKey(key, dependencies)];
  const hashes = hashesInForce(key, dependencies);
  const [first] = refusals;
  const notReady = readinessFinding(key, dependencies);
  const findings: Findings = {
    ...findingsOf(key.apiKey),
    fields: keyFields(key.material),
    account: key.apiKey.spec.accountRef.name,
    published: hashes.length > 0,
    ...(first && { refused: { reason: first.reason, message: refusals.map(({ message }) => message).join(' ') } }),
    ...modelFindings(key.apiKey, dependencies),
    ...(notReady && { notReady }),
  };
  const group = key.apiKey.spec.groupRef.name;
  if (hashes.length === 0) return { group, findings };
  return {
    group,
    findings,
    message: keyMessage(key, limits, { hashes, refusal: first?.refusal ?? '', usageLabels: dependencies.usageLabels }),
  };
}

interface KeyLimits {
  readonly limitNanoUsd: bigint | undefined;
  readonly expirationMs: bigint | undefined;
}

function readLimits({ spec }: ApiKey, fields: FieldReader): KeyLimits {
  const { limitUsd } = spec.quota;
  expectTimeZone(fields, 'spec.quota.timeZone', timeZoneOf(spec.quota));
  return {
    limitNanoUsd: limitUsd === UNLIMITED ? undefined : fields.decimal('spec.quota.limitUsd', limitUsd),
    expirationMs:
      spec.expirationTime === undefined ? undefined : fields.time('spec.expirationTime', spec.expirationTime),
  };
}

function keyMessage(
  { apiKey, account, material }: GatheredKey,
  { limitNanoUsd, expirationMs }: KeyLimits,
  { hashes, refusal, usageLabels }: Pick<Key, 'hashes' | 'refusal'> & Pick<KeyDependencies, 'usageLabels'>,
): Key {
  const { spec } = apiKey;
  const { uid, namespace, name, generation } = findingsOf(apiKey);
  const quota = quotaMessage(spec.quota, limitNanoUsd);
  return {
    uid,
    namespace,
    name,
    generation: BigInt(generation),
    prefix: material.state === 'Present' ? material.prefix : '',
    enabled: spec.enabled,
    group: spec.groupRef.name,
    account,
    limitNanoUsd: quota.limitNanoUsd,
    expirationMs,
    period: quota.period,
    ...(quota.quota && { quota: quota.quota }),
    whenShort: WHEN_SHORT[spec.quota.whenShort],
    minOutputTokens: spec.quota.minOutputTokens,
    models: spec.models && { names: spec.models },
    maxConcurrency: spec.maxConcurrency,
    rateLimits: spec.rateLimits,
    hashes,
    refusal,
    ...(usageLabels !== '' && { usageLabels }),
  };
}

/** Proxies of earlier versions do not know weeks and time zones: they refuse such a key's calls. */
function quotaMessage(
  quota: ApiKey['spec']['quota'],
  limitNanoUsd: bigint | undefined,
): Pick<Key, 'limitNanoUsd' | 'period' | 'quota'> {
  const { period: name } = quota;
  const timeZone = timeZoneOf(quota);
  const period = PERIODS[name];
  if (name === 'Never' || (name !== 'Weekly' && timeZone === UTC)) return { limitNanoUsd, period };
  return {
    limitNanoUsd: limitNanoUsd === undefined ? undefined : 0n,
    period: Period.NEVER,
    // a key that is refused for its time zone is in the snapshot too
    quota: { nanoUsd: limitNanoUsd, period, timeZone: isTimeZone(timeZone) ? timeZone : UTC },
  };
}

/** The key's hashes without those that belong to a key of higher precedence. */
function hashesInForce({ material }: GatheredKey, { lost }: KeyDependencies): KeyHash[] {
  if (material.state !== 'Present') return [];
  const { sha256, previous } = material;
  return [
    { sha256 },
    ...previous
      .filter((old) => old.sha256 !== sha256)
      .map((old) => ({ sha256: old.sha256, notAfterMs: BigInt(old.notAfterMs) })),
  ].filter((hash) => !lost?.has(hash.sha256));
}

function checkFields({ faults }: FieldReader): Refused[] {
  if (faults.length === 0) return [];
  return [
    {
      reason: 'Invalid',
      message: `${faults.join('; ')}.`,
      refusal: 'its ApiKey has an invalid value.',
    },
  ];
}

/** Findings about models in spec.models that the group lacks. The key works with the others, if there are any. */
function modelFindings(
  { spec }: ApiKey,
  { group }: KeyDependencies,
): Pick<Findings, 'remark' | 'notReady'> | undefined {
  if (!spec.models || !group || group.findings.refused) return undefined;
  const missing = spec.models.filter((name) => !group.models.has(name));
  if (missing.length === 0) return undefined;
  const finding = {
    reason: 'ModelNotFound',
    message:
      `The Group "${spec.groupRef.name}" has no model ${quoteNames(missing)} of spec.models.` +
      suggestNames(missing[0] ?? '', group.models),
  } as const;
  return missing.length === spec.models.length ? { remark: finding, notReady: finding } : { remark: finding };
}

/** Why an accepted key cannot be used now. */
function readinessFinding(
  { apiKey, material }: GatheredKey,
  { expired, mintFailure: failure }: KeyDependencies,
): Findings['notReady'] {
  if (material.state === 'Missing') {
    if (failure === undefined || material.finding.reason !== 'SecretPending') return material.finding;
    return {
      reason: 'SecretPending',
      message: `${material.finding.message} The Secret could not be written: ${failure}. Retrying.`,
    };
  }
  if (!apiKey.spec.enabled) return { reason: 'Disabled', message: 'spec.enabled is false.' };
  if (expired) return { reason: 'Expired', message: `The key expired at ${apiKey.spec.expirationTime}.` };
  if (failure === undefined) return undefined;
  return {
    reason: 'SecretPending',
    message:
      `The new key of rotation ${apiKey.spec.key.rotation} could not be written: ${failure}. Retrying; until ` +
      'then the old key works.',
  };
}

function keyFields(material: KeyMaterial): StatusFields {
  if (material.state !== 'Present') return {};
  const { sha256, prefix, rotation, previous } = material;
  return {
    keyHash: sha256,
    keyPrefix: prefix,
    ...(rotation !== undefined && { keyRotation: rotation }),
    ...(previous.length > 0 && {
      previousKeys: previous.map((old) => ({ keyHash: old.sha256, expirationTime: formatTime(old.notAfterMs) })),
    }),
  };
}
