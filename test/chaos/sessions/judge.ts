/**
 * Compares each session with what the provider sent and with its record: responses that the client saw end are billed
 * exactly, and an interrupted one by what the gateway may have seen of it.
 */
import { isDisturbed } from '../happened.ts';
import type { Happened } from '../happened.ts';
import type { LedgerRecord } from '../ledger-file.ts';
import type { SessionLog } from './client.ts';
import { MAX_OUTPUT_TOKENS, sessionPrice, sessionUid, transcriptionPrice } from './config.ts';
import type { ProvidedResponse, ProvidedTranscription } from './provider.ts';

export interface SessionEvidence {
  readonly sessions: readonly SessionLog[];
  readonly responses: readonly ProvidedResponse[];
  readonly transcriptions: readonly ProvidedTranscription[];
  /** The records of the sessions of this round. */
  readonly records: readonly LedgerRecord[];
  readonly happened: Happened;
  /** Whether the store may lose records. */
  readonly isForgetful: boolean;
}

interface Case extends Pick<SessionEvidence, 'happened'> {
  readonly session: SessionLog;
  /** Of this session. */
  readonly responses: readonly ProvidedResponse[];
  readonly transcriptions: readonly ProvidedTranscription[];
  readonly record: LedgerRecord;
}

/** What a response can have been billed: cached tokens exactly, the others from `least` to `most`. */
interface Bill {
  readonly cached: number;
  readonly least: { readonly input: number; readonly output: number };
  readonly most: { readonly input: number; readonly output: number };
}

const FREE: Bill = { cached: 0, least: { input: 0, output: 0 }, most: { input: 0, output: 0 } };
/** A process that could not renew its holds for this long ends its sessions. */
const HOLD_LOST_MS = 20_000;
/** Input that the gateway may estimate besides what the client sent: settings and earlier responses. */
const OTHER_INPUT = 8 * MAX_OUTPUT_TOKENS;

/** Describes what is wrong; empty if every nano-dollar is right. */
export function judgeSessions(evidence: SessionEvidence): string[] {
  const { sessions, responses, transcriptions, records, happened, isForgetful } = evidence;
  const byId = new Map(records.map((record) => [record.id, record]));
  const found = sessions.flatMap((session) => {
    const record = byId.get(session.id);
    const mine = responses.filter(({ n }) => n === session.plan.n);
    const spoken = transcriptions.filter(({ n }) => n === session.plan.n);
    const complaint = record
      ? judge({ session, record, responses: mine, transcriptions: spoken, happened })
      : session.status === 101 && !isForgetful
        ? 'it is lost'
        : undefined;
    const complaints = [complaint, unexplained(session, { responses: mine, happened })];
    return complaints.flatMap((each) => (each === undefined ? [] : [describe(session, { mine, record }) + each]));
  });
  const ids = new Set(sessions.map(({ id }) => id));
  const strays = records.filter(({ id, costNanoUsd }) => !ids.has(id) && costNanoUsd > 0n);
  return [
    ...found,
    ...strays.map(({ id, costNanoUsd }) => `the session ${id} costs ${costNanoUsd}, and nobody had it`),
  ];
}

function describe(
  { plan, status, begun, ended, left, closeCode, errors }: SessionLog,
  { mine, record }: { readonly mine: readonly ProvidedResponse[]; readonly record: LedgerRecord | undefined },
): string {
  const sent = mine.map(({ k, textBytes, end, fate }) => `${k} ${textBytes} bytes ${end ?? `no end (${fate.end})`}`);
  const books = record
    ? `${record.id} ${record.status} ${record.usageSource} ${Object.values(record.tokens).join('/')} ${record.costNanoUsd}+${record.unbilledNanoUsd}`
    : 'nothing';
  return (
    `session ${plan.n} (key ${plan.key}; client ${status}, ${begun.length} begun, ${ended.length} ended, ` +
    `${left ? 'left' : `closed with ${closeCode}`} ${errors.join()}; provider: ${sent.join(', ')}; books: ${books}): `
  );
}

function judge(each: Case): string | undefined {
  return belongs(each) ?? status(each) ?? price(each) ?? tokens(each);
}

function belongs({ session, record }: Case): string | undefined {
  return record.key === sessionUid(session.plan.key) ? undefined : `it is in the books of ${record.key}`;
}

function status({ record, responses, happened, session }: Case): string | undefined {
  switch (record.status) {
    case 'Abandoned':
      return happened.kills.some((ms) => ms >= record.createdMs) ? undefined : 'nobody killed its gateway';
    case 'ProviderCut':
      return responses.some(({ fate, end }) => end === undefined && fate.end === 'Cut') || isDisturbed(happened)
        ? undefined
        : 'its provider did not break off';
    case 'ClientClosed':
      return session.left || isDisturbed(happened) ? undefined : 'its client did not leave';
    case 'Failed':
      return responses.some(isProvidersEnd) || isDisturbed(happened) ? undefined : 'its provider did not break off';
    case 'Withheld':
      return isDisturbed(happened) ? undefined : 'nothing explains that it is Withheld';
    default:
      return undefined;
  }
}

/**
 * Two sums, each rounded once: of responses, and of transcriptions. A bill that another process takes over is the sum of
 * what had ended and of what ran.
 */
