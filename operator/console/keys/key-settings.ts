/** What a key's form is made from besides the key: the groups that can be chosen, and the accounts as far as the person may see them. */
import type { Account } from '#crds/types.gen.ts';
import type { Visit } from '../route.ts';
import { groupChoices } from '../views/group-choices.ts';
import type { GroupChoice } from '../views/group-choices.ts';

/**
 * For who may see or create keys of the namespace. Names, ratios and models of groups are public, as the price page has them, so no
 * right to Group objects is asked for. `current` is the group that the key has.
 */
export function groupsOfNamespace({ deps }: Visit, namespace: string, current: string): GroupChoice[] {
  const facts = deps.resources();
  return groupChoices(facts.groups, facts, { namespace, gatewayNamespace: deps.gatewayNamespace, current });
}

/** Those of the namespace that belong to this gateway, by name; undefined: the person may not see any. */
export async function accountsOfNamespace({ person, deps }: Visit, namespace: string): Promise<Account[] | undefined> {
  const { allowed, objects } = await person.list('Account');
  if (!allowed) return undefined;
  return objects.filter(({ metadata, spec }) => metadata.namespace === namespace && spec.gatewayNamespace === deps.gatewayNamespace)
    .sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
}
