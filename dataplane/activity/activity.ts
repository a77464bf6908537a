/**
 * What a key's owner wants to know of a request that the ledger does not keep: why it was refused, or which channels
 * were tried and how fast the answer began. It is written best effort beside the ledger, bounded by key and in all, and
 * holds ids and figures: never a key's text, a prompt or a provider's URL.
 */

export interface ActivityAttempt {
  /** "route/channel" */
  readonly channel: string;
  /** As in telemetry/call-report.ts. */
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
  /** It held no money: the ledger has no record of it. */
  readonly refused: boolean;
  /** As in telemetry/call-report.ts. */
  readonly endpoint: string;
  /** A configured model's name. */
  readonly model?: string | undefined;
  readonly stream: boolean;
  readonly httpStatus: number;
  /** Code of the error table. */
  readonly errorCode?: string | undefined;
  /** The error's words to the caller, shortened; absent where they are the provider's. */
  readonly message?: string | undefined;
  /** Of a refusal for lack of money, a whole number: the quota or the credit that does not cover the call. */
  readonly exceededLimitNanoUsd?: string | undefined;
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
  /** Code of the error table. */
  readonly errorCode: string;
  readonly calls: number;
}

export interface ActivityBatch {
  readonly entries: readonly ActivityEntry[];
  readonly refusals: readonly RefusalCount[];
}

/** Ends of the classes of durations, in milliseconds; the last class has no end. */
export const LATENCY_CLASSES_MS: readonly number[] =
  [50, 100, 200, 350, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 20_000, 30_000, 60_000, 120_000];

/** One channel as one proxy has seen it in the last five minutes. */
export interface ChannelFigures {
  /** "route/channel" */
  readonly channel: string;
  readonly inFlight: number;
  /** Calls that were sent there. */
  readonly attempts: number;
  /** Those that failed by the provider's fault: its errors and rate limits, broken connections, timeouts. */
  readonly failed: number;
  /** Calls that passed it by because it was full or too expensive. */
  readonly skipped: number;
  /** Attempts by the time until their answer began: see LATENCY_CLASSES_MS. */
  readonly latency: readonly number[];
  readonly lastFailure?: { readonly atMs: number; readonly outcome: string } | undefined;
}

/** What one proxy says of its channels; one without calls lately says nothing. */
export interface ProxyFigures {
  readonly atMs: number;
  readonly channels: readonly ChannelFigures[];
}

/** Where a proxy writes. */
export interface ActivityWriter {
  /** Keeps the latest entries and adds the counts. Rejects where that fails; nothing is repeated. */
  write(batch: ActivityBatch): Promise<void>;
  /** Replaces what this proxy said of its channels. */
  writeChannels(figures: ProxyFigures): Promise<void>;
  close(): Promise<void>;
}

/** Whose requests; without a key, those of all keys of the account. */
export interface ActivityQuery {
  readonly account: string;
  readonly keyUid?: string;
}

/** Where the console reads. Every method rejects where the store cannot be read. */
export interface ActivityReader {
  /** The counts of whole UTC days, both ends included. */
  refusals(query: ActivityQuery & { readonly fromDay: number; readonly toDay: number }):
  Promise<readonly RefusalCount[]>;
  /** The latest refused requests, newest first. */
  refused(query: ActivityQuery & { readonly most: number }): Promise<readonly ActivityEntry[]>;
  /**
   * The latest refusal for lack of money of each key that is asked for, unless the key has been served since: a request
   * that arrived later was admitted. In no order.
   */
  shortages(queries: readonly ActivityQuery[]): Promise<readonly ActivityEntry[]>;
  /** Undefined: it is not kept any more, or never was. */
  find(query: Required<ActivityQuery> & { readonly callId: string }): Promise<ActivityEntry | undefined>;
  /** What each proxy has said of its channels in the last half minute. */
  channels(nowMs: number): Promise<readonly ProxyFigures[]>;
  close(): void;
}

/** Codes of refusals for lack of the key's or the account's money. */
export const SHORTAGE_CODES: ReadonlySet<string | undefined> =
  new Set(['insufficient_quota', 'credit_balance_exhausted']);

/** The keys of these counts that were refused for lack of money. */
export function keysShort(counts: readonly RefusalCount[]): string[] {
  return [...new Set(counts.filter(({ errorCode }) => SHORTAGE_CODES.has(errorCode)).map(({ keyUid }) => keyUid))];
}

/** How long entries are kept, and counts. */
export const ENTRY_DAYS = 7;
export const COUNT_DAYS = 31;
export const DAY_MS = 86_400_000;

/** What a proxy said is believed for so long. */
export const FIGURES_MS = 30_000;

/** Undefined: the text is none of this version, or too old. */
export function parseFigures(text: string, nowMs: number): ProxyFigures | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isFigures(parsed) && parsed.atMs > nowMs - FIGURES_MS ? parsed : undefined;
  } catch {
    return undefined; // as of entries
  }
}

function isFigures(value: unknown): value is ProxyFigures {
  if (typeof value !== 'object' || value === null) return false;
  const { atMs, channels } = value as Partial<Record<keyof ProxyFigures, unknown>>;
  return Number.isFinite(atMs) && Array.isArray(channels) && channels.every(isChannel);
}

function isChannel(value: unknown): value is ChannelFigures {
  if (typeof value !== 'object' || value === null) return false;
  const { channel, inFlight, attempts, failed, skipped, latency } =
    value as Partial<Record<keyof ChannelFigures, unknown>>;
  return typeof channel === 'string' && Array.isArray(latency) && latency.every((each) => Number.isFinite(each))
    && [inFlight, attempts, failed, skipped].every((each) => Number.isFinite(each));
}

/** Undefined: the text is not an entry of this version. */
export function parseEntry(text: string): ActivityEntry | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isEntry(parsed) ? parsed : undefined;
  } catch {
    return undefined; // the store is diagnostic: what another program wrote there is passed over
  }
}

/** What every reader depends on; the writer is this program, of this version or another. */
function isEntry(value: unknown): value is ActivityEntry {
  if (typeof value !== 'object' || value === null) return false;
  const { callId, keyUid, account, atMs, httpStatus, durationMs, endpoint, attempts } =
    value as Partial<Record<keyof ActivityEntry, unknown>>;
  return [callId, keyUid, account, endpoint].every((each) => typeof each === 'string')
    && [atMs, httpStatus, durationMs].every((each) => Number.isFinite(each)) && Array.isArray(attempts);
}
