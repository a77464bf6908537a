/**
 * Keeps activity in the Valkey that all proxies share, over a connection separate from the ledger's: a capped stream
 * for each key, and a hash of counts for each account and day. Everything expires, and the ledger's data does not
 * depend on it.
 */
import { openConnection } from '../ledger/valkey/connection.ts';
import type { ValkeyConnection } from '../ledger/valkey/connection.ts';
import { bucketBases, bucketOf, parseValkeyUrl } from '../ledger/valkey/location.ts';
import {
  COUNT_DAYS,
  DAY_MS,
  ENTRY_DAYS,
  STATS_MAX_AGE_MS,
  keysShort,
  parseEntry,
  parseStats,
  SHORTAGE_CODES,
} from '#activity/activity.ts';
import type {
  ActivityEntry,
  ActivityQuery,
  ActivityReader,
  ActivityWriter,
  ProxyStats,
  RefusalCount,
} from '#activity/activity.ts';

/**
 * The most entries that are kept of one key: of its refused requests and of its others, each. Each list takes some 15
 * KB.
 */
const MAX_ENTRIES_PER_KEY = 50;
/** An account's list is merged from the refused calls of at most this many keys. */
const MAX_LISTED_KEYS = 50;
const DAY_SECONDS = DAY_MS / 1000;
/** A proxy's figures are deleted at this age. */
const FORGET_MS = 4 * STATS_MAX_AGE_MS;

interface Store {
  readonly connection: ValkeyConnection;
  readonly streamOf: (entry: Pick<ActivityEntry, 'account' | 'keyUid' | 'refused'>) => string;
  /** A hash with the figures of each proxy. */
  readonly channels: string;
  readonly countsOf: (account: string, day: number) => string;
}

function openStore(url: string): Store {
  const location = parseValkeyUrl(url);
  const bases = bucketBases(location);
  const baseOf = (account: string): string => bases[bucketOf(account, bases.length)] ?? '';
  return {
    connection: openConnection(location),
    streamOf: ({ account, keyUid, refused }) => `${baseOf(account)}recent:${refused ? 'refused' : 'calls'}:${keyUid}`,
    channels: `${bases[0] ?? ''}channels`,
    countsOf: (account, day) => `${baseOf(account)}refusals:${day}:${account}`,
  };
}

/** Connects in the background. @param proxy a name that is unique to this process */
export function openValkeyActivityWriter(url: string, proxy: string): ActivityWriter {
  const { connection, streamOf, countsOf, channels } = openStore(url);
  return {
    async write({ entries, refusals }) {
      const streams = Map.groupBy(entries, streamOf);
      const hashes = Map.groupBy(refusals, ({ account, day }) => countsOf(account, day));
      // the client sends these commands together as one pipeline
      await Promise.all([
        ...[...streams].flatMap(([stream, added]) => [
          ...added
            .slice(-MAX_ENTRIES_PER_KEY)
            .map((entry) =>
              connection.write(stream, [
                'XADD',
                stream,
                'MAXLEN',
                '=',
                String(MAX_ENTRIES_PER_KEY),
                '*',
                'e',
                JSON.stringify(entry),
              ]),
            ),
          connection.write(stream, ['EXPIRE', stream, String(ENTRY_DAYS * DAY_SECONDS)]),
        ]),
        ...[...hashes].flatMap(([hash, counts]) => [
          ...counts.map(({ keyUid, errorCode, calls }) =>
            connection.write(hash, ['HINCRBY', hash, `${errorCode} ${keyUid}`, String(calls)]),
          ),
          connection.write(hash, ['EXPIRE', hash, String(COUNT_DAYS * DAY_SECONDS)]),
        ]),
      ]);
    },
    async writeChannels(figures) {
      const known = await connection.command(channels, ['HGETALL', channels]);
      const gone = parseProxies(known)
        .filter(([, text]) => !parseStats(text, figures.atMs - FORGET_MS))
        .map(([name]) => name);
      await Promise.all([
        connection.write(channels, ['HSET', channels, proxy, JSON.stringify(figures)]),
        ...(gone.length > 0 ? [connection.write(channels, ['HDEL', channels, ...gone])] : []),
        connection.write(channels, ['EXPIRE', channels, String((2 * FORGET_MS) / 1000)]),
      ]);
    },
    async close() {
      connection.close();
    },
  };
}

