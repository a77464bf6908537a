/**
 * How long a large configuration takes to validate and compile, and what it keeps in memory. Not a test: run it by
 * hand,
 *   node --expose-gc test/bench/compile.ts [keys] [models]
 */
import { validateSnapshot } from '../../dataplane/snapshot/validate.ts';
import { compile } from '../../dataplane/state/compile.ts';
import type { State } from '../../dataplane/state/state.ts';
import {
  accountOf,
  automaticGroup,
  catalogOf,
  channelOf,
  directGroup,
  hashOf,
  keyOf,
  modelOf,
  priceOf,
  routeEntry,
  routeOf,
  snapshotOf,
} from '../unit/dataplane/snapshot/objects.ts';

const keys = Number(process.argv[2] ?? 100_000);
const models = Number(process.argv[3] ?? 1000);
const routes = 20;
const groups = 10;

const snapshot = snapshotOf({
  keys: Array.from({ length: keys }, (_, n) =>
    keyOf(`key-${n}`, {
      namespace: `team-${n % 1000}`,
      account: `team-${n % 1000}/team-${n % 1000}`,
      group: `group-${n % groups}`,
      hashes: [{ sha256: hashOf(n) }],
      limitNanoUsd: 25_000_000_000n,
      maxConcurrency: 8,
      ...(n % 2 ? { models: { names: ['model-1', 'model-2'] } } : {}),
    }),
  ),
  accounts: Array.from({ length: 1000 }, (_, n) => accountOf(`team-${n}`)),
  groups: [
    ...Array.from({ length: groups }, (_, n) =>
      directGroup(
        `group-${n}`,
        Array.from({ length: routes }, (_, r) => routeEntry(`route-${r}`, { maxConcurrency: 40 })),
        { priceRatioE9: 1_000_000_000n + BigInt(n) },
      ),
    ),
    automaticGroup(
      'smart',
      Array.from({ length: groups }, (_, n) => `group-${n}`),
      { priceRatioE9: 900_000_000n },
    ),
  ],
  routes: Array.from({ length: routes }, (_, r) =>
    routeOf(
      `route-${r}`,
      Array.from({ length: models / routes }, (_, n) => modelOf(`model-${r * (models / routes) + n}`)),
      Array.from({ length: 3 }, (_, n) => channelOf(`channel-${n}`, { priority: n % 2 })),
    ),
  ),
  catalogs: [
    catalogOf(
      'all',
      Array.from({ length: models }, (_, n) => priceOf(`model-${n}`)),
    ),
  ],
});

function heapMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

function timed<T>(label: string, work: () => T): T {
  const start = performance.now();
  const result = work();
  console.log(`${label}: ${(performance.now() - start).toFixed(0)} ms`);
  return result;
}

for (let run = 1; run <= 3; run++) timed(`validate ${run}`, () => validateSnapshot(snapshot));
const before = heapMiB();
let state: State | undefined;
for (let run = 1; run <= 4; run++) state = timed(`compile ${run}`, () => compile(snapshot, state));
console.log(
  `state of ${state?.credentials.size} keys and ${state?.pricing.rows.length} models: ` +
    `${(heapMiB() - before).toFixed(1)} MiB on top of the snapshot`,
);
