/**
 * Prints the totals as the last line of a run: `N passed, N failed, N skipped`. A suite, file or hook that fails
 * outside of a test counts as one failure. With CI=true a skipped test fails the run, so that no suite is left out
 * unnoticed.
 */
import type { Reporter, TestModule, TestRunEndReason, TestSuite } from 'vitest/node';

interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

type UnhandledErrors = Parameters<NonNullable<Reporter['onTestRunEnd']>>[1];

export class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: UnhandledErrors, reason: TestRunEndReason): void {
    const totals: Totals = { passed: 0, failed: unhandled.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // A test that never ran because the run was interrupted counts as skipped.
        totals[state === 'pending' ? 'skipped' : state]++;
      }
      for (const part of [module, ...module.children.allSuites()]) totals.failed += errorsOf(part);
    }
    if (process.env['CI'] === 'true' && totals.skipped > 0) {
      process.stderr.write('Tests were skipped, which CI=true forbids.\n');
      process.exitCode = 1;
    }
    if (reason !== 'passed') process.exitCode ??= 1;
    process.stdout.write(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`);
  }
}

/** Failures of the file or suite itself: of its hooks, or while its tests were collected. */
function errorsOf(part: TestModule | TestSuite): number {
  return part.errors().length > 0 ? 1 : 0;
}
