/** The rendered charts: golden files, one per situation, rewritten by GOLDEN=write; helm lint; refused values. */
import assert from 'node:assert/strict';
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import { needHelm, renderedObjects, runHelm } from '../../support/helm.ts';
import { readValues } from '../../../tools/generate/helm-values.ts';
import type { HelmValue } from '../../../tools/generate/helm-values.ts';
import {
  CHART,
  CRDS_CHART,
  NAMESPACE,
  ROOT,
  TESTDATA,
  podTemplates,
  readSituations,
  renderAll,
  renderText,
} from './situations.ts';
import type { Situation } from './situations.ts';

const helm = await needHelm();
const situations = await readSituations();

/** Only the relevant part; generated passwords and certificates are masked. */
function shown(text: string, { only }: Situation): string {
  const made = /(\n {2}(?:password|ca\.crt|tls\.crt|tls\.key): )[A-Za-z0-9+/=]{56,}(?=\n)/g;
  const parts = text
    .replace(made, '$1MADE')
    .split(/^---\n/m)
    .filter(
      (part) =>
        part.trim() !== '' &&
        (only.length === 0 || only.some((name) => part.startsWith(`# Source: model-gateway/templates/${name}.yaml\n`))),
    );
  return parts.map((part) => `---\n${part.replace(/[ \t]+$/gm, '')}`).join('');
}

