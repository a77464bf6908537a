/**
 * Keeps responses and conversations in the Valkey that all proxies share, over a connection separate from the ledger's.
 * A key holds each, and three keys the order, the ends and the sizes of an account's. All of them expire by the store's
 * clock.
 */
import { SYSTEM_CLOCK } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { openConnection } from '../ledger/valkey/connection.ts';
import { bucketBases, bucketOf, parseValkeyUrl } from '../ledger/valkey/location.ts';
import { createRoom } from './valkey-room.ts';
import { MOST_DROPPED, VALUE_OVERHEAD_BYTES } from './store.ts';
import type { KeptPlace, KeptStore, NotPut } from './store.ts';

/** The size of all together is the field "total": ids begin with "resp_" or "conv_". */
const DROP = `
local order, ends, sizes, prefix = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local function drop(id)
  local bytes = redis.call('HGET', sizes, id)
  redis.call('ZREM', order, id)
  redis.call('ZREM', ends, id)
  redis.call('HDEL', sizes, id)
  if bytes then redis.call('HINCRBY', sizes, 'total', '-' .. bytes) end
  return redis.call('UNLINK', prefix .. id)
end`;

/**
 * Deletes expired and the oldest ones, a bounded number because the ledger waits, until this one fits, and adds it unless
 * its value is empty. Returns 1, or 0 for no room, 2 for a change of what it replaces, and 3 if it is larger than all may
 * be; then what has the id stays. Conversations come after all responses in the order.
 */
const PUT = `${DROP}
local id, value, size, keep_ms = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local now_ms, most, most_dropped = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local replaces = ARGV[8]
if replaces ~= '' and redis.call('GETRANGE', prefix .. id, 0, #replaces - 1) ~= replaces then return 2 end
-- the sizes count for nothing once the order is lost
if redis.call('EXISTS', order) == 0 then redis.call('UNLINK', ends, sizes) end
if size > most then return 3 end
local expired = redis.call('ZRANGEBYSCORE', ends, '-inf', now_ms, 'LIMIT', 0, most_dropped)
for _, each in ipairs(expired) do drop(each) end
local dropped = #expired
local function total() return tonumber(redis.call('HGET', sizes, 'total') or 0) end
local more = size - tonumber(redis.call('HGET', sizes, id) or 0)
while total() + more > most do
  local oldest_two = redis.call('ZRANGE', order, 0, 1)
  local oldest = oldest_two[1] ~= id and oldest_two[1] or oldest_two[2]
  if dropped >= most_dropped or not oldest then return 0 end
  drop(oldest)
  dropped = dropped + 1
end
if value == '' then return 1 end
drop(id)
redis.call('SET', prefix .. id, value, 'PX', keep_ms)
redis.call('ZADD', order, string.sub(id, 1, 5) == 'conv_' and now_ms + 1e13 or now_ms, id)
redis.call('ZADD', ends, now_ms + keep_ms, id)
redis.call('HSET', sizes, id, size)
redis.call('HINCRBY', sizes, 'total', size)
-- those of earlier responses may be kept for longer
for _, key in ipairs({order, ends, sizes}) do
  if redis.call('PTTL', key) < keep_ms then redis.call('PEXPIRE', key, keep_ms) end
end
return 1`;

/** By the number that PUT returns. */
const RESULTS: readonly (NotPut | undefined)[] = ['AccountFull', undefined, 'Changed', 'TooLarge'];

/** There is room for a value of this size before it is sent to the server. */
const LARGE_BYTES = 64 * 1024;
const BASE64_GROUP = 3;

const DELETE = `${DROP}
return drop(ARGV[1])`;

/** Connects in the background. */
export function openValkeyStore(url: string, clock: Pick<Clock, 'monotonicMs'> = SYSTEM_CLOCK): KeptStore {
  const location = parseValkeyUrl(url);
  const bases = bucketBases(location);
  const connection = openConnection(location);
  const room = createRoom(connection, clock);
  const baseOf = (account: string): string => bases[bucketOf(account, bases.length)] ?? '';
  /** They are in one slot; what the responses' own keys begin with is the last. */
  const keysOf = (account: string): [order: string, ends: string, sizes: string, prefix: string] => {
    const kept = `${baseOf(account)}kept:`;
    return [
      `${kept}order:${account}`,
      `${kept}ends:${account}`,
      `${kept}sizes:${account}`,
      `${kept}response:${account}:`,
    ];
  };
  const keyOf = ({ account, id }: KeptPlace): string => keysOf(account)[3] + id;
  const run = (script: string, account: string, values: readonly string[]): Promise<unknown> => {
    const keys = keysOf(account);
    return answerOf(connection.write(keys[0], ['EVAL', script, String(keys.length), ...keys, ...values]));
  };
  return {
    async put({ account, id, bytes, nowMs, keepMs, maxBytes, replaces }) {
      const length = 4 * Math.ceil(bytes.length / BASE64_GROUP);
      const size = length + VALUE_OVERHEAD_BYTES;
      if (!(await answerOf(room.isFor(baseOf(account), size)))) return 'StoreFull';
      const numbers = [size, keepMs, nowMs, maxBytes, MOST_DROPPED].map(String);
      const head = Buffer.from(replaces ?? []).toString('base64'); // a multiple of three bytes has no padding
      const put = async (value: string): Promise<NotPut | undefined> =>
        RESULTS[Number(await run(PUT, account, [id, value, ...numbers, head]))];
      const refusal = length < LARGE_BYTES ? undefined : await put('');
      return refusal ?? put(Buffer.from(bytes).toString('base64'));
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

function answerOf<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw new LedgerUnavailable(error instanceof Error ? error.message : String(error));
  });
}
