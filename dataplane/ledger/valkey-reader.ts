/**
 * The reading half of a shared ledger: spending for statuses, and the records of calls for exports. It changes nothing,
 * so that a user of the server who may only read is enough. It answers nothing while the store is empty or being filled
 * again: the figures would be too small, and such a store is filled from statuses.
 */
import { LedgerUnavailable } from './ledger.ts';
import type { AccountSpending, KeySpending, LedgerReader, QuotaPeriod } from './ledger.ts';
import { isAskedFor } from './usage-filter.ts';
import type { UsageFilter } from './usage-filter.ts';
import type { PlacedRecord, RecordPlace } from './usage-place.ts';
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

export interface ValkeyReader extends LedgerReader {
  /** Records by account, each in the order of settlement. */
  records(filter: UsageFilter): AsyncGenerator<UsageRecord>;
  /** The next records of an account after a place, in the order of settlement. */
  recordsAfter(account: string, place: RecordPlace, most: number): Promise<readonly PlacedRecord[]>;
  /** Those that are still there. */
  recordsAt(account: string, places: readonly RecordPlace[]): Promise<readonly PlacedRecord[]>;
  /** How many records there are of an account, and the place of the first. */
  extent(account: string): Promise<{ readonly count: number; readonly first: RecordPlace | undefined }>;
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
    recordsAfter: (account, place, most) =>
      readEntries(link, locate(account), [`(${idOf(place)}`, '+', 'COUNT', String(most)]),
    async recordsAt(account, places) {
      const ids = places.map(idOf);
      const found = await Promise.all(ids.map((id) => readEntries(link, locate(account), [id, id])));
      return found.flat();
    },
    async extent(account) {
      const base = baseOf(account);
      await ask(link, base, { name: 'beat', args: [] });
      const [count, first] = await Promise.all([
        retry(() => link.command(base, ['XLEN', `${base}s:${account}`])),
        readEntries(link, { base, account }, ['-', '+', 'COUNT', '1']),
      ]);
      return { count: Number(count), first: first[0]?.place };
    },
    close: () => link.close(),
  };
}

async function readEntries(link: Link, { base, account }: Location, range: readonly string[]): Promise<PlacedRecord[]> {
  const entries = await retry(() => link.command(base, ['XRANGE', `${base}s:${account}`, ...range]));
  if (!Array.isArray(entries)) return [];
  return entries.map((entry) => {
    const [id, text] = parseEntry(entry);
    const [major = 0, minor = 0] = id.split('-').map(Number);
    return { place: { major, minor }, record: parseRecord(['done', account, ...text.split('\t')]).record };
  });
}

function idOf({ major, minor }: RecordPlace): string {
  return `${major}-${minor}`;
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
    from = `(${idOf(last.place)}`;
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