function price(each: Case): string | undefined {
  const { costNanoUsd, unbilledNanoUsd, durationMs, status: recorded, tokens: used } = each.record;
  if (unbilledNanoUsd !== 0n && (durationMs < HOLD_LOST_MS || recorded === 'Succeeded'))
    return `${unbilledNanoUsd} nano-USD were written off`;
  const total = costNanoUsd + unbilledNanoUsd;
  const ofTokens = sessionPrice(used);
  const roundings = each.transcriptions.length > 0 ? 2n : 1n;
  const tolerated = recorded === 'Abandoned' || recorded === 'Failed' ? roundings : 0n;
  const options = secondsOptions(each);
  const isExpected = options.some((seconds) => {
    const difference = total - ofTokens - transcriptionPrice(seconds);
    return difference <= tolerated && -difference <= tolerated;
  });
  const spoken = each.transcriptions.length > 0 ? `, with ${options.join(' or ')} s of transcriptions` : '';
  return isExpected ? undefined : `it costs ${total}, and its tokens ${ofTokens}${spoken}`;
}

/** The possible sums of billed seconds. */
function secondsOptions(each: Case): readonly number[] {
  return each.transcriptions.reduce<readonly number[]>(
    (sums, transcription) => [
      ...new Set(sums.flatMap((sum) => billedSeconds(transcription, each).map((seconds) => sum + seconds))),
    ],
    [0],
  );
}

/** The seconds that may be billed: those of its end if the client saw it, else any that the gateway may know of. */
function billedSeconds(
  transcription: ProvidedTranscription,
  { session, responses, happened }: Case,
): readonly number[] {
  const { j, fate, audioSeconds, isEnded } = transcription;
  // no more than what is held: the audio, and a second before it
  const told = Math.min(fate.seconds, audioSeconds + 1);
  const atEnd = { Usage: told, NoUsage: audioSeconds, Failed: 0 }[fate.end];
  if (session.transcribed.includes(j)) return [atEnd];
  const isCut = responses.some(isProvidersEnd);
  const mayBeFree = isCut || isDisturbed(happened) || !session.committed.includes(j);
  return [audioSeconds, ...(isEnded ? [atEnd] : []), ...(mayBeFree ? [0] : [])];
}

function isProvidersEnd({ fate }: ProvidedResponse): boolean {
  return fate.end === 'Cut' || fate.end === 'Orderly';
}

function tokens(each: Case): string | undefined {
  const { record, responses, session } = each;
  const isSeen = ({ k }: ProvidedResponse): boolean => session.ended.includes(k);
  const certain = responses.filter(isSeen).map((response) => whole(response, session));
  const options = responses
    .filter((response) => !isSeen(response))
    .reduce<readonly Bill[]>(
      (sums, response) => sums.flatMap((sum) => optionsOf(response, each).map((bill) => plus(sum, bill))),
      [certain.reduce(plus, FREE)],
    );
  if (options.some((bill) => fits(record, bill))) return undefined;
  return `its tokens are none of ${options.map(format).join(' or ')}`;
}

function fits({ tokens: { input, cached, output } }: LedgerRecord, { cached: read, least, most }: Bill): boolean {
  const isWithin = (count: number, from: number, to: number): boolean => count >= from && count <= to;
  return cached === read && isWithin(input, least.input, most.input) && isWithin(output, least.output, most.output);
}

function plus(a: Bill, b: Bill): Bill {
  return {
    cached: a.cached + b.cached,
    least: { input: a.least.input + b.least.input, output: a.least.output + b.least.output },
    most: { input: a.most.input + b.most.input, output: a.most.output + b.most.output },
  };
}

function format({ cached, least, most }: Bill): string {
  return `${least.input} to ${most.input} + ${cached} / ${least.output} to ${most.output}`;
}

/** A response whose end has come is billed by its usage, or by what it has brought. */
function whole({ fate, end, textBytes }: ProvidedResponse, session: SessionLog): Bill {
  if (end === 'Usage') {
    const counts = { input: fate.input - fate.cached, output: Math.min(fate.output, MAX_OUTPUT_TOKENS) };
    return { cached: fate.cached, least: counts, most: counts };
  }
  if (end === 'Failed' && textBytes === 0) return FREE;
  const output = estimated(textBytes);
  return { cached: 0, least: { input: 1, output }, most: { input: mostInput(session), output } };
}

/** The client has not seen the end of the response: the gateway may have, or may have seen a part, or nothing. */
function optionsOf(response: ProvidedResponse, each: Case): readonly Bill[] {
  const { session } = each;
  const seen: Bill = {
    cached: 0,
    least: { input: 1, output: 0 },
    most: { input: mostInput(session), output: estimated(response.textBytes) },
  };
  return [
    seen,
    ...(response.end === undefined ? [] : [whole(response, session)]),
    ...(mayBeFree(response, each) ? [FREE] : []),
  ];
}

/** The gateway may not have seen its beginning, or its provider brought nothing. */
function mayBeFree(response: ProvidedResponse, { session, happened }: Case): boolean {
  const isFault = isProvidersEnd(response) || response.fate.end === 'Failed';
  return isFault || isDisturbed(happened) || !session.begun.includes(response.k);
}

function mostInput({ sentBytes }: SessionLog): number {
  return sentBytes + OTHER_INPUT;
}

function estimated(textBytes: number): number {
  return Math.min(MAX_OUTPUT_TOKENS, Math.ceil(textBytes / 4));
}

/** What a session's client saw that nothing explains. */
function unexplained(
  { status: httpStatus, hung, left, closeCode, plan }: SessionLog,
  { responses, happened }: Pick<Case, 'responses' | 'happened'>,
): string | undefined {
  if (hung) return 'its client waited in vain';
  if (isDisturbed(happened)) return undefined;
  const isTight = plan.key === 'tight';
  if (httpStatus !== 101) return isTight && httpStatus === 429 ? undefined : `it was refused with ${httpStatus}`;
  const isEndedByProvider = responses.some(isProvidersEnd);
  return left || isTight || isEndedByProvider ? undefined : `it was closed with ${closeCode}`;
}
