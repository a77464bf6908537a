/** A round on a fleet: clients call while faults strike, then all is quiet and reconciled as for one gateway. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT_NAMES, KEY_NAMES, keyString } from './config.ts';
import { send } from './client.ts';
import type { CallLog } from './client.ts';
import { between, diceOf, weighted } from './dice.ts';
import type { Dice } from './dice.ts';
import { openBooks } from './fleet-books.ts';
import type { FleetBooks } from './fleet-books.ts';
import { MEMBERS, openFleet } from './fleet-world.ts';
import type { FleetWorld } from './fleet-world.ts';
import { uidOf } from './ledger-file.ts';
import { planEdit, planRound } from './plan.ts';
import type { Edit } from './config.ts';
import { reconcile } from './reconcile.ts';
import type { Evidence } from './reconcile.ts';

interface FleetResult {
  readonly evidence: Evidence;
  readonly violations: readonly string[];
  readonly faults: readonly string[];
  readonly seconds: number;
}

type Fault =
  | { readonly kind: 'kill' | 'disconnect' | 'terminate'; readonly member: number }
  | { readonly kind: 'lose answers' | 'lose requests' | 'delay'; readonly member: number; readonly ms: number }
  | { readonly kind: 'edit'; readonly edit: Edit }
  | { readonly kind: 'stop' | 'kill server' | 'stop server'; readonly member: number; readonly ms: number };

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
/** Later than the ledger's timeout, there and back. */
const SLOW_MS = 150;

/** `longStop`: one process stands still for longer than its leases last. */
export async function playFleetRound(
  seed: number, round: number, { longStop, forgets = false }: { longStop: boolean; forgets?: boolean },
): Promise<FleetResult> {
  const startedMs = performance.now();
  const { config, calls: plans } = planRound(seed, round);
  const dice = diceOf('fleet', seed, round);
  await using world = await openFleet(config, forgets);
  await world.provider.startRound(seed, round);
  const books = openBooks(world.valkey);
  const beganMs = Date.now();
  try {
    const watch = books.watch();
    const faults = planFaults(dice);
    const [calls] = await Promise.all([
      Promise.all(plans.map(async (plan): Promise<CallLog> => {
        const member = diceOf('member', seed, round, plan.n).int(MEMBERS);
        await sleep(plan.startMs * SPREAD);
        return send({
          url: await world.url(member), key: keyString(plan.key, config.keys[plan.key].rotation), plan,
          ended: () => undefined,
        });
      })),
      injectFaults(world, faults),
      longStop ? sleep(LOAD_MS / 3).then(() => world.stop(dice.int(MEMBERS), LONG_STOP_MS)) : undefined,
    ]);
    const unrest = await quiet(world, books);
    const samples = await watch.stop();
    const { attempts, strange } = await world.provider.log();
    const happened = {
      versions: world.versions, kills: world.kills, pauses: world.pauses, drains: world.drains,
      violations: world.violations,
    };
    const evidence: Evidence = {
      calls, attempts, samples, happened, records: await books.records(), output: withoutExpected(world.output()),
      providerPort: new URL(world.provider.url).port,
    };
    const early = evidence.records.filter(({ createdMs }) => createdMs < beganMs - 1).map(({ id }) =>
      `the record ${id} is older than the round`);
    return {
      evidence, seconds: (performance.now() - startedMs) / 1_000, faults: faults.map(({ kind }) => kind)
        .concat(longStop ? ['long stop' as 'stop'] : []),
      violations: [...unrest, ...early, ...strange.map((each) =>
        `the provider was sent ${each}`), ...await balance(books, evidence), ...refused(evidence),
        ...reconcile(evidence).filter((each) => !(forgets && INTERRUPTED.test(each))),
      ],
    };
  } finally {
    books.close();
  }
}

