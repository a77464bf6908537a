/** `mgw validate` on valid and invalid folders. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { mgw, tempFolder } from '../../support/cli.ts';

const EXAMPLES = join(import.meta.dirname, '../../../docs/examples');

const GROUP = `apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata:
  name: auto-a
spec:
  routes:
  - routeSelector: {}
`;

const PRICES = `apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: list, namespace: ai}
spec:
  models:
  - {name: m, vendor: v, quotaType: Request, requestUsd: "1"}
`;

describe('mgw validate', () => {
  it('passes valid manifests', async () => {
    const folder = join(EXAMPLES, 'quickstart');
    assert.deepEqual(await mgw(['validate', folder]), {
      exitCode: 0,
      stdout: `${folder}: no errors, no warnings\n`,
      stderr: '',
    });
  });

  it('reports every mistake with file and line, and exits with 1', async () => {
    await using folder = await tempFolder({
      'platform/group.yaml': GROUP.replace('spec:', 'spec:\n  priceRatio: 1.5x\n  colour: red'),
      'team.yml': `apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata:
  name: bot
  namespace: team-a
spec:
  groupRef: {name: auto-a}
  accountRef: {name: nobody}
  quota:
    period: Hourly
`,
      'notes.txt': 'not looked at',
    });
    const { exitCode, stdout, stderr } = await mgw(['validate', folder.path]);
    assert.equal(exitCode, 1);
    assert.equal(stderr, '');
    assert.match(
      stdout,
      new RegExp(`^${folder.path}/platform/group\\.yaml:6(:\\d+)?: error: .*spec\\.priceRatio`, 'm'),
    );
    assert.match(stdout, new RegExp(`^${folder.path}/platform/group\\.yaml:7(:\\d+)?: error: .*spec\\.colour`, 'm'));
    assert.match(stdout, new RegExp(`^${folder.path}/team\\.yml:10(:\\d+)?: error: .*spec\\.quota\\.period`, 'm'));
    assert.match(stdout, /: 3 errors, no warnings\n$/);
  });

  it('follows references between objects', async () => {
    await using folder = await tempFolder({
      'key.yaml': `${GROUP}---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: bot, namespace: team-a}
spec:
  groupRef: {name: gone}
  accountRef: {name: nobody}
`,
    });
    const { exitCode, stdout } = await mgw(['validate', folder.path]);
    assert.equal(exitCode, 1);
    assert.match(stdout, /key\.yaml:9: error: ApiKey team-a\/bot: .*gone/);
  });

  it("uses the given namespace as the gateway's", async () => {
    await using folder = await tempFolder({ 'prices.yaml': PRICES });
    const wrong = await mgw(['validate', folder.path]);
    assert.equal(wrong.exitCode, 1);
    assert.match(wrong.stdout, /prices\.yaml:1: error: PriceCatalog ai\/list: /);
    const args = ['validate', folder.path];
    assert.equal((await mgw([...args, '--gateway-namespace', 'ai'])).exitCode, 0);
    assert.equal((await mgw(args, { env: { MGW_GATEWAY_NAMESPACE: 'ai' } })).exitCode, 0);
  });

  it('passes with warnings', async () => {
    const { exitCode, stdout } = await mgw(['validate', join(EXAMPLES, 'openai-and-anthropic')]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /warning: .*Secret "openai"/);
    assert.match(stdout, /no errors, 2 warnings\n$/);
  });

  it('reports a missing folder', async () => {
    await using folder = await tempFolder({ 'a.yaml': '' });
    for (const [path, said] of [
      ['missing', 'no such folder'],
      ['a.yaml', 'not a folder'],
    ] as const) {
      const { exitCode, stderr } = await mgw(['validate', join(folder.path, path)]);
      assert.deepEqual([exitCode, stderr], [1, `DIR ${join(folder.path, path)}: ${said}\n`]);
    }
  });
});
