/** The faults of a round on a fleet, drawn from its dice: of members, of the store, of networks, and edits. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Edit } from './config.ts';
import { between, weighted } from './dice.ts';
import type { Dice } from './dice.ts';
import type { LedgerKind } from './fleet-store.ts';
import type { FleetWorld } from './fleet-world.ts';
import { planEdit } from './plan.ts';

type Strike =
  | { readonly kind: 'kill' | 'terminate'; readonly member: number }
  | { readonly kind: 'disconnect' | 'edit' }
  | { readonly kind: 'stop' | 'lose answers' | 'lose requests' | 'delay'; readonly member: number; readonly ms: number }
  | { readonly kind: 'full disk'; readonly member: number; readonly ms: number; readonly bytes: number }
  | { readonly kind: 'kill server' | 'stop server'; readonly server: number; readonly ms: number };

/** `edit`: made at once, while the fault lasts. `goesOn`: the next fault does not wait for its end. */
export type FleetFault = Strike & { readonly edit: Edit | undefined; readonly goesOn: boolean };

const ON_ONE_MACHINE = { kill: 5, stop: 3, terminate: 3, edit: 2, 'full disk': 5 } as const;
const IN_A_FLEET = {
  kill: 4,
  stop: 3,
  'kill server': 2,
  'stop server': 2,
  disconnect: 2,
  terminate: 2,
  edit: 3,
  'lose answers': 3,
  'lose requests': 2,
  delay: 2,
  'full disk': 3,
} as const;
/** Later than the ledger's timeout, there and back. */
const SLOW_MS = 150;
/** A full disk takes nothing at all, or the rest of a block: then a write is cut short. */
const MOST_BYTES = 60_000;

export function planFleetFaults(dice: Dice, ledger: LedgerKind, members: number): FleetFault[] {
  return Array.from({ length: between(dice, 4, 9) }, (): FleetFault => {
    const kind: Strike['kind'] = ledger === 'file' ? weighted(dice, ON_ONE_MACHINE) : weighted(dice, IN_A_FLEET);
    const edit = kind === 'edit' || dice.chance(0.4) ? planEdit(dice) : undefined;
    const strike = planStrike(dice, kind, members);
    // a store that forgets needs the journal of a gateway whose disk was full a moment ago
    const goesOn =
      kind !== 'kill' &&
      kind !== 'kill server' &&
      dice.chance(0.6) &&
      !(ledger === 'forgetful' && kind === 'full disk');
    return { ...strike, edit, goesOn };
  });
}

function planStrike(dice: Dice, kind: Strike['kind'], members: number): Strike {
  const member = dice.int(members);
  switch (kind) {
    case 'kill':
    case 'terminate':
      return { kind, member };
    case 'disconnect':
    case 'edit':
      return { kind };
    case 'kill server':
    case 'stop server':
      return { kind, server: member, ms: between(dice, 100, 1_500) };
    case 'full disk':
      return {
        // some longer than a hold waits for the disk
        kind,
        member,
        ms: between(dice, 200, dice.chance(0.3) ? 5_000 : 1_500),
        bytes: dice.chance(0.5) ? 0 : dice.int(MOST_BYTES),
      };
    default:
      return { kind, member, ms: between(dice, 100, kind === 'stop' ? 2_500 : 1_500) };
  }
}

/** Strikes one fault after another during so many milliseconds; resolves when the last one is over. */
export async function injectFaults(world: FleetWorld, faults: readonly FleetFault[], loadMs: number): Promise<void> {
  const going: Promise<void>[] = [];
  for (const fault of faults) {
    await sleep(loadMs / (faults.length + 1));
    const strike = inject(world, fault);
    // it is awaited later, by what may come long after it has failed
    strike.catch(() => undefined);
    if (fault.edit) await world.edit(fault.edit);
    if (fault.goesOn) going.push(strike);
    else await strike;
  }
  await Promise.all(going);
}

function inject(world: FleetWorld, fault: FleetFault): Promise<void> {
  switch (fault.kind) {
    case 'kill':
      return world.kill(fault.member);
    case 'stop':
      return world.stop(fault.member, fault.ms);
    case 'terminate':
      return world.terminate(fault.member);
    case 'full disk':
      return world.fillDisk(fault.member, fault.bytes, fault.ms);
    case 'kill server':
      return world.killServer(fault.server, fault.ms);
    case 'stop server':
      return world.stopServer(fault.server, fault.ms);
    case 'disconnect':
      return world.disconnect();
    case 'edit':
      return Promise.resolve();
    case 'delay':
      return world.disturb(fault.member, { kind: 'delay', ms: SLOW_MS }, fault.ms);
    default:
      return world.disturb(fault.member, { kind: fault.kind }, fault.ms);
  }
}
