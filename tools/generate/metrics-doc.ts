/** docs/metrics.md, from the tables that the registries are filled from. */
import type { MetricTable } from '../../dataplane/telemetry/metric-set.ts';
import { METRICS } from '../../dataplane/telemetry/metric-table.ts';
import { SIDECAR_METRICS } from '../../dataplane/telemetry/sidecar-metric-table.ts';
import { OPERATOR_METRICS } from '../../operator/metrics.ts';
import { wrapMarkdown } from './wrap.ts';

const HEAD = `# Metrics

Every process serves its own at \`/metrics\` on its admin port, in the Prometheus text format. Where OpenTelemetry's
conventions for generative AI name a metric, its name is used, and its buckets with larger ones on top; the gateway's
own names begin with \`modelgateway_\`. Labels hold only what the configuration names: never an account, a path or a
model that is not configured, and a key only in \`modelgateway_key_timeouts_total\`, for at most 50 keys.

This page is generated from the tables that the processes create their metrics from: \`metric-table.ts\`,
\`process-metrics.ts\` and \`sidecar-metric-table.ts\` in \`dataplane/telemetry/\`, and \`operator/metrics.ts\`.
`;
const COLUMNS = ['| name | type | labels | meaning |', '|---|---|---|---|'];

/** Returns the page. */
export function metricsText(): string {
  const tables: readonly MetricTable[] = [METRICS, OPERATOR_METRICS, SIDECAR_METRICS];
  const buckets = tables.flatMap((table) => Object.entries(table))
    .flatMap(([name, row]) => (row.buckets ? [`- \`${name}\`: ${row.buckets.join(', ')}`] : []));
  return wrapMarkdown([
    HEAD,
    '## Proxies', '', '`mgw dataplane` and `mgw run`.', '', ...rowsOf(METRICS), '',
    '## The operator', '', '`mgw operator`. `docs/kubernetes.md` says what to watch for.', '',
    ...rowsOf(OPERATOR_METRICS), '',
    '## Sidecars', '', '`mgw sidecar`. `docs/sidecar.md` says how pods get one.', '', ...rowsOf(SIDECAR_METRICS), '',
    '## Buckets', '', ...buckets, '',
  ].join('\n'));
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
