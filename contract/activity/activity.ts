/**
 * What the ledger does not record of a key's requests: why one was refused, which channels were tried, and how soon the
 * response began. The gateway writes it best effort beside the ledger, in bounded amounts per key and in all. It
 * contains ids and figures, never the text of a key, a prompt or a provider's URL.
 */

export interface ActivityAttempt {
  /** "route/channel" */
  readonly channel: string;
  /** An outcome of telemetry/call-report.ts. */
  readonly outcome: string;
  readonly durationMs: number;
}

/** One request of a key. */
export interface ActivityEntry {
  readonly callId: string;
  readonly keyUid: string;
  /** "namespace/name" */
  readonly account: string;
  /** Arrival, milliseconds since the epoch. */
  readonly atMs: number;
  /** True if the request never took a hold, so that the ledger has no record of it. */
  readonly refused: boolean;
  /** An endpoint name of telemetry/call-report.ts. */
  readonly endpoint: string;
  /** The model's name in the configuration. */
  readonly model?: string | undefined;
  readonly stream: boolean;
  readonly httpStatus: number;
  /** A code of the error table. */
  readonly errorCode?: string | undefined;
  /** The error's message to the client, shortened; absent if the provider wrote it. */
  readonly message?: string | undefined;
  /** Of a refusal for lack of money, a whole number: the quota or the credit that does not cover the call. */
  readonly exceededLimitNanoUsd?: string | undefined;
  /** Of a refusal for lack of money: whose. AccountLimit: a limit of the account besides its credit. */
  readonly fundsOf?: 'Key' | 'Account' | 'AccountLimit' | undefined;
  readonly durationMs: number;
  /** From the arrival to the first byte of the body sent to the client. */
  readonly firstByteMs?: number | undefined;
  readonly attempts: readonly ActivityAttempt[];
}

/** How many requests of a key were refused for one reason on one UTC day. */
export interface RefusalCount {
  readonly account: string;
  /** Days since the epoch. */
  readonly day: number;
  readonly keyUid: string;
  /** A code of the error table. */
  readonly errorCode: string;
  readonly calls: number;
}

export interface ActivityBatch {
  readonly entries: readonly ActivityEntry[];
  readonly refusals: readonly RefusalCount[];
}

/** The upper bounds of the latency classes, in milliseconds; the last class has none. */
export const LATENCY_CLASSES_MS: readonly number[] = [
  50, 100, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 20_000, 30_000, 60_000, 120_000,
];

/** What one proxy has measured on one channel in the last five minutes. */
export interface ChannelStats {
  /** "route/channel" */
  readonly channel: string;
  readonly inFlight: number;
  /** Calls that were sent to the channel. */
  readonly attempts: number;
  /** Calls that failed by the provider's fault: by its errors, rate limits, broken connections or timeouts. */
  readonly failed: number;
  /** Calls that skipped the channel because it was full or too expensive. */
  readonly skipped: number;
  /**
   * Attempts by the time until their response began: one count for each of LATENCY_CLASSES_MS, and one for the rest.
   */
  readonly latency: readonly number[];
  readonly lastFailure?: { readonly atMs: number; readonly outcome: string } | undefined;
}

/** The figures of one proxy's channels; channels without recent calls are left out. */
export interface ProxyStats {
  readonly atMs: number;
  readonly channels: readonly ChannelStats[];
}

/** The proxy's side: writes to the store. */
export interface ActivityWriter {
  /** Adds the entries and counts. Rejects if that fails; the batch is then lost. */
  write(batch: ActivityBatch): Promise<void>;
  /** Replaces this proxy's figures of its channels. */
  writeChannels(figures: ProxyStats): Promise<void>;
  close(): Promise<void>;
}

/** Selects the requests of one key, or of all keys of the account if no key is given. */
export interface ActivityQuery {
  readonly account: string;
  readonly keyUid?: string;
}

