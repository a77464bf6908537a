/** One round: puts its configuration in force, runs clients and faults, waits for quiet, and reconciles everything. */
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertBalanced, readBooks } from '../support/api/books.ts';
import { refusingUrl } from '../support/mock-provider.ts';
import { ACCOUNT_NAMES, edited, KEY_NAMES, KEYS, keyString } from './config.ts';
import type { Config, KeyName } from './config.ts';
import { send } from './client.ts';
import type { CallLog } from './client.ts';
import { ANSWER_MS, startChaosGateway, sumOfMetric } from './gateway.ts';
import type { Gateway } from './gateway.ts';
import { byName, readRecords, readTally, uidOf } from './ledger-file.ts';
import type { Tally } from './ledger-file.ts';
import { planRound } from './plan.ts';
import type { RoundPlan } from './plan.ts';
import { startProvider } from './provider.ts';
import type { ChaosProvider } from './provider.ts';
import { reconcile } from './reconcile.ts';
import type { Evidence } from './reconcile.ts';
import { watchLedger } from './watch.ts';

/** The parts that outlive a round: the provider, the gateway's data, and the position in its books. */
export interface World {
  readonly provider: ChaosProvider;
  gateway: Gateway | undefined;
  lastSeq: number;
  /** Rounds so far: each has key strings of its own. */
  rounds: number;
  stop(): Promise<void>;
}

export interface RoundResult {
  readonly plan: RoundPlan;
  readonly evidence: Evidence;
  readonly violations: readonly string[];
  readonly durationMs: number;
}

export async function openWorld(): Promise<World> {
  const provider = await startProvider();
  const world: World = {
    provider,
    gateway: undefined,
    lastSeq: 0,
    rounds: 0,
    async stop() {
      await world.gateway?.close();
      await provider.stop();
    },
  };
  return world;
}

export async function playRound(world: World, seed: number, round: number): Promise<RoundResult> {
  const startedMs = performance.now();
  const plan = planRound(seed, round);
  await world.provider.startRound(seed, round);
  const config = absolute(plan.config, world);
  const gateway = await ready(world, config);
  const watch = watchLedger(gateway.dataDir);
  const ends = new EventEmitter();
  const calling = Promise.all(plan.calls.map((each) => call(gateway, each, ends)));
  const [calls] = await Promise.all([calling, injectFaults(gateway, plan, ends)]);
  const unrest = await quiet(world, gateway);
  const samples = await watch.stop();
  const { attempts, strange } = await world.provider.log();
  const records = readRecords(gateway.dataDir, world.lastSeq);
  world.lastSeq = records.at(-1)?.seq ?? world.lastSeq;
  const evidence: Evidence = {
    calls,
    attempts,
    records,
    samples,
    happened: gateway.happened(),
    output: gateway.takeOutput(),
    providerPort: new URL(world.provider.url).port,
  };
  const violations = [
    ...unrest,
    ...strange.map((each) => `the provider was sent ${each}`),
    ...(await books(gateway)),
    ...reconcile(evidence),
  ];
  return { plan, evidence, violations, durationMs: performance.now() - startedMs };
}

/** Limits are beyond what is spent already, and key strings are new ones. */
function absolute(config: Config, world: World): Config {
  const tally = world.gateway && readTally(world.gateway.dataDir);
  const rotation = 100 * world.rounds++;
  return {
    ...config,
    keys: byName(KEY_NAMES, (name) => {
      const { limitNanoUsd, ...rest } = config.keys[name];
      return {
        ...rest,
        rotation,
        limitNanoUsd: limitNanoUsd === null ? null : limitNanoUsd + (tally?.spent[name] ?? 0n),
      };
    }),
    creditsNanoUsd: byName(ACCOUNT_NAMES, (name) => config.creditsNanoUsd[name] + (tally?.accountSpent[name] ?? 0n)),
  };
}

async function ready(world: World, config: Config): Promise<Gateway> {
  if (world.gateway) await world.gateway.apply(config);
  else world.gateway = await startChaosGateway({ url: world.provider.url, nobody: await refusingUrl() }, config);
  // forgets what was in force before this round
  world.gateway.happened();
  return world.gateway;
}

