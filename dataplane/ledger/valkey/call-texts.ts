/**
 * [P] The steps that every call takes, as text at once: what `encodeStep` makes of a list of words, without the list. Words that
 * somebody else chose are cleaned, the others (amounts, counts, JSON) cannot hold what ends a word.
 */
import { wholeNumber } from '../amounts.ts';
import type { HoldRequest, Settlement, SlotLimit } from '../ledger.ts';
import type { CallProgress } from '../usage-record.ts';
import type { RouteText } from './routes.ts';
import { capped, cleanWord, limitWords, progressWords, tokensWord, WORD_END as E } from './steps.ts';

const HOLD_WORDS = 14;

/** A hold as it is measured and kept. `route`: of its origin. */
export function holdText(request: HoldRequest, route: RouteText): string {
  return `hold${E}${HOLD_WORDS}${E}${holdWords(request, route)}`;
}

/** Slots and money in one step; the slots are those of the bucket that the money is in. */
export function admitText(request: HoldRequest, route: RouteText, slots: readonly SlotLimit[]): string {
  const count = slots.length * 2;
  let text = `admit${E}${1 + count + HOLD_WORDS}${E}${count}${E}`;
  for (const { id, limit } of slots) text += `${cleanWord(id)}${E}${limit}${E}`;
  return text + holdWords(request, route);
}

function holdWords({ origin, limits, amountNanoUsd, minimumNanoUsd, progress }: HoldRequest, { word }: RouteText): string {
  const [limit, period, credit] = limitWords(limits);
  const [cost, tokens] = progressWords(progress);
  const call = `${cleanWord(origin.callId)}${E}${cleanWord(origin.keyUid)}${E}${cleanWord(origin.account)}${E}${wholeNumber(origin.createdMs)}${E}${word}`;
  const measure = `${limit}${E}${period}${E}${limits.keyGeneration}${E}${credit}${E}${limits.accountGeneration}`;
  return `${call}${E}${measure}${E}${capped(amountNanoUsd)}${E}${capped(minimumNanoUsd)}${E}${cost}${E}${tokens}`;
}

const BOOK_WORDS = 6;

/**
 * The settlement of a call that this process holds, answered with what it does not know. `progress`: cleaned; `route`: empty where
 * it is the hold's.
 */
export function bookText({ callId, status, durationMs }: Settlement, progress: CallProgress, route: string, slots: readonly string[]): string {
  let text = `book${E}${BOOK_WORDS + slots.length}${E}${cleanWord(callId)}${E}${progress.costNanoUsd}${E}${tokensWord(progress)}${E}${route}${E}${status}${E}${wholeNumber(durationMs)}`;
  for (const id of slots) text += `${E}${cleanWord(id)}`;
  return text;
}
