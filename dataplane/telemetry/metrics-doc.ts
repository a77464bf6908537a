/**
 * docs/metrics.md, from the tables of metrics.
 */
import { METRICS } from './metric-table.ts';
import type { MetricRow } from './metric-table.ts';
import { SIDECAR_METRICS } from './sidecar-metric-table.ts';

const HEAD = `# Metrics

Every process serves its own at \`/metrics\` on its admin port, in the Prometheus text format. Where OpenTelemetry's conventions for
generative AI name a metric, its name is used, and its buckets with larger ones on top; the gateway's own names begin with
\`modelgateway_\`. Labels hold only what the configuration names: never a key, an account, a path or a model that is not configured.

This page is generated from \`metric-table.ts\` and \`sidecar-metric-table.ts\` in \`dataplane/telemetry/\`, and from \`operator/metrics.ts\`.
`;
const PROXIES = ['## Proxies', '', '`mgw dataplane` and `mgw run`.', ''];
const CONTROL_PLANE = ['## The operator', '', '`mgw operator`. `docs/kubernetes.md` says what to watch for.', ''];
const SIDECARS = ['## Sidecars', '', '`mgw sidecar`. `docs/sidecar.md` says how pods get one.', ''];
const COLUMNS = ['| name | type | labels | meaning |', '|---|---|---|---|'];

/** As much of a row as the page shows. */
type DocumentedRow = Pick<MetricRow, 'type' | 'labels' | 'help' | 'buckets'>;

/** The page, as it is kept in docs/, with the control plane's table. */
export function renderMetricsDoc(controlPlane: Readonly<Record<string, DocumentedRow>>): string {
  const tables = [METRICS, controlPlane, SIDECAR_METRICS].map((table): [string, DocumentedRow][] => Object.entries(table));
  const [proxies = [], operator = [], sidecars = []] = tables.map((rows) => rows.map(([name, { type, labels, help }]) => `| \`${name}\` | ${type} | ${code(labels)} | ${help} |`));
  const buckets = tables.flat().flatMap(([name, row]) => (row.buckets ? [`- \`${name}\`: ${row.buckets.join(', ')}`] : []));
  return [HEAD, ...PROXIES, ...COLUMNS, ...proxies, '', ...CONTROL_PLANE, ...COLUMNS, ...operator, '', ...SIDECARS, ...COLUMNS, ...sidecars, '', '## Buckets', '', ...buckets, ''].join('\n');
}

function code(labels: readonly string[]): string {
  return labels.map((label) => `\`${label}\``).join(', ');
}
