/**
 * The notes that Helm prints after an installation. test/e2e/node runs the commands of the first call; here they are
 * compared with the manifests of docs/kubernetes.md, so that both stay current.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { needHelm, renderedObjects, runHelm } from '../../support/helm.ts';
import { firstCallCommands, firstCallManifests } from '../../support/first-call.ts';
import { CHART, ROOT } from './situations.ts';

const helm = await needHelm();

async function notes(namespace: string, ...settings: readonly string[]): Promise<string> {
  const text = await runHelm(
    helm,
    'install',
    'gw',
    CHART,
    '--namespace',
    namespace,
    '--dry-run=client',
    ...settings.flatMap((each) => ['--set', each]),
  );
  return text.slice(text.indexOf('\nNOTES:\n'));
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
  it("contain the first call of docs/kubernetes.md, with this release's own names", async () => {
    for (const namespace of ['model-gateway', 'elsewhere']) {
      const printed = firstCallManifests(await notes(namespace, 'demo.enabled=true'));
      assert.deepEqual(renderedObjects(printed), await documented(namespace));
    }
  });

  it('use the Service and the port of the chart', async () => {
    const settings = ['demo.enabled=true', 'fullnameOverride=llm', 'service.port=8000'];
    const commands = firstCallCommands(await notes('ai', ...settings));
    assert.match(commands, /deployment\/llm deployment\/llm-demo --namespace ai /);
    assert.match(commands, /kubectl port-forward --namespace ai service\/llm 8080:8000 &\n/);
    assert.match(commands, /http:\/\/llm-demo\.ai\.svc:4010\/v1/);
    const objects = renderedObjects(
      await runHelm(helm, 'template', 'gw', CHART, '--namespace', 'ai', ...settings.flatMap((each) => ['--set', each])),
    );
    const portsOf = (name: string): unknown =>
      objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === name)?.spec.ports[0].port;
    assert.deepEqual([portsOf('llm'), portsOf('llm-demo')], [8000, 4010]);
  });

  it('say how to call from outside through a NodePort or a load balancer', async () => {
    const any = await notes('ai', 'service.type=NodePort');
    assert.match(
      any,
      /\n {2}http:\/\/NODE:PORT\/v1 \(from outside, .*\n {4}kubectl get service model-gateway --namespace ai /,
    );
    assert.match(
      await notes('ai', 'service.type=NodePort', 'service.nodePort=30080'),
      /\n {2}http:\/\/NODE:30080\/v1 /,
    );
    const balanced = await notes('ai', 'service.type=LoadBalancer', 'service.port=8000');
    assert.match(balanced, /\n {2}http:\/\/ADDRESS:8000\/v1 \(from outside; /);
    assert.doesNotMatch(await notes('ai'), /from outside/);
  });

  it('use TLS if Envoys serve it', async () => {
    const settings = ['demo.enabled=true', 'edge.enabled=true', 'edge.tlsSecretName=tls'];
    assert.match(firstCallCommands(await notes('ai', ...settings)), /--insecure https:\/\/127\.0\.0\.1:8080\//);
  });

  it('say how to enable the demo provider', async () => {
    const text = await notes('ai');
    assert.match(
      text,
      /\n {2}helm upgrade gw \S+ --namespace ai --reset-then-reuse-values --set demo\.enabled=true\n?$/,
    );
    assert.throws(() => firstCallCommands(text), /no first call/);
  });
});
