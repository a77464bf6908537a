/** [P] The translation as the console's pages use it. */
import type { Resources } from '#objects/resources.ts';
import type { Translator } from '#objects/translator.ts';
import { compareName } from './conflicts.ts';
import { translateGroups } from './group.ts';
import type { TranslatedGroup } from './group.ts';
import { translate } from './translate.ts';

export const TRANSLATOR: Translator = { translate, offersOf };

function offersOf(
  { groups, modelRoutes }: Pick<Resources, 'groups' | 'modelRoutes'>,
  gatewayNamespace: string,
): ReadonlyMap<string, TranslatedGroup> {
  const here = <T extends { readonly metadata: { readonly namespace: string } }>(objects: readonly T[]): T[] =>
    objects.filter(({ metadata }) => metadata.namespace === gatewayNamespace);
  // sorted as gather sorts them, so that the memo returns the operator's own translation
  const accepted = here(modelRoutes).sort(compareName);
  const all = translateGroups(here(groups), { accepted, refused: new Set(), refusedGroups: new Set() });
  return new Map(all.map((each) => [each.group.metadata.name, each]));
}
