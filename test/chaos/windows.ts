/**
 * Checks limits in calendar windows by the records: a call counts in the windows of its admission. The moment is not
 * known exactly: it is after the call arrived and before it reached the provider.
 */
import { contains, spanAt, windowKindOf, windowName } from '#ledger/periods.ts';
import type { Span } from '#ledger/periods.ts';
import type { CalendarWindow, WindowSpending } from '#ledger/spending.ts';
import { ACCOUNT_NAMES, ACCOUNT_WINDOWS, KEY_NAMES, KEYS } from './config.ts';
import type { AccountLimit, AccountName, Config, KeyName } from './config.ts';
import { FAST_ZONE } from './fast-zone.ts';
import { sumOfCosts, uidOf } from './ledger-file.ts';
import type { LedgerRecord, Tally } from './ledger-file.ts';
import type { Evidence } from './reconcile.ts';

/** A key or an account, and a window that it has a limit in. */
export interface Windowed {
  readonly name: string;
  readonly window: CalendarWindow;
  /** null: no limit. */
  readonly limit: (config: Config) => bigint | null;
  readonly owns: (record: LedgerRecord) => boolean;
  /** What the ledger says of the current window. */
  readonly told: (tally: Tally) => Omit<WindowSpending, 'endMs'>;
}

/** The window that a key's quota counts in; undefined: the total of all time. */
export function windowOfKey(key: KeyName): CalendarWindow | undefined {
  const { period, timeZone = 'UTC' } = KEYS[key];
  const kind = windowKindOf(period);
  return kind && { kind, timeZone };
}

export const WINDOWED: readonly Windowed[] = [
  ...KEY_NAMES.flatMap((key) => {
    const window = windowOfKey(key);
    return window ? [windowedKey(key, window)] : [];
  }),
  ...ACCOUNT_NAMES.flatMap((account) =>
    ACCOUNT_WINDOWS.map((window, index) => windowedAccount(account, window, index)),
  ),
];

function windowedKey(key: KeyName, window: CalendarWindow): Windowed {
  return {
    name: `key ${key} in its ${windowName(window)}`,
    window,
    limit: ({ keys }) => keys[key].limitNanoUsd,
    owns: (record) => record.key === uidOf(key),
    told: ({ startMs, spent, held }) => ({
      startMs: startMs[key] ?? 0,
      spentNanoUsd: spent[key],
      heldNanoUsd: held[key],
    }),
  };
}

function windowedAccount(account: AccountName, window: CalendarWindow, index: number): Windowed {
  return {
    name: `account ${account} in its ${windowName(window)}`,
    window,
    limit: ({ accountLimits }) =>
      accountLimits[account].find((limit) => limit.window === window.kind && limit.timeZone === window.timeZone)
        ?.nanoUsd ?? null,
    owns: (record) => record.account === `team/${account}`,
    told({ accountWindows }) {
      const told = accountWindows[account][index];
      if (!told) throw new Error('every window is asked for');
      return told;
    },
  };
}

/** What an account has spent under one of its limits: in the current window, or in total. */
export function spentUnder(
  { accountSpent, accountWindows }: Tally,
  account: AccountName,
  { window, timeZone }: AccountLimit,
): bigint {
  if (window === 'Total') return accountSpent[account];
  const index = ACCOUNT_WINDOWS.findIndex((each) => each.kind === window && each.timeZone === timeZone);
  return accountWindows[account][index]?.spentNanoUsd ?? 0n;
}

/** Whether each round has a new window of this kind, in which earlier rounds have spent nothing. */
export function isShort({ kind, timeZone }: CalendarWindow): boolean {
  return kind === 'Day' && timeZone === FAST_ZONE;
}

/** Clocks of processes are read in whole milliseconds. */
const SLACK_MS = 2;

interface Admitted {
  readonly record: LedgerRecord;
  readonly span: Span;
}

