/**
 * The faults of a round, drawn from its dice: of members, of the store, of networks and disks; and edits, which are
 * made at the same time.
 */
import { once } from 'node:events';
import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNT_NAMES, KEY_NAMES } from './config.ts';
import type { AccountName, Edit, KeyName } from './config.ts';
import { between, weighted } from './dice.ts';
import type { Dice } from './dice.ts';
import { planEdit } from './plan.ts';
import { LOST_BALANCES } from './store.ts';
import type { LedgerKind, LostBalance } from './store.ts';
import type { World } from './world.ts';

type Strike =
  /** `atEnd`: in the moment in which a client of the member has seen the end of its answer. */
  | { readonly kind: 'kill'; readonly member: number; readonly atEnd: boolean }
  | { readonly kind: 'terminate'; readonly member: number; readonly clients: 'wait' | 'go on' }
  | { readonly kind: 'disconnect' }
  | { readonly kind: 'stop'; readonly member: number; readonly ms: number; readonly thenKill: boolean }
  | { readonly kind: 'lose answers' | 'lose requests' | 'delay'; readonly member: number; readonly ms: number }
  | { readonly kind: 'full disk'; readonly member: number; readonly ms: number; readonly bytes: number }
  | { readonly kind: 'kill server' | 'stop server'; readonly server: number; readonly ms: number }
  | { readonly kind: 'lose balance'; readonly owner: KeyName | AccountName; readonly what: LostBalance };

/** `edit`: made at once, while the fault lasts. `goesOn`: the next fault does not wait for its end. */
type Fault = Strike & { readonly edit: Edit | undefined; readonly goesOn: boolean };

/** `edits`: those that no fault is waited for. */
export interface FaultPlan {
  readonly faults: readonly Fault[];
  readonly edits: readonly { readonly atMs: number; readonly edit: Edit }[];
}

const ON_ONE_MACHINE = { kill: 5, stop: 3, terminate: 2, 'full disk': 3 } as const;
const IN_A_FLEET = {
  kill: 4,
  stop: 3,
  'kill server': 2,
  'stop server': 2,
  disconnect: 2,
  terminate: 2,
  'lose answers': 3,
  'lose requests': 2,
  delay: 2,
  'full disk': 3,
  'lose balance': 2,
} as const;
/** Later than the ledger's timeout, there and back. */
const SLOW_MS = 150;
/** A full disk takes nothing at all, or the rest of a block: then a write is cut short. */
const MOST_BYTES = 60_000;
/** How long to wait for the end of an answer, which may never come. */
const END_PATIENCE_MS = 1_000;

/** Some rounds have no fault: then nothing excuses a refusal or an error in the log. */
export function planFaults(
  dice: Dice,
  ledger: LedgerKind,
  range: { readonly members: number; readonly loadMs: number },
): FaultPlan {
  const count = dice.chance(0.1) ? 0 : ledger === 'file' ? between(dice, 1, 4) : between(dice, 4, 9);
  return {
    faults: Array.from({ length: count }, () => planFault(dice, ledger, range.members)),
    edits: Array.from({ length: between(dice, 2, 7) }, () => ({
      atMs: dice.int(range.loadMs),
      edit: planEdit(dice),
    })).sort((a, b) => a.atMs - b.atMs),
  };
}

function planFault(dice: Dice, ledger: LedgerKind, members: number): Fault {
  const kind: Strike['kind'] = ledger === 'file' ? weighted(dice, ON_ONE_MACHINE) : weighted(dice, IN_A_FLEET);
  const edit = dice.chance(0.3) ? planEdit(dice) : undefined;
  // a store that forgets needs the journal of a gateway whose disk was full a moment ago
  const goesOn =
    kind !== 'kill' && kind !== 'kill server' && dice.chance(0.6) && !(ledger === 'forgetful' && kind === 'full disk');
  return { ...planStrike(dice, kind, members), edit, goesOn };
}

function planStrike(dice: Dice, kind: Strike['kind'], members: number): Strike {
  const member = dice.int(members);
  switch (kind) {
    case 'kill':
      return { kind, member, atEnd: dice.chance(0.6) };
    case 'terminate':
      // a single gateway would refuse all calls of the round while it drains
      return { kind, member, clients: members === 1 ? 'wait' : dice.pick(['wait', 'go on'] as const) };
    case 'stop':
      return { kind, member, ms: between(dice, 50, dice.chance(0.3) ? 2_500 : 900), thenKill: dice.chance(0.35) };
    case 'disconnect':
      return { kind };
    case 'kill server':
    case 'stop server':
      return { kind, server: member, ms: between(dice, 100, 1_500) };
    case 'lose balance':
      return { kind, owner: dice.pick([...ACCOUNT_NAMES, ...KEY_NAMES]), what: dice.pick(LOST_BALANCES) };
    case 'full disk':
      return {
        // some longer than a hold waits for the disk
        kind,
        member,
        ms: between(dice, 200, dice.chance(0.3) ? 5_000 : 1_500),
        bytes: dice.chance(0.5) ? 0 : dice.int(MOST_BYTES),
      };
    default:
      return { kind, member, ms: between(dice, 100, 1_500) };
  }
}

interface Load {
  /** The time in which faults strike. */
  readonly ms: number;
  /** Emits a member's number when one of its clients has seen the end of its answer. */
  readonly ends: EventEmitter;
}

/** Strikes one fault after another, and edits meanwhile; resolves when everything is over. */
export async function injectFaults(world: World, { faults, edits }: FaultPlan, load: Load): Promise<void> {
  const startedMs = Date.now();
  const editing = edits.map(async ({ atMs, edit }) => {
    await sleep(Math.max(0, startedMs + atMs - Date.now()));
    await world.edit(edit);
  });
  const going: Promise<void>[] = [];
  for (const fault of faults) {
    await sleep(load.ms / (faults.length + 1));
    const strike = inject(world, fault, load.ends);
    // it is awaited later, by what may come long after it has failed
    strike.catch(() => undefined);
    if (fault.edit) going.push(world.edit(fault.edit));
    if (fault.goesOn) going.push(strike);
    else await strike;
  }
  await Promise.all([...going, ...editing]);
}

async function inject(world: World, fault: Fault, ends: EventEmitter): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      if (fault.atEnd) await Promise.race([once(ends, String(fault.member)), sleep(END_PATIENCE_MS)]);
      return world.kill(fault.member);
    case 'stop':
      return world.stop(fault.member, fault);
    case 'terminate':
      return world.terminate(fault.member, fault.clients);
    case 'full disk':
      return world.fillDisk(fault.member, fault.bytes, fault.ms);
    case 'kill server':
      return world.killServer(fault.server, fault.ms);
    case 'stop server':
      return world.stopServer(fault.server, fault.ms);
    case 'disconnect':
      return world.disconnect();
    case 'lose balance':
      return world.loseBalance(fault.owner, fault.what);
    case 'delay':
      return world.disturb(fault.member, { kind: 'delay', ms: SLOW_MS }, fault.ms);
    default:
      return world.disturb(fault.member, { kind: fault.kind }, fault.ms);
  }
}
