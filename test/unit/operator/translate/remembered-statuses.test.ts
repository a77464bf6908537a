/** The cache of translate does not change its results: each equals that of new objects. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { allOf, namespacedName } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, loadText } from '../support.ts';

const TESTDATA = join(import.meta.dirname, '../../../../operator/translate/testdata');
const YEAR_MS = 31_536_000_000;

test('equal fresh ones for the same objects in other circumstances', () => {
  const files = readdirSync(TESTDATA).filter((name) => name.startsWith('api-key') && name.endsWith('.in.yaml'));
  assert.ok(files.length > 20);
  for (const file of files) {
    const all = loadText(readFileSync(join(TESTDATA, file), 'utf8')).resources;
    const failing = new Map(allOf(all.apiKeys).map(({ metadata }) => [namespacedName(metadata), 'disk full']));
    const circumstances: readonly {
      readonly resources: Resources;
      readonly nowMs?: number;
      readonly mintFailures?: ReadonlyMap<string, string>;
    }[] = [
      { resources: all },
      { resources: { ...all, groups: [] } },
      { resources: all },
      { resources: { ...all, accounts: new Map() } },
      { resources: all, nowMs: NOW_MS + YEAR_MS },
      { resources: { ...all, secrets: new Map() } },
      { resources: all, mintFailures: failing },
      {
        resources: {
          ...all,
          groups: all.groups.map((group) => ({
            ...group,
            spec: { ...group.spec, allowedNamespaces: { from: 'Same' as const } },
          })),
        },
      },
      { resources: all, nowMs: NOW_MS - YEAR_MS },
      { resources: all },
    ];
    for (const { resources, ...given } of circumstances) {
      const options = { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS, ...given };
      assert.deepEqual(translate(resources, options), translate(structuredClone(resources), options), file);
    }
  }
});
