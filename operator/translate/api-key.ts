/**
 * [P] ApiKey → who may call what, and with whose money. First the checks, each a named function that says what is wrong or
 * nothing; a key that fails one stays in the snapshot with the reason, so that its holder is told why.
 */
import type { ApiKey, Group } from '#crds/types.gen.ts';
import { Period, WhenShort } from '#snapshot/snapshot.gen.ts';
import type { Key, KeyHash } from '#snapshot/snapshot.gen.ts';
import type { ReasonOf } from '#crds/conditions.ts';
import { findingsOf } from '../status/findings.ts';
import type { Finding, Findings, StatusFields } from '../status/findings.ts';
import { formatTime } from '../status/conditions.ts';
import { accountIdOf, namespacedName } from '../store/resources.ts';
import type { Labels } from '../store/resources.ts';
import type { TranslatedGroup } from './group.ts';
import type { KeyMaterial } from './key-material.ts';
import { admitsNamespace } from './references.ts';
import { FieldReader } from './translated.ts';
import type { Translated } from './translated.ts';
import { listNames } from './words.ts';

const PERIODS = { Never: Period.NEVER, Daily: Period.DAILY, Monthly: Period.MONTHLY } as const;
const WHEN_SHORT = { Lower: WhenShort.LOWER, Refuse: WhenShort.REFUSE } as const;
const UNLIMITED = 'Unlimited';

/** An ApiKey with what its Secret holds. */
export interface GatheredKey {
  readonly metadata: ApiKey['metadata'];
  readonly apiKey: ApiKey;
  readonly material: KeyMaterial;
  /** What it came to last, and under which circumstances. */
  translated?: { readonly in: Circumstances; readonly key: TranslatedKey };
}

/** All that a plain key's translation depends on besides itself. */
export interface Circumstances {
  readonly group: Group | undefined;
  readonly groupRefused: boolean;
  readonly groupMalformed: boolean;
  readonly account: boolean | undefined;
  readonly foreign: boolean;
  readonly expired: boolean;
}

/** A key with its group's name, by which it is counted. */
export interface TranslatedKey extends Translated<Key> {
  readonly group: string;
}

export interface KeyContext {
  readonly nowMs: number;
  readonly namespaces: ReadonlyMap<string, Labels>;
  readonly groups: ReadonlyMap<string, TranslatedGroup>;
  /** Names of groups that today's schema refuses. */
  readonly refusedGroups: ReadonlySet<string>;
  /** By "namespace/name"; true: Accepted. */
  readonly accounts: ReadonlyMap<string, boolean>;
  /** Accounts that belong to another gateway, by "namespace/name". */
  readonly foreignAccounts: ReadonlySet<string>;
  /** What more senior keys claimed of each key's hashes. */
  readonly losses: ReadonlyMap<GatheredKey, ReadonlyMap<string, GatheredKey>>;
  /** Why a key could not be made, by "namespace/name". */
  readonly mintFailures: ReadonlyMap<string, string>;
}

/** `message` is for the ApiKey's owner, `refusal` for whoever calls with the key. */
interface Refused extends Finding<ReasonOf<'Accepted'>> {
  readonly refusal: string;
}

type Check = (key: GatheredKey, context: KeyContext) => Refused | undefined;

/** In the order in which they decide the reason; the message has what all of them say. */
const CHECKS: readonly Check[] = [checkStrength, checkConflict, checkGroup, checkAccount];

const NO_HASHES: readonly string[] = [];

/** The hashes that a key claims, the one in force first. */
export function claimedHashes({ material }: GatheredKey): readonly string[] {
  if (material.state !== 'Present') return NO_HASHES;
  return material.previous.length === 0 ? [material.sha256] : [material.sha256, ...material.previous.map(({ sha256 }) => sha256)];
}

