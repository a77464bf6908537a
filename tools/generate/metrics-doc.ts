/** docs/reference/metrics.md, from the tables that the registries are filled from. */
import type { MetricTable } from '../../dataplane/telemetry/metric-set.ts';
import { METRICS } from '../../dataplane/telemetry/metric-table.ts';
import { SIDECAR_METRICS } from '../../dataplane/telemetry/sidecar-metric-table.ts';
import { OPERATOR_METRICS } from '../../operator/metrics.ts';

const HEAD = `# Metrics

Every process serves its own metrics at \`/metrics\` on its admin port, in the Prometheus text format. If the
OpenTelemetry conventions for generative AI define a metric, its name and its buckets are used, and larger ones are
added; the gateway's own names begin with \`modelgateway_\`. The values of labels are bounded: no account, no path and
no model that is not configured, and keys only in \`modelgateway_key_timeouts_total\`, at most 50 of them. A proxy drops
the series of models, groups and channels that its configuration no longer has; one that comes back starts at 0.

This page is generated from the tables that the processes create their metrics from: \`metric-table.ts\`,
\`process-metrics.ts\` and \`sidecar-metric-table.ts\` in \`dataplane/telemetry/\`, and \`operator/metrics.ts\`.
`;
const COLUMNS = ['| name | type | labels | meaning |', '|---|---|---|---|'];

/** Returns the page. */
export function metricsText(): string {
  const tables: readonly MetricTable[] = [METRICS, OPERATOR_METRICS, SIDECAR_METRICS];
  const buckets = tables
    .flatMap((table) => Object.entries(table))
    .flatMap(([name, row]) => (row.buckets ? [`- \`${name}\`: ${row.buckets.join(', ')}`] : []));
  return [
    HEAD,
    '## Proxies',
    '',
    '`mgw dataplane` and `mgw run`.',
    '',
    ...rowsOf(METRICS),
    '',
    '## The operator',
    '',
    '`mgw operator`. [On Kubernetes](../guides/kubernetes.md#running-it) says which values to watch for.',
    '',
    ...rowsOf(OPERATOR_METRICS),
    '',
    '## Sidecars',
    '',
    '`mgw sidecar`. [Sidecars](../guides/sidecar.md) describes how pods get one.',
    '',
    ...rowsOf(SIDECAR_METRICS),
    '',
    '## Buckets',
    '',
    ...buckets,
    '',
  ].join('\n');
}

function rowsOf(table: MetricTable): string[] {
  const rows = Object.entries(table).map(([name, { type, labels, help }]) => {
    return `| \`${name}\` | ${type} | ${code(labels)} | ${help} |`;
  });
  return [...COLUMNS, ...rows];
}

function code(labels: readonly string[]): string {
  return labels.map((label) => `\`${label}\``).join(', ');
}
