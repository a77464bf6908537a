/**
 * The edge's Envoys are given the bootstrap of docs/examples/kubernetes/edge.yaml, which the tests of
 * operator/xds/envoy run.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import { needHelm, renderedObjects } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { CHART, ROOT, TESTDATA, renderAll } from './situations.ts';

const helm = await needHelm();

function filesOf(objects: readonly Rendered[], name: string): Record<string, unknown> {
  const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  assert.ok(found, name);
  return Object.fromEntries(Object.entries(found.data as Record<string, string>).map(([file, text]) =>
    [file, parse(text)]));
}

const situation = (name: string) => ({ name, valuesFile: join(TESTDATA, `${name}.values.yaml`), only: [] });

/** Stands in for Envoy's admin port. */
async function adminServer(onRequest: (
  method: string, url: string,
) => void): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(({ method = '', url = '' }, response) => {
    onRequest(method, url);
    response.end('OK\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

describe.skipIf(helm.skip)('the edge', () => {
  it('has the bootstrap of the example', async () => {
    const example = renderedObjects(await readFile(join(ROOT, 'docs/examples/kubernetes/edge.yaml'), 'utf8'));
    assert.deepEqual(
      filesOf(await renderAll(helm, situation('edge')), 'model-gateway-edge'), filesOf(example, 'model-gateway-edge'),
    );
  });

  it('takes its place before the proxies, and is not there unless it is wanted', async () => {
    for (const [name, component] of [['edge', 'edge'], ['defaults', 'dataplane']] as const) {
      const objects = await renderAll(helm, situation(name));
      const front = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'model-gateway');
      assert.equal(front.spec.selector['app.kubernetes.io/component'], component);
      assert.equal(objects.some(({ kind, metadata }) => kind === 'Deployment' &&
        metadata.name === 'model-gateway-edge'), component === 'edge');
    }
  });

  it('tells Envoy to close its connections when its pod ends', async () => {
    const ended: string[] = [];
    await using server = await adminServer((method, url) => { ended.push(`${method} ${url}`); });
    const script =
      (await readFile(join(CHART, 'edge-drain.mjs'), 'utf8')).replace('127.0.0.1:9901', `127.0.0.1:${server.port}`);
    const child = spawn(process.execPath, [
      '--input-type=module', '--eval', `${script}\nprocess.stdout.write('begun');`,
    ], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    assert.deepEqual(ended, []);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    assert.deepEqual(ended, ['POST /drain_listeners?graceful&skip_exit']);
  });

  it('lets streams end before Envoy does', async () => {
    const objects = await renderAll(helm, situation('edge-with-tls'));
    const { terminationGracePeriodSeconds, containers: [{ lifecycle }] } =
      objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'llm-edge').spec.template.spec;
    assert.ok(lifecycle.preStop.sleep.seconds > 1800);
    assert.ok(terminationGracePeriodSeconds > lifecycle.preStop.sleep.seconds);
  });
});
