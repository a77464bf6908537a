/** docs/reference/alerts.md, out of the chart's rules. */
import { parse } from 'yaml';

/** A rule as Prometheus reads it. */
interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** How long the expression must hold; absent: once. */
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

const HEAD = `# Alerts

The rules of the chart's PrometheusRule (\`monitoring.prometheusRule.enabled\`), from
\`charts/model-gateway/files/alerts.yaml\`. \`NAMESPACE\` is the namespace of the release. Each alert links to what to do.

| alert | severity | for | means |
|---|---|---|---|
`;

/** The page: a table of all alerts, then the text and the expression of each. `rules`: the YAML of the rules. */
export function alertsText(rules: string): string {
  const alerts = parse(rules) as readonly Alert[];
  const rows = alerts.map(
    ({ alert, labels, annotations, for: during }) =>
      `| [${alert}](../guides/operations.md#${alert.toLowerCase()}) | ${labels.severity} | ${during ?? 'at once'} | ` +
      `${annotations.summary} |\n`,
  );
  return `${HEAD}${rows.join('')}\n${alerts.map(section).join('\n')}`;
}

function section({ alert, expr, annotations }: Alert): string {
  return `## ${alert}\n\n\`${annotations.description}\`\n\n\`\`\`promql\n${expr.trim()}\n\`\`\`\n`;
}
