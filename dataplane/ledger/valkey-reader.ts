/**
 * Reads a shared ledger: spending for statuses, and usage records. The Valkey user needs only read permissions. The
 * reader rejects while the store is empty or being refilled, because its figures would be too low, and an empty store
 * is refilled from the statuses.
 */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { AccountSpending, CalendarWindow, KeySpending, PeriodOf, QuotaPeriod } from '#ledger/spending.ts';
import { periodIn } from '#ledger/periods.ts';
import type { ValkeyReader } from '#ledger/shared-reader.ts';
import { matchesFilter } from '#usage/filter.ts';
import type { UsageFilter } from '#usage/filter.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { StreamId, StreamRecord } from '#usage/stream.ts';
import { openConnection } from './valkey/connection.ts';
import type { ValkeyConnection } from './valkey/connection.ts';
import { bucketBases, bucketOf, parseValkeyUrl } from './valkey/location.ts';
import { accountOperation, BEAT, encodeBatch, keyOperation } from './valkey/operations.ts';
import type { BatchHead, Operation } from './valkey/operations.ts';
import {
  parseAccountSpending,
  parseKeySpending,
  parseRecord,
  parseReplies,
  recordInStream,
  parseTexts,
} from './valkey/replies.ts';
import type { Reply } from './valkey/replies.ts';

/** An account and its bucket. */
interface Location {
  readonly base: string;
  readonly account: string;
}

const READING_HEAD: BatchHead = {
  mode: 'read',
  instance: '',
  epoch: '',
  acked: 0,
  seq: 0,
  leaseMs: 0,
  keepMs: 0,
  records: 0,
  generationMs: 0,
  lenient: false,
};
const PAGE = 500;
const RETRY_MS = 50;
const TIMEOUT_MS = 5_000;

/** Connects in the background. Each method waits up to five seconds for the server, then rejects. */
export function openValkeyReader(url: string): ValkeyReader {
  const location = parseValkeyUrl(url);
  const connection = openConnection(location);
  const bases = bucketBases(location);
  const baseOf = (account: string): string => bases[bucketOf(account, bases.length)] ?? '';
  const locate = (account: string): Location => ({ base: baseOf(account), account });
  return {
    async readKey(keyUid: string, period: QuotaPeriod | PeriodOf, account?: string): Promise<KeySpending> {
      const asked = account === undefined ? bases : [baseOf(account)];
      const { period: quotaPeriod, timeZone } = periodIn(period);
      const operation = keyOperation(keyUid, { period: quotaPeriod, timeZone }, Date.now());
      const replies = await Promise.all(asked.map((base) => ask(connection, base, operation)));
      return parseKeySpending(replies.find(({ is }) => is === 'key') ?? replies[0] ?? { is: 'none' }, quotaPeriod);
    },
    async readAccount(account: string, windows: readonly CalendarWindow[] = []): Promise<AccountSpending> {
      const operation = accountOperation(account, windows, Date.now());
      return parseAccountSpending(await ask(connection, baseOf(account), operation));
    },
    async *records(filter) {
      for (const base of filter.account === undefined ? bases : [baseOf(filter.account)]) {
        await ask(connection, base, BEAT);
        const accounts = filter.account === undefined ? await listAccounts(connection, base) : [filter.account];
        for (const account of accounts) yield* readRecords(connection, { base, account }, filter);
      }
    },
    recordsAfter: (account, id, most) =>
      readEntries(connection, locate(account), [`(${formatId(id)}`, '+', 'COUNT', String(most)]),
    async accounts() {
      const lists = await Promise.all(bases.map((base) => listAccounts(connection, base)));
      return lists.flat();
    },
    async extent(account) {
      const base = baseOf(account);
      await ask(connection, base, BEAT);
      const [count, first, epoch] = await Promise.all([
        retry(() => connection.command(base, ['XLEN', `${base}s:${account}`])),
        readEntries(connection, { base, account }, ['-', '+', 'COUNT', '1']),
        retry(() => connection.command(base, ['HGET', `${base}e`, 'id'])),
      ]);
      return { count: Number(count), first: first[0]?.id, epoch: String(epoch) };
    },
    close: () => connection.close(),
  };
}

async function readEntries(
  connection: ValkeyConnection,
  { base, account }: Location,
  range: readonly string[],
): Promise<StreamRecord[]> {
  const entries = await retry(() => connection.command(base, ['XRANGE', `${base}s:${account}`, ...range]));
  if (!Array.isArray(entries)) return [];
  return entries.map((entry) => {
    const [id, text] = parseEntry(entry);
    const [ms = 0, seq = 0] = id.split('-').map(Number);
    return { id: { ms, seq }, record: parseRecord(recordInStream(account, text)).record };
  });
}

function formatId({ ms, seq }: StreamId): string {
  return `${ms}-${seq}`;
}

async function ask(connection: ValkeyConnection, base: string, operation: Operation): Promise<Reply> {
  const replies = await retry(() => connection.read(base, encodeBatch(READING_HEAD, [operation])));
  const [first, reply] = parseReplies(replies);
  if (first?.is !== 'ok' || !reply)
    throw new LedgerUnavailable("the ledger's store is empty, or is being filled again");
  return reply;
}

async function listAccounts(connection: ValkeyConnection, base: string): Promise<readonly string[]> {
  return parseTexts(await retry(() => connection.command(base, ['SMEMBERS', `${base}accounts`]))).toSorted();
}

async function* readRecords(
  connection: ValkeyConnection,
  location: Location,
  filter: UsageFilter,
): AsyncGenerator<UsageRecord> {
  // a record is written after its call was admitted, so no earlier entry is needed
  let from = String(Math.max(0, filter.sinceMs ?? 0));
  for (;;) {
    const entries = await readEntries(connection, location, [from, '+', 'COUNT', String(PAGE)]);
    const last = entries.at(-1);
    if (!last) return;
    for (const { record } of entries) if (matchesFilter(record, filter)) yield record;
    from = `(${formatId(last.id)}`;
  }
}

/** Reads an entry's id and its only value. */
function parseEntry(entry: unknown): [id: string, text: string] {
  const [id, fields] = Array.isArray(entry) ? entry : [];
  const text: unknown = Array.isArray(fields) ? fields[1] : undefined;
  if (typeof id !== 'string' || typeof text !== 'string')
    throw new LedgerUnavailable('the ledger contains an entry that is not a record');
  return [id, text];
}

/** Repeats the work until it succeeds, for at most five seconds. */
async function retry(work: () => Promise<unknown>): Promise<unknown> {
  const untilMs = performance.now() + TIMEOUT_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > untilMs) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new LedgerUnavailable(`the ledger cannot be reached: ${reason}`, { cause: error });
      }
      await new Promise((resolve) => {
        setTimeout(resolve, RETRY_MS);
      });
    }
  }
}
