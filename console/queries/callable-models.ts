/** [P] The models that a key can call now, each with the endpoint that its first call goes to. */
import type { ApiKey } from '#crds/types.gen.ts';
import { ENDPOINTS } from '#web/pricing/model-facts.ts';
import type { Endpoint } from '#web/pricing/model-facts.ts';
import type { ConsoleDeps } from '../route.ts';
import { groupChoices } from './group-choices.ts';
import { modelsBySecond } from './price-lists.ts';

export interface CallableModel {
  readonly model: string;
  readonly endpoint: Endpoint;
  /** Its videos are priced by the second. */
  readonly bySecond: boolean;
}

/** Models that have a price, are served by the key's group, and are on its list; chat models first, then by name. */
export function callableModels(deps: ConsoleDeps, { metadata, spec }: ApiKey): CallableModel[] {
  const { resources, gatewayNamespace, translator } = deps;
  const facts = resources();
  const bySecond = new Set(modelsBySecond(deps));
  const groups = facts.groups.filter(({ metadata: { name } }) => name === spec.groupRef.name);
  const [choice] = groupChoices(groups, facts, {
    namespace: metadata.namespace,
    gatewayNamespace,
    translator,
    current: '',
  });
  const callable = (choice?.models ?? []).filter((model) => spec.models?.includes(model) ?? true);
  const served = Map.groupBy(
    facts.modelRoutes.flatMap((route) => route.spec.models),
    ({ name }) => name,
  );
  return ENDPOINTS.flatMap((endpoint, index) =>
    callable
      .filter((model) => {
        const endpoints = (served.get(model) ?? []).flatMap((each) => each.endpoints);
        return (
          endpoints.includes(endpoint) && !ENDPOINTS.slice(0, index).some((earlier) => endpoints.includes(earlier))
        );
      })
      .map((model) => ({ model, endpoint, bySecond: bySecond.has(model) })),
  );
}
