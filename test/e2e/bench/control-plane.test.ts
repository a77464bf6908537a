/** The benches of the operator, of xDS and of the console run to their end: nothing is measured here. */
import { describe, it } from 'vitest';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { assertRuns } from './run-bench.ts';

const missing = await kubeApiserverMissing();

for (const kind of ['apikeys', 'secrets', 'accounts'])
  it(`reconcile.ts with ${kind}`, () =>
    assertRuns({
      command: `--expose-gc test/bench/reconcile.ts --keys 50 --edits 5 --kind ${kind}`,
      figures: [/CPU, event → published: .*\d/, /CPU, event → all quiet: .*\d/],
    }));

it('xds.ts', () =>
  assertRuns({
    command: '--expose-gc test/bench/xds.ts --keys 50 --clients 2 --edits 5',
    figures: [/CPU per edit, .* \d/, /publish → enforced, last proxy: .*\d/],
  }));

it('console-files.ts', () =>
  assertRuns({
    command: 'test/bench/console-files.ts --keys 40 --namespaces 2 --records 300 --times 1',
    figures: [/\/keys.*\d ms/, /memory \d+ MB/],
  }));

describe.skipIf(missing)('a bench on a Kubernetes API server', () => {
  it('console.ts', () =>
    assertRuns({
      command: 'test/bench/console.ts --keys 40 --namespaces 2 --records 300 --times 1',
      figures: [/\/wallet.*\d ms/, /memory \d+ MB/],
    }));

  it('apply.ts', () =>
    assertRuns({
      command: 'test/bench/apply.ts --keys 40 --clients 2 --edits 4',
      figures: [/write → in force on all 2: .*\d/, /delete → the proxy refuses: .*\d/],
    }));
});
