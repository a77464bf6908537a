/** Takes holds away from a ledger's store, as a server that evicts keys does. */
import type { ValkeyServer } from './valkey.ts';

/** Calls that run begin with H. */
const LOSE_HOLDS = `
  local lost = 0
  for _, name in ipairs(redis.call('KEYS', KEYS[1] .. 'c:*')) do
    if string.sub(redis.call('GET', name) or '', 1, 1) == 'H' then lost = lost + redis.call('DEL', name) end
  end
  return lost`;

/** Deletes the holds of all running calls of a bucket, and nothing else. Returns their number. */
export async function loseHolds(server: Pick<ValkeyServer, 'command'>, base: string): Promise<number> {
  return Number(await server.command('EVAL', LOSE_HOLDS, '1', base));
}
