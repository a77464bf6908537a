/** Objects that definitions of an earlier version admitted, without the time zone that the newer ones set. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { CalendarWindow, LedgerReader } from '#ledger/spending.ts';
import { spanAt } from '#ledger/periods.ts';
import { allOf } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { createSpendingReader } from '../../../../operator/reconcile/read-spending.ts';
import { createStatusTracker } from '../../../../operator/reconcile/status-tracker.ts';
import { keySpendingStatus, limitsStatus, recordedSpendingStatus } from '../../../../operator/status/spending.ts';
import { translate } from '../../../../operator/translate/translate.ts';
import { GATEWAY_NAMESPACE, NOW_MS, platformManifest, resourcesOf } from '../support.ts';

const TEXT = `${platformManifest()}---
apiVersion: modelgateway.dev/v1alpha1
kind: Account
metadata: {name: main, namespace: team-a}
spec: {grants: [{name: first, usd: "1"}], limits: [{usd: "1", period: Week}]}
---
apiVersion: v1
kind: Secret
metadata: {name: ci, namespace: team-a}
stringData: {apiKey: sk-00000000000000000000000000000001}
---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: team-a}
spec:
  groupRef: {name: main}
  accountRef: {name: main}
  key: {type: Provided, secretRef: {name: ci}}
  quota: {limitUsd: "1", period: Daily}
`;

/** Loaded objects are frozen, so these are copies. */
function withoutZones(): Resources {
  const resources = structuredClone(resourcesOf(TEXT));
  for (const { spec } of allOf(resources.apiKeys)) assert.ok(Reflect.deleteProperty(spec.quota, 'timeZone'));
  for (const { spec } of allOf(resources.accounts))
    for (const limit of spec.limits ?? []) assert.ok(Reflect.deleteProperty(limit, 'timeZone'));
  assert.ok(allOf(resources.apiKeys).every(({ spec }) => !('timeZone' in spec.quota)));
  return resources;
}

function objectsOf(resources: Resources) {
  const [apiKey] = allOf(resources.apiKeys);
  const [account] = allOf(resources.accounts);
  assert.ok(apiKey && account);
  return { apiKey, account };
}

describe('a quota and a limit without a time zone', () => {
  it('are published in UTC', () => {
    const options = { gatewayNamespace: GATEWAY_NAMESPACE, nowMs: NOW_MS };
    assert.deepEqual(translate(withoutZones(), options).snapshot, translate(resourcesOf(TEXT), options).snapshot);
  });

  it('are read and told in UTC', async () => {
    const asked: unknown[] = [];
    const windowsOf = (windows: readonly CalendarWindow[]) =>
      windows.map(({ kind, timeZone }) => ({ ...spanAt(kind, NOW_MS, timeZone), spentNanoUsd: 0n, heldNanoUsd: 0n }));
    const amounts = { spentNanoUsd: 0n, heldNanoUsd: 0n };
    const ledger: LedgerReader = {
      readKey: async (_uid, period) => {
        asked.push(period);
        return { ...amounts, periodStartMs: null, resetsMs: null, totalSpentNanoUsd: 0n, lastUsedMs: null };
      },
      readAccount: async (_account, windows = []) => {
        asked.push(windows);
        return { ...amounts, windows: windowsOf(windows) };
      },
    };
    const resources = withoutZones();
    assert.ok(
      await createSpendingReader(createStatusTracker(), GATEWAY_NAMESPACE).read(resources, { ledger, nowMs: NOW_MS }),
    );
    assert.deepEqual(asked, [{ period: 'Daily', timeZone: 'UTC' }, [{ kind: 'Week', timeZone: 'UTC' }]]);
    assert.equal(limitsStatus(objectsOf(resources).account, amounts)?.[0]?.timeZone, 'UTC');
  });

  it('are measured by a status in UTC', () => {
    const { apiKey } = objectsOf(withoutZones());
    const spentNanoUsd = 5n;
    const { startMs: periodStartMs } = spanAt('Day', NOW_MS);
    const spending = { periodStartMs, resetsMs: null, spentNanoUsd, heldNanoUsd: 0n, totalSpentNanoUsd: 5n };
    const status = keySpendingStatus(apiKey, { ...spending, lastUsedMs: null });
    assert.deepEqual(recordedSpendingStatus(apiKey, status.fields, NOW_MS), status);
  });
});