/** Makes a call; `ends` emits an event when its client has seen the end of the answer. */
async function call(gateway: Gateway, plan: RoundPlan['calls'][number], ends: EventEmitter): Promise<CallLog> {
  await sleep(plan.startMs);
  const url = await gateway.url();
  return send({
    url,
    key: keyString(plan.key, gateway.config.keys[plan.key].rotation),
    plan,
    ended: () => {
      ends.emit('end');
    },
  });
}

/** Injects one fault after another; edits are made at the same time, also one after another. */
async function injectFaults(gateway: Gateway, { faults }: RoundPlan, ends: EventEmitter): Promise<void> {
  const startedMs = Date.now();
  let edits = Promise.resolve();
  for (const fault of faults) {
    await sleep(Math.max(fault.restMs, startedMs + fault.atMs - Date.now()));
    switch (fault.kind) {
      case 'kill':
        if (fault.atEnd) await Promise.race([once(ends, 'end'), sleep(END_PATIENCE_MS)]);
        await gateway.kill();
        break;
      case 'stop':
        await gateway.stop(fault.ms, fault.thenKill);
        break;
      case 'terminate':
        await gateway.terminate();
        break;
      case 'edit':
        edits = edits.then(() => gateway.apply(edited(gateway.config, fault.edit)));
    }
  }
  await edits;
}

/** How long to wait for the end of an answer, which may never come. */
const END_PATIENCE_MS = 1_000;
const QUIET_MS = 20_000;
/** How many consecutive polls must find nothing held. */
const POLLS = 4;

/** Waits until nothing is held or taken. Resolves with what does not settle. */
async function quiet(world: World, gateway: Gateway): Promise<string[]> {
  const untilMs = Date.now() + QUIET_MS;
  let [still, busy] = [0, ''];
  while (still < POLLS && Date.now() < untilMs) {
    busy = await unrest(world, gateway);
    still = busy === '' ? still + 1 : 0;
    await sleep(50);
  }
  return still < POLLS ? [`it does not come to rest: ${busy}`] : [];
}

async function unrest({ provider }: World, gateway: Gateway): Promise<string> {
  const page = await gateway.metrics();
  const gauges = ['modelgateway_holds', 'modelgateway_held_usd', 'modelgateway_slots_in_use'].map(
    (name) => [name, sumOfMetric(page, name)] as const,
  );
  const held = readTally(gateway.dataDir);
  const left = held
    ? KEY_NAMES.filter((name) => held.holds[name] > 0).map(
        (name) => [`holds of ${name} in the file`, held.holds[name]] as const,
      )
    : [];
  const { inFlight } = await provider.log();
  return [...gauges, ...left, ['calls at the provider', inFlight] as const]
    .filter(([, count]) => count !== 0)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

/** Checks the balances as a whole, and what keys can see of them. */
async function books(gateway: Gateway): Promise<string[]> {
  try {
    assertBalanced(readBooks(gateway.dataDir));
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
  const tally = readTally(gateway.dataDir);
  if (!tally) return ['there is no ledger'];
  const told = await Promise.all(
    KEY_NAMES.filter((name) => gateway.config.keys[name].enabled).map((name) => keyTells(gateway, name, tally)),
  );
  return told.flat();
}

async function keyTells(gateway: Gateway, name: KeyName, tally: Tally): Promise<string[]> {
  const { config } = gateway;
  const response = await fetch(`${await gateway.url()}/v1/key`, {
    headers: { authorization: `Bearer ${keyString(name, config.keys[name].rotation)}` },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const body = (await response.json()) as { spent_usd?: string; held_usd?: string; balance_usd?: string };
  const balance = config.creditsNanoUsd[KEYS[name].account] - tally.accountSpent[KEYS[name].account];
  const expected = [tally.spent[name], 0n, balance].map(String).join(', ');
  const said = [body.spent_usd, body.held_usd, body.balance_usd].map((each) => String(nano(each ?? ''))).join(', ');
  return response.status === 200 && said === expected
    ? []
    : [`${uidOf(name)} is told ${response.status}: spent, held, balance ${said}; the books say ${expected}`];
}

function nano(decimalUsd: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(decimalUsd) ?? [];
  const amount = BigInt(whole + fraction.padEnd(9, '0'));
  return sign === '-' ? -amount : amount;
}
