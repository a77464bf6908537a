/** Readiness of an operator: it has read its objects, and proxies that connect get a configuration. */
import type { ReadinessCheck } from '../../dataplane/admin/server.ts';
import type { ClusterManager } from './manager.ts';
import type { Edge } from './edge.ts';

export interface Parts {
  /** Why the gateway's own key is not available, without which nothing is read. */
  readonly keyProblem?: string;
  readonly manager?: Pick<ClusterManager, 'published' | 'problems'>;
  readonly distribution?: object;
  /** Present if Envoys are configured. */
  readonly edge?: Pick<Edge, 'published' | 'problems'>;
}

/** A replica that serves what it knows is ready. Metrics and /config_dump report what fails after the start. */
export function readinessOf(parts: Parts): readonly ReadinessCheck[] {
  const { manager, distribution, edge } = parts;
  const problems = configurationProblems(parts);
  const detail = problems.length > 0 ? problems.join('; ') : 'the objects are still being read';
  return [
    { name: 'xds', ok: distribution !== undefined, detail: 'the certificates are not ready; see the log' },
    { name: 'configuration', ok: manager?.published ?? false, detail },
    ...(edge ? [edgeCheck(edge)] : []),
  ];
}

function edgeCheck({ published, problems }: NonNullable<Parts['edge']>): ReadinessCheck {
  return {
    name: 'edge',
    ok: published,
    detail: problems().join('; ') || 'the endpoints of the proxies are still being read',
  };
}

/** All problems at the moment, whether or not they affect readiness. */
export function problemsOf(parts: Parts): readonly string[] {
  return [...configurationProblems(parts), ...(parts.edge?.problems() ?? [])];
}

function configurationProblems({ manager, keyProblem }: Parts): readonly string[] {
  if (manager) return manager.problems();
  return keyProblem === undefined ? [] : [keyProblem];
}
