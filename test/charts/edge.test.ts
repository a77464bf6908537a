/** The edge's Envoys are given the bootstrap of docs/examples/kubernetes/edge.yaml, which the tests of operator/xds/envoy run. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { needHelm, renderedObjects } from '../support/helm.ts';
import type { Rendered } from '../support/helm.ts';
import { ROOT, TESTDATA, renderAll } from './situations.ts';

const helm = await needHelm();

function filesOf(objects: readonly Rendered[], name: string): Record<string, unknown> {
  const found = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  assert.ok(found, name);
  return Object.fromEntries(Object.entries(found.data as Record<string, string>).map(([file, text]) => [file, parse(text)]));
}

const situation = (name: string) => ({ name, valuesFile: join(TESTDATA, `${name}.values.yaml`), only: [] });

describe('the edge', { skip: helm.skip }, () => {
  it('has the bootstrap of the example', async () => {
    const example = renderedObjects(await readFile(join(ROOT, 'docs/examples/kubernetes/edge.yaml'), 'utf8'));
    assert.deepEqual(filesOf(await renderAll(helm, situation('edge')), 'model-gateway-edge'), filesOf(example, 'model-gateway-edge'));
  });

  it('takes its place before the proxies, and is not there unless it is wanted', async () => {
    for (const [name, component] of [['edge', 'edge'], ['defaults', 'dataplane']] as const) {
      const objects = await renderAll(helm, situation(name));
      const front = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'model-gateway');
      assert.equal(front.spec.selector['app.kubernetes.io/component'], component);
      assert.equal(objects.some(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'model-gateway-edge'), component === 'edge');
    }
  });

  it('lets streams end before Envoy does', async () => {
    const objects = await renderAll(helm, situation('edge-with-tls'));
    const { terminationGracePeriodSeconds, containers: [{ lifecycle }] } = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'llm-edge').spec.template.spec;
    assert.ok(lifecycle.preStop.sleep.seconds > 1800);
    assert.ok(terminationGracePeriodSeconds > lifecycle.preStop.sleep.seconds);
  });
});