/** The console's side: reads the store. Every method rejects if the store cannot be read. */
export interface ActivityReader {
  /** Counts for whole UTC days, from fromDay to toDay inclusive. */
  refusals(
    query: ActivityQuery & { readonly fromDay: number; readonly toDay: number },
  ): Promise<readonly RefusalCount[]>;
  /** The latest refused requests, newest first. */
  refused(query: ActivityQuery & { readonly most: number }): Promise<readonly ActivityEntry[]>;
  /**
   * The latest refusal for lack of money of each key that is asked for, unless the key has been served since: a request
   * that arrived later was admitted. In no order.
   */
  shortages(queries: readonly ActivityQuery[]): Promise<readonly ActivityEntry[]>;
  /** Undefined if the entry has expired or never existed. */
  find(query: Required<ActivityQuery> & { readonly callId: string }): Promise<ActivityEntry | undefined>;
  /** The figures that each proxy wrote in the last half minute. */
  channels(nowMs: number): Promise<readonly ProxyStats[]>;
  close(): void;
}

/** Codes of refusals for lack of the key's or the account's money. */
export const SHORTAGE_CODES: ReadonlySet<string | undefined> = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
]);

/** The keys of these counts that were refused for lack of money. */
export function keysShort(counts: readonly RefusalCount[]): string[] {
  return [...new Set(counts.filter(({ errorCode }) => SHORTAGE_CODES.has(errorCode)).map(({ keyUid }) => keyUid))];
}

/** Whose money a refused call lacked; entries of earlier versions tell by their code. */
export function fundsOf({ fundsOf: known, errorCode }: ActivityEntry): NonNullable<ActivityEntry['fundsOf']> {
  return known ?? (errorCode === 'insufficient_quota' ? 'Key' : 'Account');
}

/** How long entries and counts are kept. */
export const ENTRY_DAYS = 7;
export const COUNT_DAYS = 31;
export const DAY_MS = 86_400_000;

/** Readers ignore a proxy's figures that are older than this. */
export const STATS_MAX_AGE_MS = 30_000;

/** Returns undefined if the text has another version's format, or is too old. */
export function parseStats(text: string, nowMs: number): ProxyStats | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isFigures(parsed) && parsed.atMs > nowMs - STATS_MAX_AGE_MS ? parsed : undefined;
  } catch {
    return undefined; // see parseEntry
  }
}

function isFigures(value: unknown): value is ProxyStats {
  if (typeof value !== 'object' || value === null) return false;
  const { atMs, channels } = value as Partial<Record<keyof ProxyStats, unknown>>;
  return Number.isFinite(atMs) && Array.isArray(channels) && channels.every(isChannel);
}

function isChannel(value: unknown): value is ChannelStats {
  if (typeof value !== 'object' || value === null) return false;
  const { channel, inFlight, attempts, failed, skipped, latency } = value as Partial<
    Record<keyof ChannelStats, unknown>
  >;
  return (
    typeof channel === 'string' &&
    Array.isArray(latency) &&
    latency.every((each) => Number.isFinite(each)) &&
    [inFlight, attempts, failed, skipped].every((each) => Number.isFinite(each))
  );
}

/** Returns undefined if the text is not an entry of this version. */
export function parseEntry(text: string): ActivityEntry | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isEntry(parsed) ? parsed : undefined;
  } catch {
    return undefined; // the store is only diagnostic: entries that another program wrote are skipped
  }
}

/** Checks the fields that every reader uses; another version of this program may have written the entry. */
function isEntry(value: unknown): value is ActivityEntry {
  if (typeof value !== 'object' || value === null) return false;
  const { callId, keyUid, account, atMs, httpStatus, durationMs, endpoint, attempts } = value as Partial<
    Record<keyof ActivityEntry, unknown>
  >;
  return (
    [callId, keyUid, account, endpoint].every((each) => typeof each === 'string') &&
    [atMs, httpStatus, durationMs].every((each) => Number.isFinite(each)) &&
    Array.isArray(attempts)
  );
}
