/**
 * One round: puts its configuration in force, runs clients and faults, waits for quiet, and reconciles everything that
 * is known of it with the books.
 */
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { windowOf } from '#ledger/periods.ts';
import { balance, keysTell } from './balance.ts';
import { ACCOUNT_NAMES, KEY_NAMES, keyString } from './config.ts';
import type { AccountLimit, AccountName, Config, KeyName } from './config.ts';
import { send } from './client.ts';
import type { CallLog } from './client.ts';
import { diceOf } from './dice.ts';
import { injectFaults, planFaults } from './faults.ts';
import { keptTell } from './kept.ts';
import { byName } from './ledger-file.ts';
import { LOAD_MS, planRound } from './plan.ts';
import type { CallPlan } from './plan.ts';
import { reconcile } from './reconcile.ts';
import type { Evidence } from './reconcile.ts';
import { refusedAsFull } from './refusals.ts';
import { judgeBatches } from './batches/judge.ts';
import type { BatchEvidence } from './batches/judge.ts';
import { batchBalance, batchEvidence, isOfBatch, playBatches } from './batches/play.ts';
import { judgeSessions } from './sessions/judge.ts';
import type { SessionEvidence } from './sessions/judge.ts';
import { isOfSession, playSessions, sessionBalance, sessionEvidence } from './sessions/play.ts';
import { keepsBooks } from './store.ts';
import type { LedgerKind } from './store.ts';
import { contradictedWindows, isShort, spentUnder, windowOfKey } from './windows.ts';
import type { World } from './world.ts';

export interface RoundResult {
  readonly round: number;
  readonly evidence: Evidence;
  readonly sessions: SessionEvidence;
  readonly batches: BatchEvidence;
  readonly violations: readonly string[];
  /** The kinds of the faults. */
  readonly faults: readonly string[];
  readonly durationMs: number;
}

/** Longer than a lease: the leases of a stopped process end in this time. */
const LONG_STOP_MS = 27_000;
/** Some calls of a round with a long stop come while it lasts, and after it. */
const LATE_MS = 40_000;
const EVERY_LATE = 6;
/** Time for leases to end, on a machine that may be busy. */
const QUIET_MS = 60_000;
/** How many consecutive looks must find nothing held. */
const LOOKS = 4;
const LOOK_MS = 100;
/** Longer than a call counts by the minute. */
const RECENT_MS = 70_000;
/** The calls of a killed gateway are known to the store alone until they are reaped; it may lose them before that. */
const INTERRUPTED = /^call .*; client \d+ None .*: the provider had it, and it is lost$/s;

export async function playRound(world: World, seed: number, round: number): Promise<RoundResult> {
  const startedMs = performance.now();
  const plan = planRound(seed, round);
  const dice = diceOf('faults', seed, round);
  const faults = planFaults(dice, world.ledger, { members: world.members, loadMs: LOAD_MS });
  const isLong = hasLongStop(world.ledger, round);
  await world.provider.startRound(seed, round);
  await world.startRound(await absolute(plan.config, world));
  world.takeOutput();
  const beganMs = Date.now();
  const memberOf = (n: number): number => diceOf('member', seed, round, n).int(world.members);
  const ends = new EventEmitter();
  const call = async (each: CallPlan): Promise<CallLog> => {
    const isLate = isLong && each.n % EVERY_LATE === 0;
    const lateMs = diceOf('late', seed, round, each.n).int(LATE_MS);
    await sleep(isLate ? lateMs : each.startMs);
    const member = memberOf(each.n);
    return send({
      url: await world.url(member),
      key: keyString(each.key, world.config.keys[each.key].rotation),
      plan: each,
      ended: () => ends.emit(String(member)),
    });
  };
  const watch = world.books.watch();
  const [calls, talks, bulk] = await Promise.all([
    Promise.all(plan.calls.map(call)),
    playSessions(world, seed, round),
    playBatches(world, seed, round),
    injectFaults(world, faults, { ms: LOAD_MS, ends }),
    isLong ? longStop(world, { member: dice.int(world.members), afterMs: LOAD_MS / 3 }) : undefined,
  ]);
  const unrest = await quiet(world);
  const samples = await watch.stop();
  const { attempts, strange } = await world.provider.log();
  const [tally, all] = [await world.books.tally(), await world.books.records()];
  const fresh = all.filter(({ id }) => !world.seen.has(id));
  const sessions = sessionEvidence(world, talks, fresh);
  const batches = batchEvidence(world, bulk, fresh);
  const evidence: Evidence = {
    calls,
    attempts,
    samples,
    happened: world.happened,
    records: fresh.filter((record) => !isOfSession(record) && !isOfBatch(record)),
    earlierRecords: all.filter(({ id }) => world.seen.has(id)),
    output: world.takeOutput(),
    beganAnewMs: beganAnew(world),
    earlier: world.recent,
    providerPort: new URL(world.provider.url).port,
  };
  for (const { id } of fresh) world.seen.add(id);
  world.recent = [...world.recent, ...calls].filter(({ overMs }) => overMs > Date.now() - RECENT_MS);
  const early = evidence.records.filter(({ createdMs }) => createdMs < beganMs - 1);
  return {
    round,
    evidence,
    sessions,
    batches,
    faults: [...faults.faults.map(({ kind }) => kind), ...(isLong ? ['long stop'] : [])],
    violations: [
      ...unrest,
      ...early.map(({ id }) => `the record ${id} is older than the round`),
      ...strange.map((each) => `the provider was sent ${each}`),
      ...(await world.books.contradictions()),
      ...balance(tally, all),
      ...contradictedWindows(evidence, { tally, sinceMs: knownSince(world, beganMs), config: world.config }),
      ...(await keysTell(world, round % world.members)),
      ...(await keptTell(world, { ...evidence, memberOf })),
      ...judgeSessions(sessions),
      ...judgeBatches(batches),
      ...(await batchBalance(world)),
      ...(await sessionBalance(world, all)),
      ...refusedAsFull(evidence, { pauses: evidence.happened.pauses, memberOf }),
      ...reconcile(evidence).filter((each) => !(world.ledger === 'forgetful' && INTERRUPTED.test(each))),
    ],
    durationMs: performance.now() - startedMs,
  };
}