/** One key and everything that is to be said of it. Ten thousand are translated at a start, nearly all of them with nothing to say. */
export function translateKey(key: GatheredKey, context: KeyContext): TranslatedKey {
  const fields = new FieldReader();
  const limits = readLimits(key.apiKey, fields);
  const refusals = refusalsOf(key, fields, context);
  const hashes = hashesInForce(key, context);
  const group = key.apiKey.spec.groupRef.name;
  const findings: Mutable<Findings> = findingsOf(key.apiKey);
  findings.fields = keyFields(key.material);
  findings.published = hashes.length > 0;
  const [first] = refusals;
  if (first) findings.refused = { reason: first.reason, message: refusals.map(({ message }) => message).join(' ') };
  const [onModels, onReadiness] = [sayModels(key.apiKey, context), sayReadiness(key, limits, context)];
  if (onModels) Object.assign(findings, onModels);
  if (onReadiness) findings.notReady = onReadiness;
  if (hashes.length === 0) return { group, findings };
  return { group, findings, message: keyMessage(key, limits, { hashes, refusal: first?.refusal ?? '' }) };
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

function refusalsOf(key: GatheredKey, fields: FieldReader, context: KeyContext): readonly Refused[] {
  const refusals = checkFields(fields);
  for (const check of CHECKS) {
    const refused = check(key, context);
    if (refused) refusals.push(refused);
  }
  return refusals;
}

interface KeyLimits {
  readonly limitNanoUsd: bigint | undefined;
  readonly expirationMs: bigint | undefined;
}

function readLimits({ spec }: ApiKey, fields: FieldReader): KeyLimits {
  const { limitUsd } = spec.quota;
  return {
    limitNanoUsd: limitUsd === UNLIMITED ? undefined : fields.decimal('spec.quota.limitUsd', limitUsd),
    expirationMs: spec.expirationTime === undefined ? undefined : fields.time('spec.expirationTime', spec.expirationTime),
  };
}

function keyMessage({ apiKey, material }: GatheredKey, { limitNanoUsd, expirationMs }: KeyLimits, { hashes, refusal }: Pick<Key, 'hashes' | 'refusal'>): Key {
  const { spec } = apiKey;
  const { uid, namespace, name, generation } = findingsOf(apiKey);
  return {
    uid,
    namespace,
    name,
    generation: BigInt(generation),
    prefix: material.state === 'Present' ? material.prefix : '',
    enabled: spec.enabled,
    group: spec.groupRef.name,
    account: accountIdOf(apiKey),
    limitNanoUsd,
    expirationMs,
    period: PERIODS[spec.quota.period],
    whenShort: WHEN_SHORT[spec.quota.whenShort],
    models: spec.models && { names: spec.models },
    maxConcurrency: spec.maxConcurrency,
    hashes,
    refusal,
  };
}

/** All hashes of the key that nobody more senior has. */
function hashesInForce(key: GatheredKey, { losses }: KeyContext): KeyHash[] {
  if (key.material.state !== 'Present') return [];
  const { sha256, previous } = key.material;
  const lost = losses.get(key);
  if (previous.length === 0 && !lost) return [{ sha256 }];
  return [
    { sha256 },
    ...previous.filter((old) => old.sha256 !== sha256).map((old) => ({ sha256: old.sha256, notAfterMs: BigInt(old.notAfterMs) })),
  ].filter((hash) => !lost?.has(hash.sha256));
}

function checkFields({ faults }: FieldReader): Refused[] {
  if (faults.length === 0) return [];
  return [{ reason: 'Invalid', message: `${faults.join('; ')}.`, refusal: 'its ApiKey has a value that is not valid.' }];
}

function checkStrength({ material }: GatheredKey): Refused | undefined {
  if (material.state !== 'Weak') return undefined;
  return { reason: 'WeakKey', message: material.message, refusal: 'it is too weak.' };
}

/** The winner may be another tenant's, so a caller is not told its name. */
function checkConflict(key: GatheredKey, { losses }: KeyContext): Refused | undefined {
  const winner = key.material.state === 'Present' ? losses.get(key)?.get(key.material.sha256) : undefined;
  if (!winner) return undefined;
  return {
    reason: 'Conflicted',
    message: `The ApiKey ${namespacedName(winner.metadata)} has the same key and goes before this one (the older first, then by name). Give this one a key of its own.`,
    refusal: 'another ApiKey has the same key.',
  };
}

function checkGroup({ apiKey }: GatheredKey, { groups, namespaces, refusedGroups }: KeyContext): Refused | undefined {
  const { name } = apiKey.spec.groupRef;
  const { namespace } = apiKey.metadata;
  const group = groups.get(name);
  if (!group && !refusedGroups.has(name))
    return { reason: 'GroupNotFound', message: `The Group "${name}" does not exist.`, refusal: `its group "${name}" does not exist. Whoever manages this key can name another one.` };
  if (!group) return groupNotAccepted(name);
  if (!admitsNamespace(group.group, namespace, namespaces))
    return { reason: 'NamespaceNotAllowed', message: `The Group "${name}" does not admit ApiKeys of the namespace "${namespace}"${howAdmitted(group.group)}.`, refusal: `its group "${name}" does not admit the namespace "${namespace}".` };
  return group.findings.refused ? groupNotAccepted(name) : undefined;
}

function groupNotAccepted(name: string): Refused {
  return { reason: 'GroupNotAccepted', message: `The Group "${name}" is not Accepted itself.`, refusal: `its group "${name}" is not in force.` };
}

function howAdmitted({ spec }: Group): string {
  return spec.allowedNamespaces.from === 'Same' ? '; its allowedNamespaces is Same, the gateway\'s own namespace only' : '; its allowedNamespaces selects others';
}

function checkAccount({ apiKey }: GatheredKey, { accounts, foreignAccounts }: KeyContext): Refused | undefined {
  const { name } = apiKey.spec.accountRef;
  const { namespace } = apiKey.metadata;
  const id = accountIdOf(apiKey);
  const accepted = accounts.get(id);
  if (accepted) return undefined;
  if (accepted === false)
    return { reason: 'AccountNotAccepted', message: `The Account "${name}" is not Accepted itself.`, refusal: `its account "${name}" is not in force.` };
  if (foreignAccounts.has(id))
    return { reason: 'OtherGateway', message: `The Account "${name}" belongs to another gateway; its gatewayNamespace says which.`, refusal: `its account "${name}" belongs to another gateway.` };
  return { reason: 'AccountNotFound', message: `The Account "${name}" does not exist in the namespace "${namespace}".`, refusal: `its account "${name}" does not exist. Whoever manages this key can create it.` };
}

/** Models of the key's own list that its group does not have: it works with the others, if there are any. */
function sayModels({ spec }: ApiKey, { groups }: KeyContext): Pick<Findings, 'remark' | 'notReady'> | undefined {
  const group = groups.get(spec.groupRef.name);
  if (!spec.models || !group || group.findings.refused) return undefined;
  const missing = spec.models.filter((name) => !group.models.has(name));
  if (missing.length === 0) return undefined;
  const finding = { reason: 'ModelNotFound', message: `The Group "${spec.groupRef.name}" has no model ${listNames(missing)}, which spec.models names.` } as const;
  return missing.length === spec.models.length ? { remark: finding, notReady: finding } : { remark: finding };
}

/** Why a key that may be used cannot be used now. */
function sayReadiness({ apiKey, material }: GatheredKey, { expirationMs }: KeyLimits, context: KeyContext): Findings['notReady'] {
  const failure = context.mintFailures.get(namespacedName(apiKey.metadata));
  if (material.state === 'Missing') {
    if (failure === undefined || material.finding.reason !== 'SecretPending') return material.finding;
    return { reason: 'SecretPending', message: `${material.finding.message} It could not be written: ${failure}. It is tried again.` };
  }
  if (!apiKey.spec.enabled) return { reason: 'Disabled', message: 'spec.enabled is false.' };
  if (expirationMs !== undefined && expirationMs <= BigInt(context.nowMs))
    return { reason: 'Expired', message: `The key expired at ${apiKey.spec.expirationTime}.` };
  if (failure === undefined) return undefined;
  return { reason: 'SecretPending', message: `The new key of rotation ${apiKey.spec.key.rotation} could not be written: ${failure}. It is tried again; until then the old key works.` };
}

function keyFields(material: KeyMaterial): StatusFields {
  if (material.state !== 'Present') return {};
  const { sha256, prefix, rotation, previous } = material;
  const fields: Mutable<StatusFields> = { keyHash: sha256, keyPrefix: prefix };
  if (rotation !== undefined) fields.keyRotation = rotation;
  if (previous.length > 0) fields.previousKeys = previous.map((old) => ({ keyHash: old.sha256, expirationTime: formatTime(old.notAfterMs) }));
  return fields;
}
