/**
 * [P] The script's steps as text, and its replies as values. Amounts are decimal text both ways; what the script does not
 * reckon with (origin, tokens) travels as JSON that it only keeps.
 */
import { cleanProgress, least, MAX_NANO_USD, wholeNumber } from '../amounts.ts';
import type { HoldRequest, JobRecord, JobState, Limits, QuotaPeriod, Settlement, SettleResult, SlotLimit } from '../ledger.ts';
import type { CallOrigin, CallProgress, CallStatus, UsageRecord, UsageSource } from '../usage-record.ts';

/** One step of a batch. */
export interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

/** What the script says of a step; the first word says which. */
export type Reply = readonly string[];

const PERIOD_LETTERS: Readonly<Record<QuotaPeriod, string>> = { Never: 'N', Daily: 'D', Monthly: 'M' };
const STATUSES: readonly CallStatus[] = ['Running', 'Succeeded', 'Failed', 'ClientClosed', 'ProviderCut', 'Abandoned', 'Refunded'];
const SOURCES: readonly UsageSource[] = ['Provider', 'Estimated', 'Partial'];
const JOB_STATES: readonly JobState[] = ['Running', 'Completed', 'Failed'];

/** What ends a word, and a reply. Neither may be in a word: identifiers of this product have no control characters. */
const [WORD_END, REPLY_END] = ['\x1f', '\x1e'];
const NO_END = '\uFFFD';

/**
 * A batch as one text, since a client spends more on each argument than on what is in it: what heads it, then each step with its
 * name, how many words follow, and these.
 */
export function encodeBatch(head: readonly string[], steps: readonly Step[]): string {
  const words = [...head];
  for (const { name, args } of steps) words.push(name, String(args.length), ...args);
  const text = words.join(WORD_END);
  // somebody asked for an identifier that cannot be
  return countEnds(text) === words.length - 1 && !text.includes(REPLY_END) ? text : words.map((word) => word.replaceAll(WORD_END, NO_END).replaceAll(REPLY_END, NO_END)).join(WORD_END);
}

function countEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf(WORD_END); at !== -1; at = text.indexOf(WORD_END, at + 1)) count++;
  return count;
}

/** What a batch is answered with: a word of the whole, and what follows it. */
export function parseReplies(value: unknown): readonly [word: string, ...rest: string[]] {
  if (typeof value !== 'string') throw new Error('the ledger\'s script gave no text');
  const [word = '', ...rest] = value.split(REPLY_END);
  return [word, ...rest];
}

/** One step's reply. */
export function parseReply(text: string): Reply {
  return text.split(WORD_END);
}

/** A hold as it is measured and kept, without what identifies the asker's generation. */
export function holdStep({ origin, limits, amountNanoUsd, minimumNanoUsd, progress }: HoldRequest): Step {
  const [limit, period, credit] = limitWords(limits);
  const [cost, tokens] = progressWords(progress);
  return {
    name: 'hold',
    args: [
      ...originWords(origin), limit, period, String(limits.keyGeneration), credit, String(limits.accountGeneration),
      String(capped(amountNanoUsd)), String(capped(minimumNanoUsd)), cost, tokens,
    ],
  };
}

export function limitWords({ keyLimitNanoUsd, period, accountCreditNanoUsd }: Limits): [limit: string, period: string, credit: string] {
  return [keyLimitNanoUsd === null ? '-' : String(capped(keyLimitNanoUsd)), PERIOD_LETTERS[period], String(capped(accountCreditNanoUsd))];
}

export function periodLetter(period: QuotaPeriod): string {
  return PERIOD_LETTERS[period];
}

export function originWords(origin: CallOrigin): [callId: string, keyUid: string, account: string, createdMs: string, route: string] {
  return [origin.callId, origin.keyUid, origin.account, String(wholeNumber(origin.createdMs)), routeWord(origin)];
}

export function routeWord({ group, model, channel, catalog }: Pick<CallOrigin, 'group' | 'model' | 'channel' | 'catalog'>): string {
  return JSON.stringify([group, model, channel, catalog]);
}

/** Cost, and the rest of it as JSON. Whatever figures a defect made, they are counts here. */
export function progressWords(progress: CallProgress): [cost: string, tokens: string] {
  const { costNanoUsd, tokens: { input, cached, cacheWrite5m, cacheWrite1h, output }, usageSource } = cleanProgress(progress);
  return [String(costNanoUsd), JSON.stringify([input, cached, cacheWrite5m, cacheWrite1h, output, usageSource])];
}

