/** The probes of a configuration: one for each channel, or for each model of it. */
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { compileRoutes } from '../../dataplane/state/compile-routes.ts';
import type { CompiledChannel, CompiledRoute } from '../../dataplane/state/compile-routes.ts';
import type { ModelState } from '../../dataplane/state/state.ts';

export interface Probe {
  /** "route/channel" */
  readonly channel: string;
  readonly model: ModelState;
  readonly upstreamModel: string;
  readonly target: CompiledChannel['target'];
}

export interface Plan {
  readonly probes: readonly Probe[];
  /** Channels whose models make pictures: one call would cost a whole one. */
  readonly skipped: readonly string[];
}

export interface PlanOptions {
  /** A route, or "route/channel"; absent: all. */
  readonly only?: string | undefined;
  readonly allModels: boolean;
}

export function planProbes({ routes }: Pick<Snapshot, 'routes'>, { only, allModels }: PlanOptions): Plan {
  const probes: Probe[] = [];
  const skipped: string[] = [];
  for (const route of compileRoutes(routes).routes.values())
    for (const channel of route.channels.filter(({ target }) => isWanted(target.id, only))) {
      const found = probesOf(route, channel);
      if (found.length === 0) skipped.push(channel.target.id);
      probes.push(...(allModels ? found : found.slice(0, 1)));
    }
  return { probes, skipped };
}

function isWanted(id: string, only: string | undefined): boolean {
  return only === undefined || id === only || id.startsWith(`${only}/`);
}

function probesOf({ models }: CompiledRoute, { target, renames }: CompiledChannel): readonly Probe[] {
  return models
    .filter(({ endpoints }) => endpoints.has('Chat'))
    .map((model) => ({
      channel: target.id,
      model,
      upstreamModel: renames.get(model.name) ?? model.name,
      target,
    }));
}
