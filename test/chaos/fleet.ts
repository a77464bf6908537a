/**
 * `node test/chaos/fleet.ts [--minutes 10] [--seed N] [--round R] [--ledger file|valkey|forgetful|cluster]`: rounds on
 * a fleet of four gateways and one Valkey, which keeps its data or loses it whenever it is killed (forgetful), or a
 * Cluster of three; or on one gateway with the ledger of one machine (file). Each is reconciled to the nano-dollar.
 * Exit code 1: something was overspent, lost or leaked; seed and round stand beside it.
 */
import { randomInt } from 'node:crypto';
import { numberFlag, readFlags } from '../support/flags.ts';
import { closeConnections } from './client.ts';
import { playFleetRound } from './fleet-round.ts';
import { LEDGERS } from './fleet-store.ts';
import type { LedgerKind } from './fleet-store.ts';
import { dimensionsOf } from './summary.ts';

const HELP =
  `node test/chaos/fleet.ts [--minutes 10] [--seed N] [--round R] [--ledger ${LEDGERS.join('|')}]   ` +
  `(--round: one round of that seed again)`;
const values = readFlags(HELP, ['minutes', 'seed', 'round', 'ledger']);
const seed = values.seed === undefined ? randomInt(2 ** 31) : numberFlag(values.seed, 'seed', HELP);
const only = values.round === undefined ? undefined : numberFlag(values.round, 'round', HELP);
const ledger = LEDGERS.find((each) => each === (values.ledger ?? 'valkey'));
if (!ledger) throw new Error(HELP);
const untilMs = performance.now() + numberFlag(values.minutes ?? '10', 'minutes', HELP) * 60_000;
const totals: Record<string, number> = {};

console.log(`seed ${seed}, ledger ${ledger}`);
if (only !== undefined) await play(ledger, only);
else for (let round = 1; performance.now() < untilMs; round++) await play(ledger, round);
closeConnections();
console.log(
  Object.entries(totals)
    .map(([name, count]) => `${name} ${count}`)
    .join(', '),
);

async function play(ledger: LedgerKind, round: number): Promise<void> {
  const {
    violations,
    evidence: { calls, records, samples },
    faults,
    kills,
    seconds,
  } = await playFleetRound(seed, round, { longStop: round % 2 === 1, ledger });
  const by = Object.entries(Object.groupBy(records, ({ status }) => status))
    .map(([status, some]) => `${status} ${some?.length ?? 0}`)
    .join(', ');
  const unavailable = calls.filter(({ status }) => status === 503).length;
  console.log(
    `round ${round}: ${calls.length} calls (${unavailable} got 503), ${records.length} records (${by}), ` +
      `${samples.length} samples; ${faults.join(', ')}; ${seconds.toFixed(0)} s; ${violations.length} violations`,
  );
  for (const violation of violations.slice(0, 20)) console.error(`  seed ${seed} round ${round}: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
  const counts = {
    rounds: 1,
    calls: calls.length,
    records: records.length,
    faults: faults.length,
    kills,
    violations: violations.length,
    ...dimensionsOf(records),
  };
  for (const [name, count] of Object.entries(counts)) totals[name] = (totals[name] ?? 0) + count;
}
