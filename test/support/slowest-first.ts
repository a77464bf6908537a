/**
 * The order of the suite's files. Vitest starts the files that took longest last time, and larger ones first where it
 * knows no times, as in a fresh clone. A long file that starts late keeps one worker busy while the other is idle, so
 * the longest ones always start first.
 */
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** By their time, the longest first; all take more than half a minute. */
const LONGEST = [
  'test/e2e/node/cluster.test.ts',
  'test/e2e/clients/clients.test.ts',
  'test/e2e/browser/console-cluster.test.ts',
  'test/e2e/browser/console-files.test.ts',
  'test/unit/operator/reconcile/churn.test.ts',
  'test/unit/dataplane/ledger/valkey/faults.test.ts',
  'test/e2e/chaos/fleet.test.ts',
  'test/e2e/browser/price-page.test.ts',
  'test/e2e/cluster/fleet.test.ts',
  'test/e2e/browser/wallet.test.ts',
  'test/e2e/charts/release.test.ts',
  'test/unit/dataplane/ledger/valkey/history.test.ts',
];

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((file) => moduleId.endsWith(file));
  return rank < 0 ? LONGEST.length : rank;
}
