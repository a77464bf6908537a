/**
 * [P] The reply of a settlement whose process holds its call: what only the store knows. The rest of the record, and of what the
 * journal keeps, is as the process itself said.
 */
import { notNegative, wholeNumber } from '../amounts.ts';
import type { HoldRequest, Settlement, SettleResult } from '../ledger.ts';
import type { CallProgress } from '../usage-record.ts';
import type { RouteText } from './routes.ts';
import { amount, capped, tokensWord } from './steps.ts';
import type { Reply } from './steps.ts';

/** What a process knows of the call that it settles. */
export interface BookedCall {
  readonly request: HoldRequest;
  /** The windows' indexes that it was admitted in. */
  readonly day: string;
  readonly month: string;
  readonly settlement: Settlement;
  /** The settlement's, cleaned. */
  readonly progress: CallProgress;
  /** The settlement's. */
  readonly route: RouteText;
}

/** What a reply says: amounts after the settlement, as text. */
export interface Booked {
  readonly change: string;
  readonly accountSpent: string;
  readonly total: string;
  readonly daySpent: string;
  readonly monthSpent: string;
  readonly billed: string;
  readonly unbilled: string;
}

/** What the reply of the step `book` says. The last two words are there only where not all of the cost was billed. */
export function parseBooked([, change = '', accountSpent = '', total = '', daySpent = '', monthSpent = '', billed, unbilled = '0']: Reply, { progress }: BookedCall): Booked {
  return { change, accountSpent, total, daySpent, monthSpent, billed: billed ?? String(progress.costNanoUsd), unbilled };
}

/** The answer that a reply which tells everything would give. */
export function bookedResult(booked: Booked, call: BookedCall): SettleResult {
  const { request: { origin, limits: { keyLimitNanoUsd } }, settlement, progress, route: { route } } = call;
  const keySpentNanoUsd = amount(periodSpent(booked, call));
  return {
    record: {
      callId: origin.callId, keyUid: origin.keyUid, account: origin.account, createdMs: wholeNumber(origin.createdMs),
      group: route.group, model: route.model, channel: route.channel, catalog: route.catalog,
      costNanoUsd: amount(booked.billed), tokens: progress.tokens, usageSource: progress.usageSource,
      unbilledNanoUsd: amount(booked.unbilled), status: settlement.status, durationMs: wholeNumber(settlement.durationMs),
    },
    keySpentNanoUsd,
    keyRemainingNanoUsd: keyLimitNanoUsd === null ? null : notNegative(capped(keyLimitNanoUsd) - keySpentNanoUsd),
  };
}

function periodSpent({ total, daySpent, monthSpent }: Booked, { request: { limits: { period } } }: BookedCall): string {
  if (period === 'Never') return total;
  return period === 'Daily' ? daySpent : monthSpent;
}

/** The journal's line of it: letter by letter the one of a reply that tells everything. */
export function bookedLine(booked: Booked, { record, keySpentNanoUsd, keyRemainingNanoUsd }: SettleResult, { route, day, month }: Pick<BookedCall, 'route' | 'day' | 'month'>): string {
  const id = quoted(record.callId);
  const who = `["C",${id},["settled",${quoted(record.account)},${id},${quoted(record.keyUid)},"${record.createdMs}",${route.quoted}`;
  const what = `${quoted(tokensWord(record))},"${booked.billed}","${booked.unbilled}","${record.status}","${record.durationMs}"`;
  const after = `"${keySpentNanoUsd}","${keyRemainingNanoUsd ?? '-'}","${booked.change}","${booked.accountSpent}","${booked.total}","${booked.daySpent}","${booked.monthSpent}"`;
  return `${who},${what},${after},"${day}","${month}"],["","0",${quoted(record.channel)}]]\n`;
}

/** As JSON does it, but for the usual text that needs nothing but its quotes. */
function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

const PLAIN = /^[\w ./:@+=-]*$/;
