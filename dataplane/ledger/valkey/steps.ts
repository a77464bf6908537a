/**
 * [P] The script's steps as text, and its replies as values. Amounts are decimal text both ways; what the script does not
 * reckon with (origin, tokens) travels as JSON that it only keeps.
 */
import { cleanProgress, least, MAX_NANO_USD, wholeNumber } from '../amounts.ts';
import type { JobRecord, JobState, Limits, QuotaPeriod, Settlement, SettleResult, SlotLimit } from '../ledger.ts';
import type { CallOrigin, CallProgress, CallStatus, UsageRecord, UsageSource } from '../usage-record.ts';
import { parseRoute, routeWord } from './routes.ts';

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

/** What ends a word (as the script's struct library ends a text), and a reply. Neither may be in a word: identifiers of this product have no control characters. */
export const WORD_END = '\0';
const REPLY_END = '\x1e';
const NO_END = '\uFFFD';

/**
 * A batch as one text, since a client spends more on each argument than on what is in it: what heads it, then the steps as they
 * were encoded. Each word has its end.
 */
export function encodeBatch(head: readonly string[], steps: readonly string[]): string {
  const heading = `${head.join(WORD_END)}${WORD_END}`;
  return steps.length === 0 ? heading : `${heading}${steps.join(WORD_END)}${WORD_END}`;
}

/** A step with its name, how many words follow, and these. */
export function encodeStep({ name, args }: Step): string {
  return args.length === 0 ? `${name}${WORD_END}0` : `${name}${WORD_END}${args.length}${WORD_END}${args.map(cleanWord).join(WORD_END)}`;
}

/** For a word that somebody else chose: asked for an identifier that cannot be, it is nobody's. */
export function cleanWord(word: string): string {
  return word.includes(WORD_END) || word.includes(REPLY_END) ? word.replaceAll(WORD_END, NO_END).replaceAll(REPLY_END, NO_END) : word;
}

/** Of an encoded step. */
export function nameOf(step: string): string {
  return step.slice(0, step.indexOf(WORD_END));
}

/** What a batch is answered with: a word of the whole, and what follows it. */
export function parseReplies(value: unknown): readonly string[] {
  if (typeof value !== 'string') throw new Error('the ledger\'s script gave no text');
  return value.split(REPLY_END);
}

/** One step's reply. */
export function parseReply(text: string): Reply {
  return text.split(WORD_END);
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

/** Cost, and the rest of it as JSON. Whatever figures a defect made, they are counts here. */
export function progressWords(progress: CallProgress): [cost: string, tokens: string] {
  const clean = cleanProgress(progress);
  return [String(clean.costNanoUsd), tokensWord(clean)];
}

/** JSON, put together by hand: of counts and a known word nothing needs to be quoted. */
export function tokensWord({ tokens: { input, cached, cacheWrite5m, cacheWrite1h, output }, usageSource }: CallProgress): string {
  return `[${input},${cached},${cacheWrite5m},${cacheWrite1h},${output},"${usageSource}"]`;
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

function parseProgress(cost: string | undefined, tokens: string | undefined): CallProgress {
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

export function capped(value: bigint): bigint {
  return least(value > -MAX_NANO_USD ? value : -MAX_NANO_USD, MAX_NANO_USD);
}
