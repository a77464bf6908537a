/** A round on a fleet: clients call while faults strike, then all is quiet and reconciled as for one gateway. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT_NAMES, KEY_NAMES, keyString } from './config.ts';
import { send } from './client.ts';
import type { CallLog } from './client.ts';
import { diceOf } from './dice.ts';
import type { FleetBooks } from './fleet-books.ts';
import { injectFaults, planFleetFaults } from './fleet-faults.ts';
import type { LedgerKind } from './fleet-store.ts';
import { openFleet } from './fleet-world.ts';
import type { FleetWorld } from './fleet-world.ts';
import { uidOf } from './ledger-file.ts';
import { planRound } from './plan.ts';
import { reconcile } from './reconcile.ts';
import type { Evidence } from './reconcile.ts';
import { refusedAsFull } from './refusals.ts';

interface FleetResult {
  readonly evidence: Evidence;
  readonly violations: readonly string[];
  readonly faults: readonly string[];
  readonly kills: number;
  readonly seconds: number;
}

/**
 * Calls of a round are spread over this many times the time that one gateway has, so that the machine is not the limit.
 */
const SPREAD = 2;
const LOAD_MS = 10_000;
/** Longer than a lease: the leases of a stopped process end in this time. */
const LONG_STOP_MS = 27_000;
/** Time for leases to end, on a machine that may be busy. */
const QUIET_MS = 60_000;
const LOOKS = 3;
/** The calls of a killed gateway are known to the store alone until they are reaped; it may lose them before that. */
const INTERRUPTED = /^call .*; client \d+ None .*: the provider had it, and it is lost$/s;
/** Some calls of a round with a long stop come while it lasts, and after it. */
const LATE_MS = 40_000;
const EVERY_LATE = 6;

export interface FleetOptions {
  readonly ledger: LedgerKind;
  /** One process stands still for longer than its leases last. */
  readonly longStop: boolean;
}

export async function playFleetRound(
  seed: number,
  round: number,
  { ledger, longStop }: FleetOptions,
): Promise<FleetResult> {
  const startedMs = performance.now();
  const { config, calls: plans } = planRound(seed, round);
  const dice = diceOf('fleet', seed, round);
  await using world = await openFleet(config, ledger);
  await world.provider.startRound(seed, round);
  const books = world.openBooks();
  const beganMs = Date.now();
  const memberOf = (n: number): number => diceOf('member', seed, round, n).int(world.members);
  try {
    const watch = books.watch();
    const faults = planFleetFaults(dice, ledger, world.members);
    const stopped = dice.int(world.members);
    const [calls] = await Promise.all([
      Promise.all(
        plans.map(async (plan): Promise<CallLog> => {
          const isLate = longStop && plan.n % EVERY_LATE === 0;
          await sleep(isLate ? diceOf('late', seed, round, plan.n).int(LATE_MS) : plan.startMs * SPREAD);
          return send({
            url: await world.url(memberOf(plan.n)),
            key: keyString(plan.key, config.keys[plan.key].rotation),
            plan,
            ended: () => undefined,
          });
        }),
      ),
      injectFaults(world, faults, LOAD_MS),
      longStop ? sleep(LOAD_MS / 3).then(() => world.stop(stopped, LONG_STOP_MS)) : undefined,
    ]);
    const unrest = await quiet(world, books);
    const samples = await watch.stop();
    const { attempts, strange } = await world.provider.log();
    const { versions, kills, pauses, drains, violations } = world;
    const evidence: Evidence = {
      calls,
      attempts,
      samples,
      happened: { versions, kills, pauses, drains, violations },
      records: await books.records(),
      output: withoutExpected(world.output()),
      providerPort: new URL(world.provider.url).port,
    };
    const early = evidence.records
      .filter(({ createdMs }) => createdMs < beganMs - 1)
      .map(({ id }) => `the record ${id} is older than the round`);
    const disturbed = { pauses, memberOf };
    return {
      evidence,
      seconds: (performance.now() - startedMs) / 1_000,
      kills: kills.length,
      faults: [
        ...faults.map(({ kind, edit }) => (edit && kind !== 'edit' ? `${kind} + edit` : kind)),
        ...(longStop ? ['long stop'] : []),
      ],
      violations: [
        ...unrest,
        ...early,
        ...strange.map((each) => `the provider was sent ${each}`),
        ...(await balance(books, evidence)),
        ...refusedAsFull(evidence, disturbed),
        ...reconcile(evidence).filter((each) => !(ledger === 'forgetful' && INTERRUPTED.test(each))),
      ],
    };
  } finally {
    books.close();
  }
}

/** Waits until nothing is held, taken or running. Resolves with what does not settle. */
async function quiet(world: FleetWorld, books: FleetBooks): Promise<string[]> {
  const untilMs = Date.now() + QUIET_MS;
  let [still, busy] = [0, ''];
  while (still < LOOKS && Date.now() < untilMs) {
    busy = await unrest(world, books).catch((error: unknown) => String(error));
    still = busy === '' ? still + 1 : 0;
    await sleep(200);
  }
  return still < LOOKS ? [`it does not come to rest: ${busy}`] : [];
}

async function unrest(world: FleetWorld, books: FleetBooks): Promise<string> {
  const { held, accountHeld } = await books.tally();
  const left = [
    ...KEY_NAMES.map((name) => [`held of ${name}`, held[name]] as const),
    ...ACCOUNT_NAMES.map((name) => [`held of account ${name}`, accountHeld[name]] as const),
  ];
  const { inFlight } = await world.provider.log();
  return [
    ...left.filter(([, amount]) => amount !== 0n).map(([name, amount]) => `${name} ${amount}`),
    ...(inFlight > 0 ? [`${inFlight} calls at the provider`] : []),
    ...(await books.leaks()),
    ...(await world.inUse()),
  ].join(', ');
}

/** Records add up to what is spent. */
async function balance(books: FleetBooks, { records }: Evidence): Promise<string[]> {
  const { accountSpent, spent } = await books.tally();
  const sum = (mine: typeof records): bigint => mine.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n);
  return [
    ...ACCOUNT_NAMES.map((name) => ({
      name: `account ${name}`,
      said: accountSpent[name],
      records: sum(records.filter(({ account }) => account === `team/${name}`)),
    })),
    ...KEY_NAMES.map((name) => ({
      name: `key ${name}`,
      said: spent[name],
      records: sum(records.filter(({ key }) => key === uidOf(name))),
    })),
  ]
    .filter((each) => each.said !== each.records)
    .map(({ name, said, records: total }) => `${name} has spent ${said}, and its records add up to ${total}`);
}

/** Removes the messages that a gateway logs when its server is away or its disk is full. */
function withoutExpected(output: string): string {
  return output
    .split('\n')
    .filter((line) => !line.includes('"level":"error"') || !line.includes('the ledger'))
    .join('\n');
}
