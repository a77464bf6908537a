/** Readiness of an operator: it has read its objects, and proxies that connect get a configuration. */
import type { ReadinessCheck } from '../../dataplane/admin/server.ts';
import type { ClusterManager } from './manager.ts';
import type { Edge } from './edge.ts';

export interface Parts {
  /** Why the gateway's own key cannot be had, without which nothing is read. */
  readonly keyProblem?: string;
  readonly manager?: Pick<ClusterManager, 'published' | 'problems'>;
  readonly distribution?: object;
  /** Where Envoys are to be configured. */
  readonly edge?: Pick<Edge, 'published' | 'problems'>;
}

/** What fails after the start is told by metrics and /config_dump: a replica that serves what it knows is ready. */
export function readinessOf(parts: Parts): readonly ReadinessCheck[] {
  const { manager, distribution, edge } = parts;
  const problems = configurationProblems(parts);
  const detail = problems.length > 0 ? problems.join('; ') : 'the objects are still being read';
  return [
    { name: 'xds', ok: distribution !== undefined, detail: 'the certificates are not there yet; the log says why' },
    { name: 'configuration', ok: manager?.published ?? false, detail },
    ...edge ? [edgeCheck(edge)] : [],
  ];
}

function edgeCheck({ published, problems }: NonNullable<Parts['edge']>): ReadinessCheck {
  return { name: 'edge', ok: published, detail: problems().join('; ') ||
    'the endpoints of the proxies are still being read' };
}

/** All that cannot be had at the moment, ready or not. */
export function problemsOf(parts: Parts): readonly string[] {
  return [...configurationProblems(parts), ...parts.edge?.problems() ?? []];
}

function configurationProblems({ manager, keyProblem }: Parts): readonly string[] {
  if (manager) return manager.problems();
  return keyProblem === undefined ? [] : [keyProblem];
}
