/**
 * The notes that Helm prints after an installation. test/e2e/node runs the commands of the first call; here the manifests
 * that they apply are compared with those of docs/guides/kubernetes.md, so that both stay current.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { needHelm, renderedObjects, runHelm } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { firstCallCommands } from '../../support/first-call.ts';
import { CHART, ROOT } from './situations.ts';

const helm = await needHelm();

const options = (settings: readonly string[]): string[] => settings.flatMap((each) => ['--set', each]);

async function notes(namespace: string, ...settings: readonly string[]): Promise<string> {
  const where = ['--namespace', namespace, '--dry-run=client'];
  const text = await runHelm(helm, 'install', 'gw', CHART, ...where, ...options(settings));
  return text.slice(text.indexOf('\nNOTES:\n'));
}

async function objectsOf(namespace: string, ...settings: readonly string[]): Promise<Rendered[]> {
  return renderedObjects(await runHelm(helm, 'template', 'gw', CHART, '--namespace', namespace, ...options(settings)));
}

async function documented(namespace: string): Promise<unknown[]> {
  const files = ['platform.yaml', 'team-a.yaml'].map((file) =>
    readFile(join(ROOT, 'docs/examples/kubernetes/first-call', file), 'utf8'),
  );
  const objects = renderedObjects((await Promise.all(files)).join('\n---\n'));
  for (const { kind, metadata, spec } of objects) {
    if (metadata.namespace === 'model-gateway') metadata.namespace = namespace;
    if (kind === 'Account' || kind === 'ApiKey') spec.gatewayNamespace = namespace;
    if (kind === 'ModelRoute') spec.channels[0].baseUrl = `http://model-gateway-demo.${namespace}.svc:4010/v1`;
  }
  return objects;
}

describe.skipIf(helm.skip)("the chart's notes", () => {
  it("apply the manifests of docs/guides/kubernetes.md, with this release's own names", async () => {
    for (const namespace of ['model-gateway', 'elsewhere']) {
      const [, name = ''] =
        /\nkubectl get configmap (\S+) .*\{\.data\.manifests\}' \| kubectl apply -f -\n/.exec(
          firstCallCommands(await notes(namespace, 'demo.enabled=true')),
        ) ?? [];
      const [manifests] = (await objectsOf(namespace, 'demo.enabled=true')).filter(
        ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name,
      );
      assert.deepEqual(renderedObjects(manifests.data.manifests), await documented(namespace));
    }
  });

  it('have at most 20 lines, and link to documentation that is there', async () => {
    for (const settings of [[], ['demo.enabled=true'], ['edge.enabled=true', 'edge.tlsSecretName=tls']]) {
      const lines = (await notes('ai', ...settings)).trim().split('\n').slice(1);
      assert.ok(lines.length <= 20, `${lines.length} lines`);
      const [, page = '', heading = ''] = /(docs\/\S+\.md)#(\S+)/.exec(lines.join('\n')) ?? [];
      const text = (await readFile(join(ROOT, page), 'utf8')).toLowerCase();
      assert.ok(text.includes(`\n## ${heading.replaceAll('-', ' ')}\n`), `${page}#${heading}`);
    }
  });

  it('show a call with an existing key where there is no demo provider', async () => {
    const text = await notes('ai', 'service.port=8000');
    assert.match(text, /\nexport MGW_KEY=\$\(kubectl get secret NAME-key --namespace TEAM /);
    assert.match(text, /\nkubectl port-forward --namespace ai service\/model-gateway 8080:8000 &\n/);
    assert.match(text, /\ncurl .* http:\/\/127\.0\.0\.1:8080\/v1\/models /);
  });

  it('use the Service and the port of the chart', async () => {
    const settings = ['demo.enabled=true', 'fullnameOverride=llm', 'service.port=8000'];
    const commands = firstCallCommands(await notes('ai', ...settings));
    assert.match(commands, /deployment\/llm deployment\/llm-demo --namespace ai /);
    assert.match(commands, /kubectl port-forward --namespace ai service\/llm 8080:8000 &\n/);
    const objects = await objectsOf('ai', ...settings);
    const [manifests] = objects.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'llm-demo');
    assert.match(manifests.data.manifests, /http:\/\/llm-demo\.ai\.svc:4010\/v1/);
    const portsOf = (name: string): unknown =>
      objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name)?.spec.ports[0].port;
    assert.deepEqual([portsOf('llm'), portsOf('llm-demo')], [8000, 4010]);
  });

  it('use TLS if Envoys serve it', async () => {
    const settings = ['demo.enabled=true', 'edge.enabled=true', 'edge.tlsSecretName=tls'];
    assert.match(
      firstCallCommands(await notes('ai', ...settings)),
      /\ncurl --insecure .* https:\/\/127\.0\.0\.1:8080\//,
    );
  });

  it('say how to install the definitions where they are missing', async () => {
    assert.match(await notes('ai'), /\n.*: helm install model-gateway-crds \.\/charts\/model-gateway-crds\n/);
  });

  it('say how to enable the demo provider', async () => {
    const text = await notes('ai');
    assert.match(text, /\nhelm upgrade gw \S+ --namespace ai --reset-then-reuse-values --set demo\.enabled=true\n?$/);
    assert.throws(() => firstCallCommands(text), /no first call/);
  });
});
