/**
 * `npm run chaos -- [--ledger file|valkey|forgetful|cluster] [--minutes 10] [--seed N] [--round R]`: rounds of some
 * seconds on one gateway with the ledger of one machine (file); or on a fleet of four and one Valkey, which keeps its
 * data or loses it whenever it is killed (forgetful), or a Cluster of three. Each is reconciled to the nano-dollar.
 * Everything is decided by the seed that is printed; `--round R` plays one round of it again. Exit code 1: something
 * was overspent, lost or leaked, or ended in a way that must never be; seed and round stand beside it.
 */
import { randomInt } from 'node:crypto';
import { numberFlag, readFlags } from '../support/flags.ts';
import { closeConnections } from './client.ts';
import { playRound } from './round.ts';
import { keepsBooks, LEDGERS } from './store.ts';
import { summarise, table, lineOf } from './summary.ts';
import type { Summary } from './summary.ts';
import { openWorld } from './world.ts';
import type { World } from './world.ts';

const HELP =
  `npm run chaos -- [--ledger ${LEDGERS.join('|')}] [--minutes 10] [--seed N] [--round R]   ` +
  '(--round: one round of that seed again)';
const values = readFlags(HELP, ['ledger', 'minutes', 'seed', 'round']);
const ledger = LEDGERS.find((each) => each === (values.ledger ?? 'file'));
if (!ledger) throw new Error(HELP);
const seed = values.seed === undefined ? randomInt(2 ** 31) : numberFlag(values.seed, 'seed', HELP);
const only = values.round === undefined ? undefined : numberFlag(values.round, 'round', HELP);
const untilMs = performance.now() + numberFlag(values.minutes ?? '10', 'minutes', HELP) * 60_000;
/** The most violations of one round that are printed. */
const SHOWN = 20;

console.log(`seed ${seed}, ledger ${ledger}`);
const summaries: Summary[] = [];
let world = await openWorld(ledger);
try {
  if (only !== undefined) await play(world, only);
  else
    for (let round = 1; performance.now() < untilMs; round++) {
      // a violation would show again in the books of all later rounds
      const mayGoOn = (await play(world, round)) && keepsBooks(ledger);
      if (!mayGoOn) world = await another(world);
    }
} finally {
  await world[Symbol.asyncDispose]();
  closeConnections();
}
console.log(table(summaries));
// a client of a store that is gone may still wait for it
process.exit();

/** Whether it reconciled. */
async function play(where: World, round: number): Promise<boolean> {
  try {
    const result = await playRound(where, seed, round);
    const summary = summarise(result);
    summaries.push(summary);
    console.log(lineOf(summary));
    return printResult(round, result.violations);
  } catch (error) {
    return printResult(round, [`it could not go on: ${error instanceof Error ? error.stack : String(error)}`]);
  }
}

function printResult(round: number, violations: readonly string[]): boolean {
  if (violations.length === 0) return true;
  process.exitCode = 1;
  for (const violation of violations.slice(0, SHOWN)) console.error(`  seed ${seed} round ${round}: ${violation}`);
  if (violations.length > SHOWN) console.error(`  and ${violations.length - SHOWN} more`);
  return false;
}

async function another(old: World): Promise<World> {
  await old[Symbol.asyncDispose]();
  return openWorld(old.ledger);
}
