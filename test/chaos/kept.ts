/** A response that says it is stored is kept: once its client has seen its end, it can be fetched by its id. */
import type { CallLog } from './client.ts';
import { KEYS, keyString } from './config.ts';
import type { World } from './world.ts';

const ANSWER_MS = 10_000;
/** How many are fetched after a round. */
const MOST = 12;
/** The key that fetches them has no limits, and its account is that of most keys. */
const ASKER = 'free';
const ID = /"id":"(resp_[0-9a-f]{32})"/;
const LOST = /cannot store a response/;

interface Kept {
  readonly calls: readonly CallLog[];
  /** What the gateways wrote: where one could not be kept, their log says so, and nothing is checked. */
  readonly output: string;
  /** Which gateway a call was sent to: each has a sealing key of its own here, with which it keeps responses. */
  readonly memberOf: (n: number) => number;
}

export async function keptTell(world: World, { calls, output, memberOf }: Kept): Promise<string[]> {
  const { config } = world;
  if (world.ledger === 'forgetful' || !config.keys[ASKER].enabled || LOST.test(output)) return [];
  const stored = calls
    .filter(isStored)
    .flatMap(({ plan, said }) => {
      const [, id] = ID.exec(said) ?? [];
      return id === undefined ? [] : [{ n: plan.n, id }];
    })
    .slice(-MOST);
  const headers = { authorization: `Bearer ${keyString(ASKER, config.keys[ASKER].rotation)}` };
  const found = await Promise.all(
    stored.map(async ({ n, id }) => {
      const url = await world.url(memberOf(n));
      const response = await fetch(`${url}/v1/responses/${id}`, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
      const body = (await response.json()) as { readonly id?: string };
      if (response.status === 200 && body.id === id) return [];
      return [`call ${n}: its response ${id} is stored, and asking for it is answered with ${response.status}`];
    }),
  );
  return found.flat();
}

/** Its client has the whole response, which an account's key of this group can fetch. */
export function isStored({ plan, status, end }: CallLog): boolean {
  return (
    plan.path === '/v1/responses' &&
    status === 200 &&
    end === 'Whole' &&
    KEYS[plan.key].account === KEYS[ASKER].account &&
    !plan.body.includes('"store":false')
  );
}
