/** When an operator is ready: it has read what it needs, and proxies that connect get a configuration. */
import type { ReadinessCheck } from '../../dataplane/admin/server.ts';
import type { KubernetesOperator } from '../../operator/kubernetes.ts';

export interface Parts {
  readonly operator?: Pick<KubernetesOperator, 'published' | 'problems'>;
  readonly distribution?: object;
}

/** What fails after the start is told by metrics and /config_dump: a replica that serves what it knows is ready. */
export function readinessOf({ operator, distribution }: Parts): readonly ReadinessCheck[] {
  const problems = operator?.problems() ?? [];
  const detail = problems.length > 0 ? problems.join('; ') : 'the objects are still being read';
  return [
    { name: 'xds', ok: distribution !== undefined, detail: 'the certificates are not there yet; the log says why' },
    { name: 'configuration', ok: operator?.published ?? false, detail },
  ];
}