/** The time in which each call was admitted: until its first attempt, if this is known, or else until it ended. */
function admitted(records: readonly LedgerRecord[], { calls, attempts }: Partial<Evidence> = {}): readonly Admitted[] {
  const numbers = new Map(calls?.map(({ id, plan }) => [id, plan.n]));
  const arrivals = Map.groupBy(attempts ?? [], ({ asked: { n } }) => n);
  return records.map((record) => {
    const mine = arrivals.get(numbers.get(record.id) ?? -1) ?? [];
    const overMs = Math.min(record.createdMs + record.durationMs, ...mine.map(({ arrivedMs }) => arrivedMs));
    return { record, span: { startMs: record.createdMs - SLACK_MS, endMs: overMs + SLACK_MS } };
  });
}

function isIn(window: Span, { span }: Admitted): boolean {
  return contains(window, span.startMs) && contains(window, span.endMs);
}

function mayBeIn(window: Span, { span }: Admitted): boolean {
  return span.startMs < window.endMs && span.endMs >= window.startMs;
}

function costOf(calls: readonly Admitted[]): bigint {
  return sumOfCosts(calls.map(({ record }) => record));
}

/** The windows in which more was spent than their limit. `inForce`: configurations between two moments. */
export function overspentWindows(
  evidence: Evidence,
  inForce: (fromMs: number, toMs: number) => readonly Config[],
): string[] {
  const [all, before] = [admitted(evidence.records, evidence), admitted(evidence.earlierRecords)];
  return WINDOWED.flatMap(({ name, window, limit, owns }) => {
    const mine = all.filter(({ record }) => owns(record));
    const spans = Map.groupBy(mine, ({ span }) => spanAt(window.kind, span.startMs, window.timeZone).startMs);
    return [...spans.keys()].flatMap((startMs) => {
      const span = spanAt(window.kind, startMs, window.timeZone);
      const now = mine.filter((call) => isIn(span, call));
      const earlier = before.filter((call) => owns(call.record) && mayBeIn(span, call));
      const fromMs = Math.min(...now.map((call) => call.span.startMs));
      const toMs = Math.max(...now.map((call) => call.span.endMs));
      const limits = inForce(fromMs, toMs).map((config) => limit(config));
      if (now.length === 0 || limits.includes(null)) return [];
      const spent = costOf(now) + costOf(earlier.filter((call) => isIn(span, call)));
      const most = limits.reduce<bigint>((high, each) => (each !== null && each > high ? each : high), costOf(earlier));
      return spent > most
        ? [`${name} has spent ${spent} of ${most} from ${new Date(startMs).toISOString()}: ${now.length} calls`]
        : [];
    });
  });
}

interface Told {
  /** At rest. */
  readonly tally: Tally;
  /** The ledger knows all windows that began since then. */
  readonly sinceMs: number;
  readonly config: Config;
}

/** The windows in which the ledger's figure is not the sum of the records at rest, or exceeds it at any moment. */
export function contradictedWindows(evidence: Evidence, { tally, sinceMs, config }: Told): string[] {
  const all = [...admitted(evidence.earlierRecords), ...admitted(evidence.records, evidence)];
  return WINDOWED.flatMap(({ name, window, limit, owns, told }) => {
    const mine = all.filter(({ record }) => owns(record));
    const found = [...evidence.samples.map((sample) => sample.tally), tally].flatMap((seen) => {
      const { startMs, spentNanoUsd } = told(seen);
      const span = spanAt(window.kind, startMs, window.timeZone);
      const least = seen === tally ? costOf(mine.filter((call) => isIn(span, call))) : 0n;
      const most = costOf(mine.filter((call) => mayBeIn(span, call)));
      // the ledger may overcount a window that it does not know from the beginning
      const isKnown = startMs >= sinceMs && limit(config) !== null;
      if (spentNanoUsd >= least && (!isKnown || spentNanoUsd <= most)) return [];
      const sum = least === most ? `${least}` : `${least} to ${most}`;
      return [`${name} has spent ${spentNanoUsd}, and its records add up to ${sum}`];
    });
    return [...new Set(found)];
  });
}

/** The number of calls that were admitted in one short day and ended in another. */
export function acrossEdges(evidence: Pick<Evidence, 'records' | 'calls' | 'attempts'>): number {
  return admitted(evidence.records, evidence).filter(({ record, span }) => {
    const { endMs } = spanAt('Day', span.startMs, FAST_ZONE);
    return span.endMs < endMs && record.createdMs + record.durationMs >= endMs;
  }).length;
}
