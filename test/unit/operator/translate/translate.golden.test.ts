/**
 * Each <kind>-<situation>.in.yaml is translated to its .out.yaml: snapshot and statuses. GOLDEN=write rewrites the
 * latter.
 */
import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { parse, stringify } from 'yaml';
import { CONDITIONS } from '#crds/conditions.ts';
import type { ConditionRow } from '#crds/conditions.ts';
import { validateSnapshot } from '#snapshot/validate.ts';
import { PROGRAMMED, conditionsOf } from '../../../../operator/status/conditions.ts';
import type { Findings } from '../../../../operator/status/findings.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, resourcesOf } from '../support.ts';

const TESTDATA = join(import.meta.dirname, '../../../../operator/translate/testdata');
const REWRITE = process.env['GOLDEN'] === 'write';

/** A first line `# mintFailures: {…}` says which keys could not be made. */
function mintFailuresOf(text: string): Map<string, string> {
  const line = /^# mintFailures: (.*)$/m.exec(text)?.[1];
  return new Map(line === undefined ? [] : Object.entries(parse(line) as Record<string, string>));
}

function statusOf(findings: Findings): unknown {
  const { kind, namespace, name, fields } = findings;
  const conditions = conditionsOf(
    findings,
    findings.published ? PROGRAMMED : { status: 'Unknown', reason: 'Pending', message: '' },
  );
  return {
    object: `${kind} ${namespace}/${name}`,
    ...fields,
    conditions: conditions.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`),
  };
}

function checkReasons(findings: Findings): void {
  for (const { type, reason } of conditionsOf(findings, PROGRAMMED)) {
    const row: ConditionRow = CONDITIONS[type];
    assert.ok(row.reasons.includes(reason), `${type} gives the reason ${reason}, which is not on its list`);
    assert.ok(row.kinds.includes(findings.kind), `${findings.kind} has no condition ${type}`);
  }
}

const OFTEN_EMPTY: ReadonlySet<unknown> = new Set([
  'sheets',
  'contextTiers',
  'serviceTiers',
  'regions',
  'channelPrices',
  'channelRates',
  'perImage',
  'perSecond',
  'limits',
]);

/** Most prices and accounts have none; golden files show those that exist. */
function withoutEmptyLists(key: unknown, value: unknown): unknown {
  return OFTEN_EMPTY.has(key) && Array.isArray(value) && value.length === 0 ? undefined : value;
}

const inputs = (await readdir(TESTDATA)).filter((name) => name.endsWith('.in.yaml')).sort();

test('golden files of every kind exist', () => {
  assert.ok(inputs.length >= 40);
  for (const kind of ['account', 'api-key', 'group', 'model-route', 'price-catalog'])
    assert.ok(inputs.filter((name) => name.startsWith(`${kind}-`)).length >= 5, kind);
});

for (const input of inputs) {
  test(input.replace('.in.yaml', ''), async () => {
    const text = await readFile(join(TESTDATA, input), 'utf8');
    const { snapshot, statuses, nextChangeMs } = translate(resourcesOf(text), {
      gatewayNamespace: GATEWAY_NAMESPACE,
      nowMs: NOW_MS,
      mintFailures: mintFailuresOf(text),
    });
    assert.deepEqual(validateSnapshot(snapshot), [], 'a proxy takes it');
    assert.ok(
      Object.isFrozen(snapshot.keys) && snapshot.groups.every(({ access }) => Object.isFrozen(access?.value)),
      'nobody can change it',
    );
    statuses.forEach(checkReasons);
    const output = stringify(
      {
        snapshot,
        statuses: statuses.map(statusOf),
        ...(nextChangeMs === undefined ? {} : { nextChange: new Date(nextChangeMs).toISOString() }),
      },
      withoutEmptyLists,
      { lineWidth: 0, aliasDuplicateObjects: false },
    );
    const golden = join(TESTDATA, input.replace('.in.yaml', '.out.yaml'));
    if (REWRITE) await writeFile(golden, output);
    assert.equal(output, await readFile(golden, 'utf8'));
  });
}