/** The memory of a single gateway has what counts by the minute; a forgetful store may lose it at any time. */
function beganAnew({ ledger, happened: { kills, drains } }: World): readonly number[] | undefined {
  if (ledger === 'forgetful') return undefined;
  return ledger === 'file' ? [...kills, ...drains.flatMap(({ fromMs, toMs }) => [fromMs, toMs])] : [];
}

/** Since when the ledger knows all windows; a store that was emptied overcounts those that began before. */
function knownSince({ ledger }: World, beganMs: number): number {
  return keepsBooks(ledger) ? beganMs : Infinity;
}

/** One gateway has no leases that others watch, and stands still for so long in fewer rounds. */
function hasLongStop(ledger: LedgerKind, round: number): boolean {
  return ledger === 'file' ? round % 8 === 5 : round % 2 === 1;
}

async function longStop(
  world: World,
  { member, afterMs }: { readonly member: number; readonly afterMs: number },
): Promise<void> {
  await sleep(afterMs);
  await world.stop(member, { ms: LONG_STOP_MS, thenKill: false });
}

/** Adds what is already spent to the limits, except in short windows, and makes new key strings. */
async function absolute(config: Config, world: World): Promise<Config> {
  const tally = world.rounds === 0 ? undefined : await world.books.tally();
  const spentBy = (name: KeyName): bigint => {
    const window = windowOfKey(name);
    return tally && !(window && isShort(window)) ? tally.spent[name] : 0n;
  };
  const spentBefore = (account: AccountName, limit: AccountLimit): bigint => {
    const window = windowOf(limit);
    return tally && !(window && isShort(window)) ? spentUnder(tally, account, limit) : 0n;
  };
  const rotation = 100 * world.rounds++;
  return {
    ...config,
    keys: byName(KEY_NAMES, (name) => {
      const { limitNanoUsd, ...rest } = config.keys[name];
      return {
        ...rest,
        rotation,
        limitNanoUsd: limitNanoUsd === null ? null : limitNanoUsd + spentBy(name),
      };
    }),
    accountLimits: byName(ACCOUNT_NAMES, (name) =>
      config.accountLimits[name].map((limit) => ({ ...limit, nanoUsd: limit.nanoUsd + spentBefore(name, limit) })),
    ),
    creditsNanoUsd: byName(ACCOUNT_NAMES, (name) => config.creditsNanoUsd[name] + (tally?.accountSpent[name] ?? 0n)),
  };
}

/** Waits until nothing is held, taken or running. Resolves with what does not settle. */
async function quiet(world: World): Promise<string[]> {
  const untilMs = Date.now() + QUIET_MS;
  let [still, busy] = [0, ''];
  while (still < LOOKS && Date.now() < untilMs) {
    busy = await unrest(world).catch((error: unknown) => String(error));
    still = busy === '' ? still + 1 : 0;
    await sleep(LOOK_MS);
  }
  return still < LOOKS ? [`it does not come to rest: ${busy}`] : [];
}

async function unrest(world: World): Promise<string> {
  const { held, accountHeld } = await world.books.tally();
  const left = [
    ...KEY_NAMES.map((name) => [`held of ${name}`, held[name]] as const),
    ...ACCOUNT_NAMES.map((name) => [`held of account ${name}`, accountHeld[name]] as const),
  ];
  const { inFlight } = await world.provider.log();
  return [
    ...left.filter(([, amount]) => amount !== 0n).map(([name, amount]) => `${name} ${amount}`),
    ...(inFlight > 0 ? [`${inFlight} calls at the provider`] : []),
    ...(await world.books.leaks()),
    ...(await world.unrest()),
  ].join(', ');
}