/** `slots`: of the call, to be given back in the same step. */
export function settleStep({ callId, progress, origin, status, durationMs, job }: Settlement, slots: readonly string[]): Step {
  const [cost, tokens] = progressWords(progress);
  return {
    name: 'settle',
    args: [callId, cost, tokens, routeWord(origin), status, String(wholeNumber(durationMs)), job?.jobId ?? '', String(wholeNumber(job?.pollMs ?? 0)), origin.channel, ...slots],
  };
}

/** That these limits are in force: for a settlement that takes more than was held. */
export function seeStep({ keyUid, account }: Pick<CallOrigin, 'keyUid' | 'account'>, limits: Limits): Step {
  const [limit, period, credit] = limitWords(limits);
  return { name: 'see', args: [keyUid, account, limit, period, String(limits.keyGeneration), credit, String(limits.accountGeneration)] };
}

export function progressStep(callId: string, progress: CallProgress): Step {
  return { name: 'progress', args: [callId, ...progressWords(progress)] };
}

export function takeStep(callId: string, slots: readonly SlotLimit[]): Step {
  return { name: 'take', args: [callId, ...slotWords(slots)] };
}

/** Slots and money in one step; the slots are those of the bucket that the money is in. */
export function admitStep(request: HoldRequest, slots: readonly SlotLimit[]): Step {
  const words = slotWords(slots);
  return { name: 'admit', args: [String(words.length), ...words, ...holdStep(request).args] };
}

function slotWords(slots: readonly SlotLimit[]): string[] {
  return slots.flatMap(({ id, limit }) => [id, String(limit)]);
}

/** The record in a reply of `settle` or `usage`, and the answer that its settlement gave. */
export function parseRecord([, account = '', callId = '', keyUid = '', createdMs, route, tokens, cost, unbilled, status, duration, spent, remaining]: Reply): SettleResult {
  const record: UsageRecord = {
    callId, keyUid, account, createdMs: Number(createdMs), ...parseRoute(route), ...parseProgress(cost, tokens),
    unbilledNanoUsd: amount(unbilled), status: oneOf(STATUSES, status), durationMs: Number(duration),
  };
  return { record, keySpentNanoUsd: amount(spent), keyRemainingNanoUsd: remaining === '-' ? null : amount(remaining) };
}

export function parseRoute(text: string | undefined): Pick<CallOrigin, 'group' | 'model' | 'channel' | 'catalog'> {
  const [group, model, channel, catalog] = parseList(text).map(String);
  return { group: group ?? '', model: model ?? '', channel: channel ?? '', catalog: catalog ?? '' };
}

export function parseProgress(cost: string | undefined, tokens: string | undefined): CallProgress {
  const parts = parseList(tokens);
  const [input = 0, cached = 0, cacheWrite5m = 0, cacheWrite1h = 0, output = 0] = parts.slice(0, 5).map(Number);
  return { costNanoUsd: amount(cost), tokens: { input, cached, cacheWrite5m, cacheWrite1h, output }, usageSource: oneOf(SOURCES, String(parts[5])) };
}

export function parseJob([, jobId = '', state, account = '', callId = '', keyUid = '', createdMs, route]: Reply): JobRecord {
  return { jobId, state: oneOf(JOB_STATES, state), origin: { callId, keyUid, account, createdMs: Number(createdMs), ...parseRoute(route) } };
}

/** A list of texts, as the client hands it over. */
export function parseTexts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw new Error('the ledger\'s store gave no list');
  return value.map(String);
}

function parseList(text: string | undefined): unknown[] {
  const value: unknown = JSON.parse(text ?? '[]');
  return Array.isArray(value) ? value : [];
}

export function amount(text: string | undefined): bigint {
  return BigInt(text ?? '0');
}

function oneOf<T extends string>(words: readonly T[], text: string | undefined): T {
  const known = words.find((word) => word === text);
  if (known === undefined) throw new Error(`the ledger has an unknown word: ${text}`);
  return known;
}

function capped(value: bigint): bigint {
  return least(value > -MAX_NANO_USD ? value : -MAX_NANO_USD, MAX_NANO_USD);
}
