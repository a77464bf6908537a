/** Summarizes rounds: a line for each, and a table for all. */
import type { BillLine } from '#price/bill.ts';
import type { CallLog } from './client.ts';
import { usd } from './config.ts';
import { isStored } from './kept.ts';
import { sumOfCosts } from './ledger-file.ts';
import type { LedgerRecord } from './ledger-file.ts';
import type { RoundResult } from './round.ts';
import { seenHolds } from './watch.ts';
import { acrossEdges } from './windows.ts';

export interface Summary {
  readonly round: number;
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
  readonly spentNanoUsd: bigint;
  readonly unbilledNanoUsd: bigint;
  readonly mostHeldNanoUsd: bigint;
  /** The longest time until an edit was in force. */
  readonly slowestEditMs: number;
  readonly seconds: number;
  readonly violations: number;
}

export function summarise({
  round,
  faults,
  evidence,
  sessions,
  batches,
  violations,
  durationMs,
}: RoundResult): Summary {
  const { calls, attempts, records, happened, samples } = evidence;
  const by = (status: string): number => records.filter((record) => record.status === status).length;
  return {
    round,
    faults,
    counts: {
      calls: calls.length,
      requests: attempts.length,
      ended: calls.filter(({ status, end }) => status === 200 && end === 'Whole').length,
      left: calls.filter(({ left }) => left).length,
      refused: calls.filter(({ status }) => status >= 400).length,
      broken: calls.filter(({ left, end }) => !left && end !== 'Whole').length,
      succeeded: by('Succeeded'),
      failed: by('Failed'),
      cut: by('ProviderCut'),
      closed: by('ClientClosed'),
      abandoned: by('Abandoned'),
      withheld: by('Withheld'),
      estimated: records.filter(({ usageSource }) => usageSource === 'Estimated').length,
      'stored responses': calls.filter(isStored).length,
      lowered: calls.filter(({ maxTokens }) => maxTokens !== undefined).length,
      ...statuses(calls),
      ...dimensionsOf(records),
      sessions: sessions.sessions.filter(({ status }) => status === 101).length,
      'responses of sessions': sessions.responses.length,
      'sessions broken off': sessions.records.filter(({ status }) => status !== 'Succeeded').length,
      batches: batches.batches.filter(({ hasEnded }) => hasEnded).length,
      'compared with its hold': seenHolds(samples, records).length,
      'across the edge of a window': acrossEdges(evidence),
      'refused by a window': calls.filter(isRefusedByWindow).length,
      kills: happened.kills.length,
      faults: faults.length,
      terms: happened.drains.length,
      edits: happened.versions.length - 1,
      samples: samples.length,
    },
    spentNanoUsd: sumOfCosts(records),
    unbilledNanoUsd: records.reduce((sum, { unbilledNanoUsd }) => sum + unbilledNanoUsd, 0n),
    mostHeldNanoUsd: samples.reduce((most, { tally: { accountHeld } }) => {
      const held = accountHeld.shared + accountHeld.own;
      return held > most ? held : most;
    }, 0n),
    slowestEditMs: Math.max(0, ...happened.versions.slice(1).map(({ writtenMs, inForceMs }) => inForceMs - writtenMs)),
    seconds: durationMs / 1_000,
    violations: violations.length,
  };
}

/** The message of a limit in a window says which one. */
function isRefusedByWindow({ status, said }: CallLog): boolean {
  return status === 429 && /(?:quota|limit) of \$[\d.]+ for /.test(said);
}

const ANSWERS = [400, 401, 402, 429, 502, 503, 529] as const;

function statuses(calls: readonly CallLog[]): Record<string, number> {
  return Object.fromEntries(
    ANSWERS.map((status) => [`answered ${status}`, calls.filter((call) => call.status === status).length]),
  );
}

const PARTS = ['imageInput', 'audioInput', 'reasoning', 'imageOutput', 'audioOutput', 'webSearch'] as const;

/** How many calls paid for each further dimension of a price. */
function dimensionsOf(records: readonly LedgerRecord[]): Record<string, number> {
  const withLine = (name: string, fits: (line: BillLine) => boolean): [string, number] => [
    `billed ${name}`,
    records.filter(({ lines = [] }) => lines.some(fits)).length,
  ];
  const several = records.filter(({ lines = [] }) => lines.filter(({ dimension }) => dimension === 'input').length > 1);
  const mixed = several.filter(
    ({ lines = [] }) =>
      new Set(lines.filter(({ dimension }) => dimension === 'input').map(({ above }) => above)).size > 1,
  );
  return Object.fromEntries([
    ...PARTS.map((name) => withLine(name, ({ dimension }) => dimension === name)),
    withLine('context step', ({ above }) => above !== undefined),
    withLine('service tier', ({ serviceTier }) => serviceTier !== undefined),
    withLine('region', ({ region }) => region !== undefined),
    ['billed several requests', several.length],
    ['billed requests of different steps', mixed.length],
    withLine('second of a video', ({ dimension }) => dimension === 'second'),
    withLine('characters of speech', ({ dimension }) => dimension === 'character'),
    withLine('image by size or quality', ({ size, quality }) => (size ?? quality) !== undefined),
  ]);
}

export function lineOf({ round, faults, counts, spentNanoUsd, unbilledNanoUsd, violations, seconds }: Summary): string {
  const { calls, ended, left, refused, broken, edits, abandoned, samples } = counts;
  return (
    `round ${round}: ${calls} calls (${ended} ended, ${left} left, ${refused} refused, ${broken} broken off, ` +
    `${abandoned} abandoned), ${samples} samples; ${[...faults, `${edits} edits`].join(', ')}; ` +
    `spent ${usd(spentNanoUsd)}, written off ${usd(unbilledNanoUsd)}; ${
      violations === 0 ? 'reconciled' : `${violations} VIOLATIONS`
    } (${seconds.toFixed(1)} s)`
  );
}

export function table(summaries: readonly Summary[]): string {
  const total = (name: string): number => summaries.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0);
  const names = Object.keys(summaries[0]?.counts ?? {});
  const money = (read: (summary: Summary) => bigint): string =>
    usd(summaries.reduce((sum, summary) => sum + read(summary), 0n));
  const rows: [string, string | number][] = [
    ['rounds', summaries.length],
    ...names.map((name): [string, number] => [name, total(name)]),
    ['spent, USD', money(({ spentNanoUsd }) => spentNanoUsd)],
    ['written off, USD', money(({ unbilledNanoUsd }) => unbilledNanoUsd)],
    [
      'most held at once, USD',
      usd(summaries.reduce((most, { mostHeldNanoUsd }) => (mostHeldNanoUsd > most ? mostHeldNanoUsd : most), 0n)),
    ],
    ['slowest edit, ms', Math.max(0, ...summaries.map(({ slowestEditMs }) => slowestEditMs))],
    ['violations', summaries.reduce((sum, { violations }) => sum + violations, 0)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${String(value).padStart(16)}`).join('\n');
}
