/** Every alert of the chart has a heading in docs/guides/operations.md, where runbook_url leads, with what to do. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'vitest';
import { parse } from 'yaml';
import { CHART, ROOT } from './situations.ts';

it('documents every alert with its severity, and no other', async () => {
  const rules = parse((await readFile(join(CHART, 'files/alerts.yaml'), 'utf8')).replaceAll('NAMESPACE', 'ns')) as {
    alert: string;
    labels: { severity: string };
  }[];
  const page = await readFile(join(ROOT, 'docs/guides/operations.md'), 'utf8');
  const explained = [...page.matchAll(/^### (ModelGateway\w+)\n\n[_*](\w+)\.[_*] .{60,}$/gm)].map(
    ([, name, severity]) => `${name} ${severity}`,
  );
  assert.deepEqual(explained.toSorted(), rules.map(({ alert, labels }) => `${alert} ${labels.severity}`).toSorted());
});
