/** [P] The checks by which an ApiKey is refused, each with a message for its owner and one for callers. */
import type { ReasonOf } from '#crds/conditions.ts';
import type { Group } from '#crds/types.gen.ts';
import type { Finding } from '../status/findings.ts';
import { namespacedName } from '#objects/resources.ts';
import type { TranslatedGroup } from './group.ts';
import type { GatheredKey } from './key-material.ts';

/** Everything that a key's translation depends on besides the key itself. */
export interface KeyDependencies {
  readonly group: TranslatedGroup | undefined;
  /** True if the group is invalid by the current schema. */
  readonly groupMalformed: boolean;
  /** True if the group admits the key's namespace. */
  readonly admitted: boolean;
  readonly account: 'Accepted' | 'NotAccepted' | 'OtherGateway' | 'NotFound';
  /** Hashes that belong to keys of higher precedence, with these keys. */
  readonly lost: ReadonlyMap<string, GatheredKey> | undefined;
  /** Sentences that suggest names similar to a missing group or account. */
  readonly suggestedGroups: string;
  readonly suggestedAccounts: string;
  readonly expired: boolean;
  readonly mintFailure: string | undefined;
  /** "name=value,name=value" for usage records; empty: none. */
  readonly usageLabels: string;
}

/** `message` is for the ApiKey's owner, `refusal` for callers with the key. */
export interface Refused extends Finding<ReasonOf<'Accepted'>> {
  readonly refusal: string;
}

type Check = (key: GatheredKey, dependencies: KeyDependencies) => Refused | undefined;

const CHECKS: readonly Check[] = [checkStrength, checkConflict, checkGroup, checkAccount];

/** Runs all checks. The first refusal gives the reason; the message joins those of all refusals. */
export function checkKey(key: GatheredKey, dependencies: KeyDependencies): Refused[] {
  return CHECKS.flatMap((check) => check(key, dependencies) ?? []);
}

function checkStrength({ material }: GatheredKey): Refused | undefined {
  if (material.state !== 'Weak') return undefined;
  return { reason: 'WeakKey', message: material.message, refusal: 'it is too weak.' };
}

/** Does not tell a caller the winner's name, because the winner may be another tenant's. */
function checkConflict({ material }: GatheredKey, { lost }: KeyDependencies): Refused | undefined {
  const winner = material.state === 'Present' ? lost?.get(material.sha256) : undefined;
  if (!winner) return undefined;
  return {
    reason: 'Conflicted',
    message:
      `The ApiKey ${namespacedName(winner.metadata)} has the same key and takes precedence (the older object, ` +
      'then by name). Use another key.',
    refusal: 'another ApiKey has the same key.',
  };
}

function checkGroup(
  { apiKey }: GatheredKey,
  { group, groupMalformed, admitted, suggestedGroups }: KeyDependencies,
): Refused | undefined {
  const { name } = apiKey.spec.groupRef;
  const { namespace } = apiKey.metadata;
  if (!group && !groupMalformed)
    return {
      reason: 'GroupNotFound',
      message: `The Group "${name}" does not exist.${suggestedGroups}`,
      refusal: `its group "${name}" does not exist. The owner of the key can choose another group.`,
    };
  if (!group) return groupNotAccepted(name);
  if (!admitted)
    return {
      reason: 'NamespaceNotAllowed',
      message:
        `The Group "${name}" does not allow ApiKeys of the namespace ` +
        `"${namespace}"${describeAdmission(group.group)}.`,
      refusal: `its group "${group.group.spec.displayName ?? name}" does not allow the namespace "${namespace}".`,
    };
  return group.findings.refused ? groupNotAccepted(name, group.group.spec.displayName) : undefined;
}

function groupNotAccepted(name: string, displayName = name): Refused {
  return {
    reason: 'GroupNotAccepted',
    message: `The Group "${name}" is not Accepted.`,
    refusal: `its group "${displayName}" is not accepted.`,
  };
}

function describeAdmission({ spec }: Group): string {
  return spec.allowedNamespaces.from === 'Same'
    ? '; its allowedNamespaces is Same, which is the namespace of the gateway only'
    : '; its allowedNamespaces does not select it';
}

function checkAccount({ apiKey }: GatheredKey, { account, suggestedAccounts }: KeyDependencies): Refused | undefined {
  const { name } = apiKey.spec.accountRef;
  switch (account) {
    case 'Accepted':
      return undefined;
    case 'NotAccepted':
      return {
        reason: 'AccountNotAccepted',
        message: `The Account "${name}" is not Accepted.`,
        refusal: `its account "${name}" is not accepted.`,
      };
    case 'OtherGateway':
      return {
        reason: 'OtherGateway',
        message: `The Account "${name}" belongs to another gateway; see its gatewayNamespace.`,
        refusal: `its account "${name}" belongs to another gateway.`,
      };
    case 'NotFound':
      return {
        reason: 'AccountNotFound',
        message:
          `The Account "${name}" does not exist in the namespace "${apiKey.metadata.namespace}".` + suggestedAccounts,
        refusal: `its account "${name}" does not exist. The owner of the key can create it.`,
      };
  }
}
