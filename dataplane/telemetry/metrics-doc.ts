/**
 * docs/metrics.md, from the table of metrics.
 */
import { METRICS } from './metric-table.ts';
import type { MetricRow } from './metric-table.ts';

const HEAD = `# Metrics

Every process serves these at \`/metrics\` on its admin port, in the Prometheus text format. Where OpenTelemetry's conventions for
generative AI name a metric, its name is used, and its buckets with larger ones on top; the gateway's own names begin with
\`modelgateway_\`. Labels hold only what the configuration names: never a key, an account, a path or a model that is not configured.

This page is generated from \`dataplane/telemetry/metric-table.ts\`.
`;

/** The page, as it is kept in docs/. */
export function renderMetricsDoc(): string {
  const rows: [string, MetricRow][] = Object.entries(METRICS);
  const table = rows.map(([name, { type, labels, help }]) => `| \`${name}\` | ${type} | ${code(labels)} | ${help} |`);
  const buckets = rows.flatMap(([name, row]) => (row.buckets ? [`- \`${name}\`: ${row.buckets.join(', ')}`] : []));
  return [HEAD, '| name | type | labels | meaning |', '|---|---|---|---|', ...table, '', '## Buckets', '', ...buckets, ''].join('\n');
}

function code(labels: readonly string[]): string {
  return labels.map((label) => `\`${label}\``).join(', ');
}
