/**
 * [P] Finds models that several ModelRoutes offer with different limits. That is allowed, because routes have different
 * providers, but is mostly a mistake: each call follows the limits of the route that serves it.
 */
import type { ModelRoute, ModelRouteModel } from '#crds/types.gen.ts';
import { imageTokensOf } from './image-tokens.ts';

interface Offered {
  readonly route: ModelRoute;
  readonly model: ModelRouteModel;
}

const LIMITS = ['contextTokens', 'maxOutputTokens', 'imageTokens', 'inputs'] as const;

/** For each route with such models: the models, their other routes, and the limits that apply. */
export function findDifferingLimits(routes: readonly ModelRoute[]): ReadonlyMap<ModelRoute, string> {
  const offers = new Map<string, Offered[]>();
  for (const route of routes)
    for (const model of route.spec.models)
      offers.set(model.name, [...(offers.get(model.name) ?? []), { route, model }]);
  const sentences = new Map<ModelRoute, string[]>();
  for (const offered of offers.values()) {
    if (offered.length === 1) continue;
    for (const one of offered) {
      const found = offered.flatMap((other) => describeDifference(one, other));
      if (found.length > 0) sentences.set(one.route, [...(sentences.get(one.route) ?? []), ...found]);
    }
  }
  return new Map(
    [...sentences].map(([route, found]) => [
      route,
      `${found.join(' ')} Each call uses the limits of the route that serves it.`,
    ]),
  );
}

function describeDifference({ route, model }: Offered, other: Offered): string[] {
  const differing = LIMITS.filter((limit) => textOf(model, limit) !== textOf(other.model, limit));
  if (differing.length === 0) return [];
  const limits = (each: ModelRouteModel): string =>
    differing.map((limit) => `${limit} ${textOf(each, limit)}`).join(', ');
  return [
    `The model "${model.name}" has ${limits(model)} in this ModelRoute ("${route.metadata.name}") and ` +
      `${limits(other.model)} in the ModelRoute "${other.route.metadata.name}".`,
  ];
}

function textOf(model: ModelRouteModel, limit: (typeof LIMITS)[number]): string {
  if (limit === 'inputs') return model.inputs.toSorted().join('+');
  return String(limit === 'imageTokens' ? imageTokensOf(model, []) : (model[limit] ?? 'none'));
}
