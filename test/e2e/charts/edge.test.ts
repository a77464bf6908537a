/**
 * The edge's Envoys have the bootstrap configuration of docs/examples/kubernetes/edge.yaml, which the tests of
 * operator/xds/envoy run.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../support/free-port.ts';
import { needHelm, renderedObjects } from '../../support/helm.ts';
import type { Rendered } from '../../support/helm.ts';
import { CHART, ROOT, TESTDATA, renderAll } from './situations.ts';

const helm = await needHelm();

function filesOf(objects: readonly Rendered[], name: string): Record<string, unknown> {
  const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  assert.ok(found, name);
  return Object.fromEntries(
    Object.entries(found.data as Record<string, string>).map(([file, text]) => [file, parse(text)]),
  );
}

const situation = (name: string) => ({ name, valuesFile: join(TESTDATA, `${name}.values.yaml`), only: [] });

/** A fake of Envoy's admin port. */
async function adminServer(
  onRequest: (method: string, url: string) => string,
): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(({ method = '', url = '' }, response) => {
    response.end(onRequest(method, url));
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

/** Sends the hook's request as the kubelet does, once the container listens. */
async function openHook(port: number): Promise<{ readonly answer: Promise<string> }> {
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1' });
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (connected) break;
    await delay(20);
  }
  return { answer: fetch(`http://127.0.0.1:${port}/drained`).then((response) => response.text()) };
}

describe.skipIf(helm.skip)('the edge', () => {
  it('has the bootstrap configuration of the example', async () => {
    const example = renderedObjects(await readFile(join(ROOT, 'docs/examples/kubernetes/edge.yaml'), 'utf8'));
    assert.deepEqual(
      filesOf(await renderAll(helm, situation('edge')), 'model-gateway-edge'),
      filesOf(example, 'model-gateway-edge'),
    );
  });

  it('is in front of the proxies if enabled, and absent otherwise', async () => {
    for (const [name, component] of [
      ['edge', 'edge'],
      ['defaults', 'dataplane'],
    ] as const) {
      const objects = await renderAll(helm, situation(name));
      const front = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'model-gateway');
      assert.equal(front.spec.selector['app.kubernetes.io/component'], component);
      assert.equal(
        objects.some(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'model-gateway-edge'),
        component === 'edge',
      );
    }
  });

  it('makes Envoy close connections when its pod terminates, and its preStop hook waits for the last', async () => {
    const asked: string[] = [];
    const active = [2, 1, 0];
    await using server = await adminServer((method, url) => {
      asked.push(`${method} ${url.split('?')[0]}`);
      if (!url.startsWith('/stats')) return 'OK\n';
      return JSON.stringify({
        stats: [
          { name: 'http.admin.downstream_cx_active', value: 1 },
          { name: 'http.model-gateway.downstream_cx_active', value: active.shift() ?? 0 },
        ],
      });
    });
    const port = await freePort();
    const script = (await readFile(join(CHART, 'files/edge-drain.mjs'), 'utf8')).replace(
      '127.0.0.1:9901',
      `127.0.0.1:${server.port}`,
    );
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: 'inherit',
      env: { ...process.env, PORT: String(port), GRACE_MS: '0' },
    });
    const hook = await openHook(port);
    assert.deepEqual(asked, []);
    child.kill('SIGTERM');
    const exited = once(child, 'exit');
    assert.equal(await hook.answer, 'drained\n');
    assert.deepEqual(await exited, [0, null]);
    assert.deepEqual(asked, ['POST /drain_listeners', 'GET /stats', 'GET /stats', 'GET /stats']);
  });

  it('lets streams end before Envoy exits', async () => {
    const objects = await renderAll(helm, situation('edge-with-tls'));
    const {
      terminationGracePeriodSeconds,
      containers: [{ lifecycle }, { ports }],
    } = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'llm-edge').spec.template.spec;
    // a number: the kubelet looks for a name only among the ports of the hook's own container
    assert.deepEqual(lifecycle.preStop.httpGet, { path: '/drained', port: 9902 });
    assert.deepEqual(ports, [{ name: 'drained', containerPort: 9902 }]);
    assert.ok(terminationGracePeriodSeconds > 1800);
  });
});
