/**
 * Whether a Valkey server has room for kept responses. The ledger needs the server's memory, and its calls are refused
 * once the memory is full; so responses are kept in the first half of it only.
 */
import type { Clock } from '../clock.ts';
import type { ValkeyConnection } from '../ledger/valkey/connection.ts';

const SHARE = 0.5;
/** How old a server's figures may be. */
const FRESH_MS = 1_000;

export interface ValkeyRoom {
  /** `base` is the key prefix of a bucket. Rejects where the server does not say how much memory it has. */
  isFor(base: string, bytes: number): Promise<boolean>;
}

interface Figures {
  readonly atMs: number;
  readonly free: Promise<number>;
}

/** Asks the server of each bucket now and then. */
export function createRoom(
  connection: Pick<ValkeyConnection, 'command'>,
  clock: Pick<Clock, 'monotonicMs'>,
): ValkeyRoom {
  const latest = new Map<string, Figures>();
  const freeOf = (base: string): Promise<number> => {
    const nowMs = clock.monotonicMs();
    const known = latest.get(base);
    if (known && nowMs - known.atMs < FRESH_MS) return known.free;
    const free = connection.command(base, ['INFO', 'memory']).then((info) => freeBytes(String(info)));
    latest.set(base, { atMs: nowMs, free });
    return free;
  };
  return { isFor: async (base, bytes) => bytes <= (await freeOf(base)) };
}

/** What is left of the share in the answer to `INFO memory`. A server without a limit has the machine's memory. */
export function freeBytes(info: string): number {
  const used = figure(info, 'used_memory');
  const limit = figure(info, 'maxmemory') || figure(info, 'total_system_memory');
  if (used === undefined || !limit) throw new Error('the Valkey server does not say how much memory it has');
  return limit * SHARE - used;
}

function figure(info: string, name: string): number | undefined {
  const [, digits] = new RegExp(String.raw`^${name}:(\d+)\r?$`, 'm').exec(info) ?? [];
  return digits === undefined ? undefined : Number(digits);
}