describe.skipIf(helm.skip)('charts/model-gateway', () => {
  for (const situation of situations)
    it(`renders ${situation.name}`, async () => {
      const text = shown(await renderText(helm, situation), situation);
      for (const name of situation.only) assert.ok(text.includes(`templates/${name}.yaml`), `nothing of ${name}`);
      const path = join(TESTDATA, `${situation.name}.out.yaml`);
      if (process.env['GOLDEN'] === 'write') await writeFile(path, text);
      assert.equal(
        text,
        await readFile(path, 'utf8').catch(() => ''),
        `${situation.name}.out.yaml differs: GOLDEN=write rewrites it`,
      );
    });

  it('passes helm lint in every situation', async () => {
    await runHelm(helm, 'lint', '--strict', CRDS_CHART);
    await Promise.all(
      situations.map(({ valuesFile }) =>
        runHelm(helm, 'lint', '--strict', '--kube-version', '1.36.0', CHART, '--values', valuesFile),
      ),
    );
  });

  it('lets a stream end before its pod does', async () => {
    for (const situation of situations) {
      const values = parse(await readFile(situation.valuesFile, 'utf8')) as {
        dataplane?: { longestStreamSeconds?: number };
      } | null;
      const pod = podTemplates(await renderAll(helm, situation)).find(
        ({ template }) => template.spec.containers[0].name === 'dataplane',
      )?.template.spec;
      const args: readonly string[] = pod.containers[0].args;
      const pauseSeconds = args.includes('--drain-delay') ? Number(args[args.indexOf('--drain-delay') + 1]) : 0;
      assert.ok(
        pod.terminationGracePeriodSeconds > (values?.dataplane?.longestStreamSeconds ?? 900) + pauseSeconds,
        situation.name,
      );
    }
  });

  it('names in probes and hooks only ports of the same container, where the kubelet looks for them', async () => {
    for (const situation of situations)
      for (const { owner, template } of podTemplates(await renderAll(helm, situation)))
        for (const container of template.spec.containers) {
          const { ports = [], readinessProbe, livenessProbe, startupProbe, lifecycle } = container;
          const own = ports.map(({ name }: { name: string }) => name);
          for (const hook of [readinessProbe, livenessProbe, startupProbe, lifecycle?.preStop]) {
            const port = hook?.httpGet?.port ?? hook?.tcpSocket?.port ?? 0;
            assert.ok(typeof port === 'number' || own.includes(port), `${situation.name} ${owner}: ${port}`);
          }
        }
  });

  it('opens the ports of metrics to its own namespace, or to chosen peers only, and never to every namespace', async () => {
    const chosen = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
    for (const [settings, peer] of [
      [[], { podSelector: {} }],
      [['--set-json', `networkPolicy.metrics=[${JSON.stringify(chosen)}]`], chosen],
    ] as const) {
      const text = await runHelm(helm, 'template', 'gateway', CHART, '--namespace', NAMESPACE, ...settings);
      const rules = renderedObjects(text)
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .flatMap(({ metadata, spec }) =>
          (spec.ingress ?? []).map((rule: { readonly from?: readonly unknown[] }) => ({
            name: metadata.name,
            ...rule,
          })),
        )
        .filter(({ ports }) => ports === undefined || ports.some(({ port }: { port: unknown }) => port === 'admin'));
      assert.ok(rules.length >= 2);
      for (const { name, from } of rules) {
        assert.deepEqual(from[0], peer, name);
        for (const each of from)
          assert.ok(each.namespaceSelector === undefined || each === from[0], `${name}: ${JSON.stringify(each)}`);
      }
    }
  });

  it('has Valkey refuse writes at three quarters of its memory limit, however that is written', async () => {
    for (const [memory, bytes] of [
      ['"2Gi"', 1_610_612_736],
      ['"1.5Gi"', 1_207_959_552],
      ['"512M"', 384_000_000],
      ['2147483648', 1_610_612_736],
      ['"2e9"', 1_500_000_000],
    ] as const) {
      const objects = renderedObjects(
        await runHelm(helm, 'template', 'gw', CHART, '--set-json', `valkey.resources.limits={"memory": ${memory}}`),
      );
      const [valkey] = objects.filter(({ kind }) => kind === 'StatefulSet');
      const { args } = valkey?.spec.template.spec.containers[0] ?? {};
      assert.equal(args[args.indexOf('--maxmemory') + 1], String(bytes), memory);
    }
  });

  it('has unique names of objects, distinct from those of another gateway in the cluster', async () => {
    const render = async (namespace: string) =>
      renderedObjects(await runHelm(helm, 'template', 'gw', CHART, '--namespace', namespace)).map(
        ({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`,
      );
    const [one, two] = await Promise.all([render('one'), render('two')]);
    assert.equal(new Set([...one, ...two]).size, one.length + two.length);
  });
});

const REFUSED: readonly [what: string, args: readonly string[], because: RegExp][] = [
  ['an unknown value', ['replicas=3'], /replicas/],
  ['a misspelt value of a workload', ['dataplane.nodeselector.zone=a'], /nodeselector/],
  ['a value of one workload at another', ['valkey.longestStreamSeconds=1'], /longestStreamSeconds/],
  ['replicas that are text', ['operator.replicas=two'], /operator\/replicas|operator\.replicas/],
  ['no operator', ['operator.replicas=0'], /replicas/],
  ['an unknown ledger', ['ledger.type=Memcached'], /ledger/],
  ['a ledger that is no Valkey', ['ledger.type=External', 'ledger.external.url=postgres://db'], /ledger/],
  [
    "a password in the ledger's address",
    ['ledger.type=External', 'ledger.external.url=valkey://user:secret@host:6379'],
    /ledger/,
  ],
  ['an external ledger without an address', ['ledger.type=External'], /ledger\.external\.url/],
  ['an answer of the ledger that may take longer than its leases', ['ledger.timeoutMs=2001'], /timeoutMs/],
  ['a namespace that can be none', ['operator.watchNamespaces={Team_A}'], /watchNamespaces/],
  ['a port that is none', ['service.port=70000'], /port/],
  ['a size that is none', ['dataplane.maxBody=64 apples'], /maxBody/],
  ['an unknown log level', ['dataplane.logLevel=loud'], /logLevel/],
  ['a memory limit that gives Valkey none', ['valkey.resources.limits.memory=2 apples'], /set valkey\.maxMemory/],
  ['autoscaling by nothing', ['dataplane.autoscaling.cpuUtilization=0'], /nothing to scale by/],
  ['a route to no Gateway', ['httpRoute.enabled=true'], /parentRefs/],
  [
    'certificates of no issuer',
    ['certManager.enabled=true', 'valkey.tls.enabled=true'],
    /certManager\.valkey\.issuerRef\.name must name an issuer/,
  ],
  ['a name that no Service can have', ['nameOverride=My_Gateway'], /nameOverride/],
  ['a lifetime that is none', ['certManager.valkey.duration=ten years'], /duration/],
];

describe.skipIf(helm.skip)('values that are refused', () => {
  for (const [what, settings, because] of REFUSED)
    it(what, async () => {
      await assert.rejects(
        runHelm(helm, 'template', 'gw', CHART, ...settings.flatMap((each) => ['--set', each])),
        because,
      );
    });
});

describe.skipIf(helm.skip)('certificates from cert-manager', () => {
  const render = async (...settings: readonly string[]) =>
    renderedObjects(
      await runHelm(
        helm,
        'template',
        'gw',
        CHART,
        ...['certManager.enabled=true', 'certManager.issuerRef.name=ca', 'edge.enabled=true', 'console.enabled=true']
          .concat(settings)
          .flatMap((each) => ['--set', each]),
      ),
    );

  it('are for the Secrets that pods mount, each in the place of one that a value could name', async () => {
    const objects = await render('valkey.tls.enabled=true');
    const issued = objects.filter(({ kind }) => kind === 'Certificate').map(({ spec }) => spec.secretName);
    assert.equal(issued.length, 3);
    const mounted: unknown[] = podTemplates(objects).flatMap(({ template }) =>
      (template.spec.volumes ?? []).map(({ secret }: { secret?: { secretName: string } }) => secret?.secretName),
    );
    for (const name of issued) assert.ok(mounted.includes(name), name);
    assert.ok(!objects.some(({ kind, metadata }) => kind === 'Secret' && issued.includes(metadata.name)));
  });

  it('leave Secrets alone that values name', async () => {
    const own = ['edge.tlsSecretName=a', 'console.tlsSecretName=b', 'valkey.tls.existingSecretName=c'];
    assert.ok(!(await render(...own)).some(({ kind }) => kind === 'Certificate'));
  });
});

describe.skipIf(helm.skip)('docs/guides/helm.md', async () => {
  const page = await readFile(join(ROOT, 'docs/guides/helm.md'), 'utf8');
  const values = readValues(await readFile(join(CHART, 'values.yaml'), 'utf8'));

  it('has values that the chart accepts', async () => {
    // manifests are not values
    const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)]
      .map(([, block = '']) => block)
      .filter((block) => !block.startsWith('apiVersion:'));
    assert.ok(blocks.length >= 4);
    const folder = await mkdtemp(join(tmpdir(), 'mgw-helm-docs-'));
    try {
      for (const [index, block] of blocks.entries()) {
        const file = join(folder, `${index}.yaml`);
        await writeFile(file, block);
        await runHelm(helm, 'lint', '--strict', CHART, '--values', file);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('names values that exist', () => {
    const paths = (each: readonly HelmValue[]): string[] =>
      each.flatMap((value) => [value.path.join('.'), ...paths(value.children)]);
    const all = paths(values);
    const inherited = all.flatMap((path) =>
      ['operator', 'dataplane', 'valkey', 'edge', 'demo', 'test'].map((name) => path.replace(/^workload\b/, name)),
    );
    const tops = values.map(({ path }) => path[0]);
    const named = [...page.matchAll(/`([a-z]\w*(?:\.\w+)+)(?:: \w+)?`/g)]
      .map(([, name = '']) => name)
      .filter((name) => tops.includes(name.split('.')[0] ?? ''));
    assert.ok(named.length >= 8);
    assert.deepEqual(
      named.filter((name) => !all.includes(name) && !inherited.includes(name) && !name.includes('.resources.')),
      [],
    );
  });

  it('every value is used', async () => {
    const files = await Array.fromAsync(glob('templates/*', { cwd: CHART }));
    const templates = (await Promise.all(files.map((file) => readFile(join(CHART, file), 'utf8')))).join('\n');
    const leaves = (each: readonly HelmValue[]): HelmValue[] =>
      each.flatMap((value) => (value.children.length === 0 ? [value] : leaves(value.children)));
    const unused = leaves(values)
      .map(({ path }) => path.at(-1) ?? '')
      .filter((name) => !new RegExp(`[.$"]${name}\\b`).test(templates));
    assert.deepEqual(unused, []);
  });
});

describe.each([CHART, CRDS_CHART])('the values of %s', async (chart) => {
  const all = (each: readonly HelmValue[]): HelmValue[] => each.flatMap((value) => [value, ...all(value.children)]);
  const values = all(readValues(await readFile(join(chart, 'values.yaml'), 'utf8')));

  it('have a text each: sentences, without the schema', () => {
    assert.deepEqual(
      values
        .filter(({ description }) => !/^[A-Z][^@]*\.$/.test(description) || description.includes('# '))
        .map(({ path }) => path.join('.')),
      [],
    );
  });
});

describe.skipIf(helm.skip)('charts/model-gateway-crds', () => {
  it('contains the definitions, unchanged except for labels and annotations', async () => {
    const objects = renderedObjects(await runHelm(helm, 'template', 'crds', CRDS_CHART, '--namespace', NAMESPACE));
    assert.equal(objects.length, 5);
    for (const {
      metadata: { labels, annotations, ...metadata },
      ...object
    } of objects) {
      const source = parse(await readFile(join(ROOT, 'crds', `${object.spec.names.singular}.yaml`), 'utf8'));
      assert.deepEqual({ ...object, metadata }, source);
      assert.deepEqual(annotations, { 'helm.sh/resource-policy': 'keep' });
      assert.equal(labels['app.kubernetes.io/part-of'], 'model-gateway');
    }
  });

  it('deletes them on request', async () => {
    const [first] = renderedObjects(await runHelm(helm, 'template', 'crds', CRDS_CHART, '--set', 'keep=false'));
    assert.equal(first.metadata.annotations, undefined);
  });
});

it('charts and package have the same version', async () => {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  for (const chart of [CHART, CRDS_CHART]) {
    const found = parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')) as { version: string; appVersion: string };
    assert.deepEqual([found.version, found.appVersion], [version, version]);
  }
});

describe('what Artifact Hub reads in Chart.yaml', async () => {
  interface Chart {
    readonly name: string;
    readonly icon: string;
    readonly annotations: Readonly<Record<string, string>>;
  }
  const read = async (chart: string): Promise<Chart> =>
    parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')) as Chart;
  const charts = await Promise.all([CHART, CRDS_CHART].map(read));

  it('is an icon of the project, and changes of the kinds that it knows', async () => {
    const icon = (await readFile(join(ROOT, 'web/pricing/browser/icon.svg'), 'utf8')).trim();
    const kinds = ['added', 'changed', 'deprecated', 'removed', 'fixed', 'security'];
    for (const chart of charts) {
      assert.equal(Buffer.from(chart.icon.replace('data:image/svg+xml;base64,', ''), 'base64').toString(), icon);
      const changes = parse(chart.annotations['artifacthub.io/changes'] ?? '') as { kind: string }[];
      assert.ok(changes.length > 0 && changes.every(({ kind }) => kinds.includes(kind)), chart.name);
    }
  });

  it('is the images of values.yaml', async () => {
    interface Image {
      readonly repository: string;
      readonly tag: string;
    }
    const values = parse(await readFile(join(CHART, 'values.yaml'), 'utf8')) as Record<string, { image: Image }> & {
      image: Image;
    };
    const { version } = parse(await readFile(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string };
    const images = parse(charts[0]?.annotations['artifacthub.io/images'] ?? '') as { name: string; image: string }[];
    assert.deepEqual(
      images.map(({ image }) => image),
      [values.image, values['valkey']?.image, values['edge']?.image].map(
        (image) => `${image?.repository}:${image?.tag || version}`,
      ),
    );
  });

  it('is all definitions', async () => {
    const names = (await Array.fromAsync(glob('*.yaml', { cwd: join(ROOT, 'crds') }))).sort();
    const crds = await Promise.all(names.map(async (name) => parse(await readFile(join(ROOT, 'crds', name), 'utf8'))));
    const listed = parse(charts[1]?.annotations['artifacthub.io/crds'] ?? '') as Record<string, string>[];
    assert.deepEqual(
      listed.map(({ kind, version, name }) => ({ kind, version, name })),
      crds.map(({ spec, metadata }) => ({
        kind: spec.names.kind,
        version: spec.versions[0].name,
        name: metadata.name,
      })),
    );
  });
});
