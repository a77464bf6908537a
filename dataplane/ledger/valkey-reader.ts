/**
 * The reading half of a shared ledger: spending for statuses, and the records of calls for exports. It changes nothing,
 * so that a user of the server who may only read is enough. It answers nothing while the store is empty or being filled
 * again: the figures would be too small, and such a store is filled from statuses.
 */
import { LedgerUnavailable } from './ledger.ts';
import type { AccountSpending, KeySpending, LedgerReader, QuotaPeriod } from './ledger.ts';
import { isAskedFor } from './usage-filter.ts';
import type { UsageFilter } from './usage-filter.ts';
import type { UsageRecord } from './usage-record.ts';
import { openLink } from './valkey/link.ts';
import type { Link } from './valkey/link.ts';
import { bucketBases, bucketOf, parseValkeyUrl } from './valkey/location.ts';
import { encodeBatch } from './valkey/operations.ts';
import type { Operation } from './valkey/operations.ts';
import {
  parseAccountSpending, parseKeySpending, parseRecord, parseReplies, parseReply, parseTexts,
} from './valkey/replies.ts';
import type { Reply } from './valkey/replies.ts';

/**
 * The id of a stream's entry; ids are in the order of settlement. A record that is written anew, because its call was
 * refunded or settled late, leaves its stream and comes again at the end.
 */
export interface StreamId {
  readonly ms: number;
  readonly seq: number;
}

export interface StreamRecord {
  readonly id: StreamId;
  readonly record: UsageRecord;
}

/** Before all others. */
export const STREAM_START: StreamId = { ms: 0, seq: 0 };

export interface ValkeyReader extends LedgerReader {
  /** Records by account, each in the order of settlement. */
  records(filter: UsageFilter): AsyncGenerator<UsageRecord>;
  /** The next records of an account after an entry, in the order of settlement. */
  recordsAfter(account: string, id: StreamId, most: number): Promise<readonly StreamRecord[]>;
  /** How many records there are of an account, and the first one's id. */
  extent(account: string): Promise<{ readonly count: number; readonly first: StreamId | undefined }>;
  close(): void;
}

/** An account and the bucket that has it. */
interface Location {
  readonly base: string;
  readonly account: string;
}

/** The head of a batch that only reads. */
const READING_HEAD = ['', '', '', '0', '0', 'read', '0', '0', '0', '0', ''];
const PAGE = 500;
const RETRY_MS = 50;
const TIMEOUT_MS = 5_000;

/** Connects in the background. Whatever is asked waits for the server for some seconds, and is then refused. */
export function openValkeyReader(url: string): ValkeyReader {
  const location = parseValkeyUrl(url);
  const link = openLink(location);
  const bases = bucketBases(location);
  const baseOf = (account: string): string => bases[bucketOf(account, bases.length)] ?? '';
  const locate = (account: string): Location => ({ base: baseOf(account), account });
  return {
    async readKey(keyUid: string, period: QuotaPeriod, account?: string): Promise<KeySpending> {
      const asked = account === undefined ? bases : [baseOf(account)];
      const replies = await Promise.all(asked.map((base) => ask(link, base, { name: 'key', args: [keyUid] })));
      const [none = []] = replies;
      return parseKeySpending(replies.find(([word]) => word === 'key') ?? none, period);
    },
    async readAccount(account: string): Promise<AccountSpending> {
      return parseAccountSpending(await ask(link, baseOf(account), { name: 'account', args: [account] }));
    },
    async *records(filter) {
      for (const base of filter.account === undefined ? bases : [baseOf(filter.account)]) {
        await ask(link, base, { name: 'beat', args: [] });
        const accounts = filter.account === undefined ? await listAccounts(link, base) : [filter.account];
        for (const account of accounts) yield* readRecords(link, { base, account }, filter);
      }
    },
    recordsAfter: (account, id, most) =>
      readEntries(link, locate(account), [`(${formatId(id)}`, '+', 'COUNT', String(most)]),
    async extent(account) {
      const base = baseOf(account);
      await ask(link, base, { name: 'beat', args: [] });
      const [count, first] = await Promise.all([
        retry(() => link.command(base, ['XLEN', `${base}s:${account}`])),
        readEntries(link, { base, account }, ['-', '+', 'COUNT', '1']),
      ]);
      return { count: Number(count), first: first[0]?.id };
    },
    close: () => link.close(),
  };
}

async function readEntries(link: Link, { base, account }: Location, range: readonly string[]): Promise<StreamRecord[]> {
  const entries = await retry(() => link.command(base, ['XRANGE', `${base}s:${account}`, ...range]));
  if (!Array.isArray(entries)) return [];
  return entries.map((entry) => {
    const [id, text] = parseEntry(entry);
    const [ms = 0, seq = 0] = id.split('-').map(Number);
    return { id: { ms, seq }, record: parseRecord(['done', account, ...text.split('\t')]).record };
  });
}

function formatId({ ms, seq }: StreamId): string {
  return `${ms}-${seq}`;
}

async function ask(link: Link, base: string, operation: Operation): Promise<Reply> {
  const [word, reply = ''] = parseReplies(await retry(() => link.read(base, encodeBatch(READING_HEAD, [operation]))));
  if (word !== 'ok') throw new LedgerUnavailable('the ledger\'s store is empty, or is being filled again');
  return parseReply(reply);
}

async function listAccounts(link: Link, base: string): Promise<readonly string[]> {
  return parseTexts(await retry(() => link.command(base, ['SMEMBERS', `${base}accounts`]))).toSorted();
}

async function* readRecords(link: Link, location: Location, filter: UsageFilter): AsyncGenerator<UsageRecord> {
  // a record is written when its call is over, never before the call was admitted
  let from = String(Math.max(0, filter.sinceMs ?? 0));
  for (;;) {
    const entries = await readEntries(link, location, [from, '+', 'COUNT', String(PAGE)]);
    const last = entries.at(-1);
    if (!last) return;
    for (const { record } of entries) if (isAskedFor(record, filter)) yield record;
    from = `(${formatId(last.id)}`;
  }
}

/** An entry's id, and its only value. */
function parseEntry(entry: unknown): [id: string, text: string] {
  const [id, fields] = Array.isArray(entry) ? entry : [];
  const text: unknown = Array.isArray(fields) ? fields[1] : undefined;
  if (typeof id !== 'string' || typeof text !== 'string')
    throw new LedgerUnavailable('the ledger has a record that is none');
  return [id, text];
}

/** Until the server answers, for some seconds. */
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
      await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
    }
  }
}
