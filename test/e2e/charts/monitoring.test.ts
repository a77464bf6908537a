/** Alerts and dashboards use only metrics and labels that the gateway has. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'vitest';
import { parse } from 'yaml';
import { METRICS } from '../../../dataplane/telemetry/metric-table.ts';
import { OPERATOR_METRICS } from '../../../operator/metrics.ts';
import { CHART, ROOT } from './situations.ts';

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Metric {
  readonly type: string;
  readonly labels: readonly string[];
}

const METRICS_BY_NAME: Readonly<Record<string, Metric>> = { ...METRICS, ...OPERATOR_METRICS };
/** The labels that Prometheus adds to each series. */
const TARGET_LABELS = ['namespace', 'pod', 'le'];

const alerts = parse(await readFile(join(CHART, 'files/alerts.yaml'), 'utf8')) as Alert[];
const dashboard = JSON.parse(await readFile(join(CHART, 'files/dashboards/model-gateway.json'), 'utf8')) as {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
};

/** Resolves a name in PromQL: a histogram's series have suffixes. */
function metricOf(name: string): Metric | undefined {
  const whole = METRICS_BY_NAME[name];
  if (whole !== undefined) return whole.type === 'histogram' ? undefined : whole;
  const histogram = METRICS_BY_NAME[name.replace(/_(?:bucket|sum|count)$/, '')];
  return histogram?.type === 'histogram' ? histogram : undefined;
}

/** Returns what is wrong with an expression; the labels that it groups by must be those of each metric in it. */
function wrongIn(expr: string): string[] {
  const bare = expr.replace(/"[^"]*"/g, '""');
  const balanced = ['()', '{}', '[]'].every(
    ([open = '', close = '']) => bare.split(open).length === bare.split(close).length,
  );
  const grouped = [...bare.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  const series = [...bare.matchAll(/\b((?:modelgateway|gen_ai|process|nodejs)_\w+)(\{[^}]*\})?/g)].filter(
    ([name]) => !grouped.includes(name),
  );
  const wrong = series.flatMap(([, name = '', selector = '{}']) => {
    const metric = metricOf(name);
    if (metric === undefined) return [`there is no metric ${name}`];
    const named = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label);
    const without = named.includes('namespace') ? [] : [`${name} is not narrowed to one gateway's namespace`];
    return [
      ...without,
      ...[...named, ...grouped]
        .filter((label) => ![...metric.labels, ...TARGET_LABELS].includes(label))
        .map((label) => `${name} has no label ${label}`),
    ];
  });
  return [
    ...(balanced ? [] : ['brackets do not match']),
    ...(series.length === 0 ? ['it names no metric'] : []),
    ...wrong,
  ];
}

/** The labels that a text shows. */
function shownLabels(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, label = '']) => label);
}

for (const { alert, expr, annotations, labels } of alerts)
  it(`the alert ${alert}`, () => {
    assert.deepEqual(wrongIn(expr), []);
    assert.match(alert, /^ModelGateway[A-Z][A-Za-z]+$/);
    assert.match(labels.severity, /^(?:warning|critical)$/);
    const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */));
    const aggregates = /\b(?:sum|max|absent)\b/.test(expr);
    for (const label of shownLabels(annotations.description, /\$labels\.(\w+)/g))
      assert.ok(aggregates ? kept.includes(label) : TARGET_LABELS.includes(label), `${label} is not in the result`);
  });

for (const { title, targets } of dashboard.panels)
  for (const { expr, legendFormat } of targets ?? [])
    it(`the panel ${title}: ${legendFormat || 'its figure'}`, () => {
      assert.deepEqual(wrongIn(expr), []);
      const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */));
      for (const label of shownLabels(legendFormat, /\{\{(\w+)\}\}/g))
        assert.ok(kept.includes(label) || TARGET_LABELS.includes(label), `${label} is not in the result`);
    });

it('the recording rules use the metrics that kube-state-metrics makes of the statuses', async () => {
  const rules = parse(await readFile(join(CHART, 'files/recording-rules.yaml'), 'utf8')) as Record<
    'record' | 'expr',
    string
  >[];
  const example = parse(await readFile(join(ROOT, 'docs/examples/monitoring/kube-state-metrics.yaml'), 'utf8'));
  const [{ metricNamePrefix, labelsFromPath, metrics }] = example.spec.resources;
  const names = metrics.map(({ name }: { name: string }) => `${metricNamePrefix}_${name}`);
  const statusOf = parse(await readFile(join(ROOT, 'crds/account.yaml'), 'utf8')).spec.versions[0].schema
    .openAPIV3Schema.properties.status.properties;
  for (const { each } of metrics) assert.ok(each.gauge.path[1] in statusOf, each.gauge.path);
  for (const { record, expr } of rules) {
    const [metric = ''] = expr.match(/\bmodelgateway_\w+/) ?? [];
    assert.ok(names.includes(metric), `${record}: ${metric}`);
    assert.match(expr, /\{gateway_namespace="NAMESPACE"\}/);
    for (const [, list = ''] of expr.matchAll(/by \(([^)]*)\)/g))
      for (const label of list.split(', ')) assert.ok(label in labelsFromPath, label);
  }
});

it('the check finds wrong expressions', () => {
  assert.deepEqual(wrongIn('sum(modelgateway_request_total{namespace="a"})'), [
    'there is no metric modelgateway_request_total',
  ]);
  assert.deepEqual(wrongIn('modelgateway_holds{namespace="a",scope="Key"}'), ['modelgateway_holds has no label scope']);
  assert.deepEqual(wrongIn('sum by (pods) (modelgateway_holds{namespace="a"})'), [
    'modelgateway_holds has no label pods',
  ]);
  assert.deepEqual(wrongIn('gen_ai_client_token_usage{namespace="a"}'), [
    'there is no metric gen_ai_client_token_usage',
  ]);
  assert.deepEqual(wrongIn('sum(modelgateway_holds'), [
    'brackets do not match',
    "modelgateway_holds is not narrowed to one gateway's namespace",
  ]);
});
