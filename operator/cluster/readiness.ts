/** Readiness of an operator: it has read its objects, and proxies that connect get a configuration. */
import type { ReadinessCheck } from '../../dataplane/admin/server.ts';
import type { ClusterManager } from './manager.ts';
import type { Edge } from './edge.ts';

export interface Parts {
  readonly manager?: Pick<ClusterManager, 'published' | 'problems'>;
  readonly distribution?: object;
  /** Where Envoys are to be configured. */
  readonly edge?: Pick<Edge, 'published' | 'problems'>;
}

/** What fails after the start is told by metrics and /config_dump: a replica that serves what it knows is ready. */
export function readinessOf({ manager, distribution, edge }: Parts): readonly ReadinessCheck[] {
  const problems = manager?.problems() ?? [];
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
export function problemsOf({ manager, edge }: Parts): readonly string[] {
  return [...manager?.problems() ?? [], ...edge?.problems() ?? []];
}
