/** The readiness of an operator, and its report of what is missing. */
import assert from 'node:assert/strict';
import { InvalidArgumentError } from 'commander';
import { describe, it } from 'vitest';
import { problemsOf, readinessOf } from '../../../programs/cluster-operator/readiness.ts';
import { parseServiceAccounts } from '../../../bin/options.ts';

const MANAGER = { published: true, problems: () => [] };

describe('the readiness of an operator', () => {
  it('waits for certificates and for a configuration, and reports failures', () => {
    assert.deepEqual(
      readinessOf({}).map(({ name, ok }) => [name, ok]),
      [
        ['xds', false],
        ['configuration', false],
      ],
    );
    const checks = readinessOf({
      distribution: {},
      manager: { published: false, problems: () => ['groups: 403', 'secrets/key: not read yet'] },
    });
    assert.deepEqual(
      checks.map(({ ok }) => ok),
      [true, false],
    );
    assert.equal(checks[1]?.detail, 'groups: 403; secrets/key: not read yet');
  });

  it('waits for the endpoints if Envoys are configured, and no more afterwards', () => {
    const edge = (published: boolean, problems: string[]) =>
      readinessOf({ distribution: {}, manager: MANAGER, edge: { published, problems: () => problems } }).at(-1);
    assert.deepEqual(edge(false, ['endpointslices: 403 forbidden']), {
      name: 'edge',
      ok: false,
      detail: 'endpointslices: 403 forbidden',
    });
    assert.equal(edge(true, ['endpointslices: no answer'])?.ok, true);
    assert.deepEqual(
      problemsOf({
        manager: { published: true, problems: () => ['groups: 403'] },
        edge: { published: true, problems: () => ['endpointslices: no answer'] },
      }),
      ['groups: 403', 'endpointslices: no answer'],
    );
  });
});

describe('names of ServiceAccounts', () => {
  it('are separated by commas', () =>
    assert.deepEqual(parseServiceAccounts('model-gateway, my.gateway'), ['model-gateway', 'my.gateway']));
  for (const wrong of ['', 'a,', 'Upper', 'a b', '-a', 'a'.repeat(254)])
    it(`are not ${JSON.stringify(wrong.slice(0, 10))}`, () =>
      assert.throws(() => parseServiceAccounts(wrong), InvalidArgumentError));
});