/** Connects in the background. The Valkey user needs only read permissions. */
export function openValkeyActivityReader(url: string, nowMs: () => number = Date.now): ActivityReader {
  const { connection, streamOf, countsOf, channels } = openStore(url);

  async function readStream(account: string, keyUid: string, refused: boolean): Promise<ActivityEntry[]> {
    const stream = streamOf({ account, keyUid, refused });
    const entries = await connection.command(stream, ['XREVRANGE', stream, '+', '-']);
    if (!Array.isArray(entries)) return [];
    // in files mode a key's uid is its name, which another account may have used before
    return entries.flatMap(parseStreamEntry).filter((entry) => entry.account === account);
  }

  async function readCounts(account: string, day: number): Promise<RefusalCount[]> {
    const hash = countsOf(account, day);
    const reply = await connection.command(hash, ['HGETALL', hash]);
    const texts = Array.isArray(reply) ? reply.map(String) : [];
    return texts.flatMap((text, at) => (at % 2 === 1 ? [] : parseCount({ account, day }, text, texts[at + 1])));
  }

  const refusals: ActivityReader['refusals'] = async ({ account, keyUid, fromDay, toDay }) => {
    const days = Array.from({ length: Math.min(toDay - fromDay + 1, COUNT_DAYS) }, (_, index) => toDay - index);
    const counts = (await Promise.all(days.map((day) => readCounts(account, day)))).flat();
    return keyUid === undefined ? counts : counts.filter((count) => count.keyUid === keyUid);
  };

  /** The keys that were refused recently, latest day first. */
  async function keysRefused(account: string): Promise<string[]> {
    const today = Math.floor(nowMs() / DAY_MS);
    const counts = await refusals({ account, fromDay: today - ENTRY_DAYS, toDay: today });
    return [...new Set(counts.toSorted((a, b) => b.day - a.day).map(({ keyUid }) => keyUid))].slice(0, MAX_LISTED_KEYS);
  }

  /** Asks for the streams of those keys only that the counts name. */
  async function shortagesOf(account: string, keyUids: ReadonlySet<string | undefined>): Promise<ActivityEntry[]> {
    const today = Math.floor(nowMs() / DAY_MS);
    const short = keysShort(await refusals({ account, fromDay: today - ENTRY_DAYS, toDay: today })).filter(
      (keyUid) => keyUids.has(undefined) || keyUids.has(keyUid),
    );
    const found = await Promise.all(
      short.map(async (keyUid) => {
        const [refused, served] = await Promise.all([
          readStream(account, keyUid, true),
          readStream(account, keyUid, false),
        ]);
        const latest = refused
          .filter(({ errorCode }) => SHORTAGE_CODES.has(errorCode))
          .reduce<ActivityEntry | undefined>((last, each) => (last && last.atMs >= each.atMs ? last : each), undefined);
        return latest && served.every(({ atMs }) => atMs <= latest.atMs) ? [latest] : [];
      }),
    );
    return found.flat();
  }

  return {
    refusals,
    async shortages(queries: readonly ActivityQuery[]) {
      const accounts = Map.groupBy(queries, ({ account }) => account);
      const found = await Promise.all(
        [...accounts].map(([account, some]) => shortagesOf(account, new Set(some.map(({ keyUid }) => keyUid)))),
      );
      return found.flat();
    },
    async refused({ account, keyUid, most }) {
      const keys = keyUid === undefined ? await keysRefused(account) : [keyUid];
      const lists = await Promise.all(keys.map((uid) => readStream(account, uid, true)));
      return lists
        .flat()
        .sort((a, b) => b.atMs - a.atMs)
        .slice(0, most);
    },
    async find({ account, keyUid, callId }) {
      const lists = await Promise.all([false, true].map((refused) => readStream(account, keyUid, refused)));
      return lists.flat().find((entry) => entry.callId === callId);
    },
    async channels(atMs): Promise<readonly ProxyStats[]> {
      const known = await connection.command(channels, ['HGETALL', channels]);
      return parseProxies(known).flatMap(([, text]) => parseStats(text, atMs) ?? []);
    },
    close: () => connection.close(),
  };
}

/** Reads the names and texts, which alternate in the reply. */
function parseProxies(reply: unknown): [name: string, text: string][] {
  const texts = Array.isArray(reply) ? reply.map(String) : [];
  return texts.flatMap((name, at) => (at % 2 === 1 ? [] : [[name, texts[at + 1] ?? '']]));
}

function parseStreamEntry(entry: unknown): ActivityEntry[] {
  const [, fields] = Array.isArray(entry) ? entry : [];
  const text: unknown = Array.isArray(fields) ? fields[1] : undefined;
  const parsed = typeof text === 'string' ? parseEntry(text) : undefined;
  return parsed ? [parsed] : [];
}

function parseCount(
  of: Pick<RefusalCount, 'account' | 'day'>,
  field: string,
  calls: string | undefined,
): RefusalCount[] {
  const space = field.indexOf(' ');
  return space < 0
    ? []
    : [
        {
          ...of,
          errorCode: field.slice(0, space),
          keyUid: field.slice(space + 1),
          calls: Number(calls),
        },
      ];
}