function planFaults(dice: Dice): Fault[] {
  return Array.from({ length: between(dice, 4, 9) }, (): Fault => {
    const member = dice.int(MEMBERS);
    const kind = weighted(dice, {
      kill: 4, stop: 3, 'kill server': 2, 'stop server': 2, disconnect: 2, terminate: 2, edit: 4,
      'lose answers': 3, 'lose requests': 2, delay: 2,
    });
    if (kind === 'edit') return { kind, edit: planEdit(dice) };
    if (kind === 'kill' || kind === 'disconnect' || kind === 'terminate') return { kind, member };
    return { kind, member, ms: between(dice, 100, kind === 'stop' ? 2_500 : 1_500) };
  });
}

/** Strikes one fault after another while calls come. */
async function injectFaults(world: FleetWorld, faults: readonly Fault[]): Promise<void> {
  const draining: Promise<void>[] = [];
  for (const fault of faults) {
    await sleep(LOAD_MS / (faults.length + 1));
    switch (fault.kind) {
      case 'kill': await world.kill(fault.member); break;
      case 'stop': await world.stop(fault.member, fault.ms); break;
      case 'kill server': await world.killServer(fault.ms); break;
      case 'stop server': await world.stopServer(fault.ms); break;
      case 'disconnect': await world.disconnect(); break;
      // edits and other faults happen while it drains
      case 'terminate': draining.push(world.terminate(fault.member)); break;
      case 'edit': await world.edit(fault.edit); break;
      case 'delay': draining.push(world.disturb(fault.member, { kind: 'delay', ms: SLOW_MS }, fault.ms)); break;
      default: draining.push(world.disturb(fault.member, { kind: fault.kind }, fault.ms));
    }
  }
  await Promise.all(draining);
}

/** Waits until nothing is held, taken or running; says what does not come to rest. */
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

async function unrest({ provider }: FleetWorld, books: FleetBooks): Promise<string> {
  const { held, accountHeld } = await books.tally();
  const left = [...KEY_NAMES.map((name) => [`held of ${name}`, held[name]] as const), ...ACCOUNT_NAMES.map((name) =>
    [`held of account ${name}`, accountHeld[name]] as const)];
  const { inFlight } = await provider.log();
  return [...left.filter(([, amount]) => amount !== 0n).map(([name, amount]) => `${name} ${amount}`), ...inFlight > 0
    ? [`${inFlight} calls at the provider`]
    : [], ...await books.leaks()].join(', ');
}

/** Records add up to what is spent. */
async function balance(books: FleetBooks, { records }: Evidence): Promise<string[]> {
  const { accountSpent, spent } = await books.tally();
  const sum = (mine: typeof records): bigint => mine.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n);
  return [
    ...ACCOUNT_NAMES.map((name) => ({
      name: `account ${name}`, said: accountSpent[name],
      records: sum(records.filter(({ account }) => account === `team/${name}`)),
    })),
    ...KEY_NAMES.map((name) =>
      ({ name: `key ${name}`, said: spent[name], records: sum(records.filter(({ key }) => key === uidOf(name))) })),
  ].filter((each) => each.said !== each.records).map(({ name, said, records: total }) =>
    `${name} has spent ${said}, and its records add up to ${total}`);
}

/** A call that never came to a provider costs nothing, and is told why. */
function refused({ calls, attempts, records }: Evidence): string[] {
  const forwarded = new Set(attempts.map(({ asked: { n } }) => n));
  const byId = new Map(records.map((record) => [record.id, record]));
  return calls.filter(({ plan, status }) => status >= 400 &&
    !forwarded.has(plan.n)).flatMap(({ plan, id, status, said }) => {
    const record = byId.get(id);
    const wrong = record && record.costNanoUsd > 0n
      ? [`call ${plan.n} was refused with ${status}, and billed: ${record.status} ${record.costNanoUsd}`]
      : [];
    const isExplained =
      status !== 503 || said === '' || /ledger_unavailable|The ledger cannot|shutting down/.test(said);
    return isExplained
      ? wrong
      : [...wrong, `call ${plan.n} was refused with 503 and not told why: ${said.slice(0, 200)}`];
  });
}

/** What a gateway says when its server is away. */
function withoutExpected(output: string): string {
  return output.split('\n').filter((line) => !line.includes('"level":"error"') || !line.includes('the ledger'))
    .join('\n');
}
