/**
 * `node tools/chaos/fleet.ts [--minutes 10] [--seed N] [--round R] [--ledger valkey|forgetful]`: rounds on a fleet of
 * four gateways and one Valkey, which keeps its data or loses it whenever it is killed, each reconciled to the
 * nano-dollar. Exit code 1: something was overspent, lost or leaked; seed and round stand beside it.
 */
import { randomInt } from 'node:crypto';
import { numberFlag, readFlags } from '../../test/support/flags.ts';
import { closeConnections } from './client.ts';
import { playFleetRound } from './fleet-round.ts';

const HELP = `node tools/chaos/fleet.ts [--minutes 10] [--seed N] [--round R] [--ledger valkey|forgetful]   ` +
  `(--round: one round of that seed again)`;
const values = readFlags(HELP, ['minutes', 'seed', 'round', 'ledger']);
const seed = values.seed === undefined ? randomInt(2 ** 31) : numberFlag(values.seed, 'seed', HELP);
const only = values.round === undefined ? undefined : numberFlag(values.round, 'round', HELP);
const forgets = values.ledger === 'forgetful';
const untilMs = performance.now() + numberFlag(values.minutes ?? '10', 'minutes', HELP) * 60_000;

console.log(`seed ${seed}`);
if (only !== undefined) await play(only);
else for (let round = 1; performance.now() < untilMs; round++) await play(round);
closeConnections();

async function play(round: number): Promise<void> {
  const { violations, evidence: { calls, records, samples }, faults, seconds } =
    await playFleetRound(seed, round, { longStop: round % 2 === 1, forgets });
  const by = Object.entries(Object.groupBy(records, ({ status }) => status)).map(([status, some]) =>
    `${status} ${some?.length ?? 0}`).join(', ');
  console.log(`round ${round}: ${calls.length} calls, ${records.length} records (${by}), ${samples.length} samples; ` +
    `${faults.join(', ')}; ${seconds.toFixed(0)} s; ${violations.length} violations`);
  for (const violation of violations.slice(0, 20)) console.error(`  seed ${seed} round ${round}: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}
