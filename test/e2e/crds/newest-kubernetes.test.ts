/**
 * The newest supported Kubernetes accepts the CustomResourceDefinitions too: its limits differ from the older one's.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';
import { crdFileNames } from '#crds/load.ts';
import { CHECKED_RELEASE, checkDefinitions, findCrdCheck } from '../../support/kube/crd-check.ts';

const check = await findCrdCheck(process.env);
if ('missing' in check && process.env['CI'] === 'true')
  throw new Error(`no check by Kubernetes ${CHECKED_RELEASE}: ${check.missing}`);
const files = (await crdFileNames()).map((name) => fileURLToPath(new URL(`../../../crds/${name}`, import.meta.url)));

describe.skipIf('missing' in check)(`Kubernetes ${CHECKED_RELEASE}`, () => {
  const path = 'path' in check ? check.path : '';

  it('accepts the definitions', async () => {
    assert.deepEqual(await checkDefinitions(path, files), []);
  });

  it('refuses a rule that costs too much', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'crd-check-'));
    try {
      const route = files.find((file) => file.endsWith('modelroute.yaml'));
      assert.ok(route);
      const unbounded = (await readFile(route, 'utf8')).replaceAll(/maxItems: 256\n/g, 'maxItems: 100000000\n');
      await writeFile(join(folder, 'modelroute.yaml'), unbounded);
      const [mistake] = await checkDefinitions(path, [join(folder, 'modelroute.yaml')]);
      assert.match(mistake ?? '', /estimated rule cost exceeds budget/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
