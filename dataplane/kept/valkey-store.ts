/**
 * Keeps responses in the Valkey that all proxies share, over a connection separate from the ledger's. A key holds each
 * response, and two keys the order and the sizes of an account's responses. All of them expire by the store's clock.
 */
import { LedgerUnavailable } from '../ledger/ledger.ts';
import { openConnection } from '../ledger/valkey/connection.ts';
import { bucketBases, bucketOf, parseValkeyUrl } from '../ledger/valkey/location.ts';
import type { ResponsePlace, ResponseStore } from './store.ts';

/**
 * Drops the ids of expired responses, adds this one, and deletes the oldest ones until all are within the limit. The
 * size of all together is the field of that name: ids begin with "resp_".
 */
const PUT = `
local order, sizes, prefix = KEYS[1], KEYS[2], KEYS[3]
local id, value, size, keep_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local now_ms, most = tonumber(ARGV[5]), tonumber(ARGV[6])
local function drop(dropped)
  local bytes = redis.call('HGET', sizes, dropped)
  redis.call('DEL', prefix .. dropped)
  redis.call('ZREM', order, dropped)
  redis.call('HDEL', sizes, dropped)
  if bytes then redis.call('HINCRBY', sizes, 'total', '-' .. bytes) end
end
for _, expired in ipairs(redis.call('ZRANGEBYSCORE', order, '-inf', now_ms)) do drop(expired) end
drop(id)
redis.call('SET', prefix .. id, value, 'PX', keep_ms)
redis.call('ZADD', order, now_ms + tonumber(keep_ms), id)
redis.call('HSET', sizes, id, size)
local total = redis.call('HINCRBY', sizes, 'total', size)
while total > most do
  local oldest = redis.call('ZRANGE', order, 0, 0)[1]
  if not oldest then break end
  drop(oldest)
  total = tonumber(redis.call('HGET', sizes, 'total'))
end
-- those of earlier responses may be kept for longer
if redis.call('PTTL', order) < tonumber(keep_ms) then redis.call('PEXPIRE', order, keep_ms) end
if redis.call('PTTL', sizes) < tonumber(keep_ms) then redis.call('PEXPIRE', sizes, keep_ms) end
return total`;

const DELETE = `
local order, sizes, prefix, id = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local bytes = redis.call('HGET', sizes, id)
redis.call('ZREM', order, id)
redis.call('HDEL', sizes, id)
if bytes then redis.call('HINCRBY', sizes, 'total', '-' .. bytes) end
return redis.call('DEL', prefix .. id)`;

/** Connects in the background. */
export function openValkeyStore(url: string): ResponseStore {
  const location = parseValkeyUrl(url);
  const bases = bucketBases(location);
  const connection = openConnection(location);
  /** They are in one slot: the order, the sizes, and what the responses' own keys begin with. */
  const keysOf = (account: string): [order: string, sizes: string, prefix: string] => {
    const base = bases[bucketOf(account, bases.length)] ?? '';
    return [`${base}kept:order:${account}`, `${base}kept:sizes:${account}`, `${base}kept:response:${account}:`];
  };
  const keyOf = ({ account, id }: ResponsePlace): string => keysOf(account)[2] + id;
  const run = (script: string, account: string, values: readonly string[]): Promise<unknown> => {
    const keys = keysOf(account);
    return answerOf(connection.write(keys[0], ['EVAL', script, String(keys.length), ...keys, ...values]));
  };
  return {
    async put({ account, id, bytes, nowMs, keepMs, maxBytes }) {
      const value = Buffer.from(bytes).toString('base64');
      const numbers = [value.length, keepMs, nowMs, maxBytes].map(String);
      await run(PUT, account, [id, value, ...numbers]);
    },
    async sizeOf(place) {
      const key = keyOf(place);
      const length = Number(await answerOf(connection.command(key, ['STRLEN', key])));
      return length === 0 ? undefined : length;
    },
    async get(place) {
      const key = keyOf(place);
      const value = await answerOf(connection.command(key, ['GET', key]));
      return typeof value === 'string' ? Buffer.from(value, 'base64') : undefined;
    },
    delete: async ({ account, id }) => Number(await run(DELETE, account, [id])) === 1,
    async close() {
      connection.close();
    },
  };
}

function answerOf(answer: Promise<unknown>): Promise<unknown> {
  return answer.catch((error: unknown) => {
    throw new LedgerUnavailable(error instanceof Error ? error.message : String(error));
  });
}
