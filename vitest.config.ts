/**
 * The projects of `npm test`. Each test file has a process of its own: tests kill servers, replace timers and hold
 * locks on files. Three run at a time, also on two cores, because many of them wait for servers that start or time out;
 * the time limits within the tests are made for no more.
 */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/support/slowest-first.ts';
import { TotalsReporter } from './test/support/totals-reporter.ts';

/** The slowest preparation is a Kubernetes API server that is built from source, once per machine. */
const HOOK_TIMEOUT_MS = 30 * 60_000;
const SHARED = {
  environment: 'node',
  pool: 'forks',
  isolate: true,
  maxWorkers: 3,
  hookTimeout: HOOK_TIMEOUT_MS,
  // Tests rely on the order of node:test: hooks run in the order in which they are written.
  sequence: { hooks: 'list' },
  // Node runs the TypeScript of the tests as it runs the product, and compiles each module once for all processes.
  experimental: { viteModuleRunner: false },
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled') },
} as const;

export default defineConfig({
  test: {
    reporters: ['default', new TotalsReporter()],
    sequence: { sequencer: SlowestFirst },
    coverage: {
      provider: 'v8',
      include: [
        'bin',
        'console',
        'contract',
        'crds',
        'dataplane',
        'demo',
        'kube',
        'manifests',
        'operator',
        'programs',
        'runtime',
        'web',
      ].map((part) => `${part}/**/*.ts`),
      exclude: ['**/*.gen.ts'],
      reportsDirectory: '.cache/coverage',
    },
    projects: [
      { test: { ...SHARED, name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 120_000 } },
      { test: { ...SHARED, name: 'api', include: ['test/api/**/*.test.ts'], testTimeout: 120_000 } },
      // Servers, clusters, nodes and browsers of their own.
      { test: { ...SHARED, name: 'e2e', include: ['test/e2e/**/*.test.ts'], testTimeout: 600_000 } },
    ],
  },
});
