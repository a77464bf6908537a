/** What a key's form is made from besides the key: the groups and accounts that can be chosen, as far as the person may see them. */
import type { Account } from '#crds/types.gen.ts';
import type { Visit } from '../route.ts';
import { groupChoices } from '../views/group-choices.ts';
import type { GroupChoice } from '../views/group-choices.ts';

/** undefined: the person may not see groups. `current` is the group that the key has. */
export async function groupsOfNamespace({ person, deps }: Visit, namespace: string, current: string): Promise<GroupChoice[] | undefined> {
  const { allowed, objects } = await person.list('Group');
  return allowed ? groupChoices(objects, deps.resources(), { namespace, gatewayNamespace: deps.gatewayNamespace, current }) : undefined;
}

/** Those of the namespace that belong to this gateway, by name; undefined: the person may not see any. */
export async function accountsOfNamespace({ person, deps }: Visit, namespace: string): Promise<Account[] | undefined> {
  const { allowed, objects } = await person.list('Account');
  if (!allowed) return undefined;
  return objects.filter(({ metadata, spec }) => metadata.namespace === namespace && spec.gatewayNamespace === deps.gatewayNamespace)
    .sort((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
}
