/**
 * `node test/endurance/churn.ts [--minutes 120] [--keys 10000]`: a release on a real node (as root; see
 * test/support/kube-node.ts) while keys are edited and rotated, namespaces come and go, the leading operator and
 * proxies are killed, and charts are upgraded. Each line is one round: the time from an edit's request until every
 * proxy enforces it, the memory of the pods, and the calls that failed. Exit code 1: one failed that no kill cut.
 */
import { numberFlag, readFlags } from '../support/flags.ts';
import {
  clusterReleaseMissing,
  installDefinitions,
  makeFirstCall,
  openClusterRelease,
  rollout,
} from '../e2e/node/cluster-release.ts';
import { quantilesOf } from '../bench/figures.ts';
import { playRound, VERSIONS } from './round.ts';
import type { RoundResult } from './round.ts';
import { openTenants } from './tenants.ts';

const HELP = 'node test/endurance/churn.ts [--minutes 120] [--keys 10000]';
const values = readFlags(HELP, ['minutes', 'keys']);
const minutes = numberFlag(values.minutes ?? '120', 'minutes', HELP);
const keys = numberFlag(values.keys ?? '10000', 'keys', HELP);
const missing = await clusterReleaseMissing();
if (missing !== undefined) throw new Error(missing);

const release = await openClusterRelease();
try {
  await installDefinitions(release);
  await release.install();
  // it applies the group that all keys are of
  await makeFirstCall(release);
  // the demo stands for a provider, which upgrades of the gateway leave alone
  await rollout(release, 'pause', 'demo');
  await release.node.tagImage(`model-gateway:${VERSIONS[0]}`, `model-gateway:${VERSIONS[1]}`);
  const startedMs = performance.now();
  const tenants = await openTenants(release, keys);
  console.log(`${keys} ApiKeys are ready after ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  const results: RoundResult[] = [];
  const untilMs = performance.now() + minutes * 60_000;
  for (let round = 1; performance.now() < untilMs; round++) {
    const result = await playRound(release, tenants, round);
    results.push(result);
    console.log(lineOf(round, result));
    for (const failure of result.failures.slice(0, 5)) console.log(`  ${failure}`);
  }
  const failed = results.reduce((sum, { failures }) => sum + failures.length, 0);
  const calls = results.reduce((sum, result) => sum + result.calls, 0);
  const cut = results.reduce((sum, result) => sum + result.cut, 0);
  console.log(`${results.length} rounds, ${calls} calls, ${cut} cut by kills, ${failed} failed otherwise`);
  console.log(`apply → enforced on every proxy: ${latenciesOf(results)}`);
  for (const [event, rounds] of Map.groupBy(results, (result) => result.event))
    console.log(`  ${event}: ${latenciesOf(rounds)}`);
  console.log(`apply → reported in the status: ${quantilesOf(results.flatMap(({ reportedMs }) => reportedMs))}`);
  if (failed > 0) process.exitCode = 1;
} finally {
  await release.close();
}

function lineOf(round: number, { event, enforcedMs, memory, calls, cut, failures }: RoundResult): string {
  const containers = Map.groupBy(memory, ([name]) => name.split(' ').at(-1) ?? name);
  const sizes = [...containers].map(([name, pods]) => `${name} ${pods.map(([, mebibytes]) => mebibytes).join('/')}`);
  return (
    `round ${round} (${event}): ${quantilesOf(enforcedMs)}; ${calls} calls, ${cut} cut, ` +
    `${failures.length} failed; MiB: ${sizes.join(', ')}`
  );
}

function latenciesOf(rounds: readonly RoundResult[]): string {
  const [whole, own] = [
    rounds.flatMap(({ enforcedMs }) => enforcedMs),
    rounds.flatMap(({ afterAnswerMs }) => afterAnswerMs),
  ];
  return `${quantilesOf(whole)}; of that after the API server's answer: ${quantilesOf(own)}`;
}
