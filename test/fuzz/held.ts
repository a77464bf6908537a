/** The resident memory that compressed bodies make a gateway hold, by encoding and state of the key. */
import { bomb } from './bombs.ts';
import type { Target } from './bombs.ts';
import type { Measured } from './measured.ts';
import { KEYS } from '../support/manifests.ts';

const MIB = 2 ** 20;
const REFUSALS = [400, 401, 402, 404, 405, 413, 429, 503];
const WITHOUT_KEY = [400, 401, 404, 405];

/** The keys of the requests, by a description. */
export const KEY_STATES: ReadonlyMap<string, string | undefined> = new Map([
  ['without a key', undefined],
  ['with a key without money', KEYS.poor],
  ['with a key', KEYS.main],
]);

export interface Attack {
  readonly targets: readonly Target[];
  readonly encoding: string;
  readonly keyState: string;
  /** The number of connections to each target. All of them send at once. */
  readonly each: number;
}

export interface Held {
  readonly grownBytes: number;
  /** The growth and the processor time, for people. */
  readonly figures: string;
}

/** Throws if a request gets anything but a refusal. */
export async function measureHeld(gateway: Measured, { targets, encoding, keyState, each }: Attack): Promise<Held> {
  const key = KEY_STATES.get(keyState);
  const { rss, cpuMs } = await gateway.memory();
  await Promise.all(
    targets.map(async ([method, path]) => {
      const statuses = await bomb({ url: gateway.url, method, path, encoding, key, count: each });
      const refusals = key === undefined ? WITHOUT_KEY : REFUSALS;
      const other = [...statuses.keys()].filter((status) => !refusals.includes(status));
      if (other.length > 0) throw new Error(`${method} ${path} in ${encoding} ${keyState}: ${other.join(', ')}`);
    }),
  );
  const after = await gateway.memory();
  const grownBytes = after.peakRss - rss;
  const eachMs = (after.cpuMs - cpuMs) / (targets.length * each);
  const grown = `${Math.round(grownBytes / MIB)} MiB`;
  return {
    grownBytes,
    figures: `${encoding} ${keyState}: ${grown}, ${eachMs.toFixed(1)} ms of CPU time per request`,
  };
}
