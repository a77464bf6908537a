/**
 * Compares everything that is known of a round: the logs of clients and provider, the books, samples of the books, and
 * the gateway's output. Pure: the same evidence gives the same findings.
 */
import { CHANNELS, CHEAP_GROUP_MOST, KEY_NAMES, KEYS, keyString, PROVIDER_SECRET } from './config.ts';
import type { ChannelName, Config, KeyName } from './config.ts';
import type { CallLog } from './client.ts';
import type { Fate } from './fate.ts';
import { isDisturbed } from './happened.ts';
import type { Happened } from './happened.ts';
import { inForce, judge } from './judge.ts';
import type { Case } from './judge.ts';
import { uidOf } from './ledger-file.ts';
import type { LedgerRecord } from './ledger-file.ts';
import { PROMPT_MARK } from './plan.ts';
import type { Attempt } from './provider-process.ts';
import { matchAll } from './matching.ts';
import { crowdedMinutes, refusedAsShort } from './minutes.ts';
import { refusals } from './refusals.ts';
import { beyondHolds, overcrowded, overspent } from './watch.ts';
import type { Sample } from './watch.ts';
import { overspentWindows } from './windows.ts';

export interface Evidence {
  readonly calls: readonly CallLog[];
  readonly attempts: readonly Attempt[];
  /** The records of this round. */
  readonly records: readonly LedgerRecord[];
  /** Those of the rounds before, with the same books. */
  readonly earlierRecords: readonly LedgerRecord[];
  readonly samples: readonly Sample[];
  readonly happened: Happened;
  /** What the gateway wrote. */
  readonly output: string;
  /** When counters by the minute were forgotten; undefined: at any time. */
  readonly beganAnewMs: readonly number[] | undefined;
  /** Calls of earlier rounds that may still count by the minute. */
  readonly earlier: readonly CallLog[];
  /** The port of the provider. */
  readonly providerPort: string;
}

/** A call and a record that are this near in time are told of together. */
const NEAR_MS = 500;

/** Describes what is wrong; empty if every nano-dollar is right. */
export function reconcile(evidence: Evidence): string[] {
  const { samples, happened } = evidence;
  const configs = (fromMs: number, toMs: number): Config[] =>
    inForce(happened.versions, awake(happened, fromMs, toMs), toMs).map(({ config }) => config);
  return [
    ...happened.violations,
    ...overspent(samples, configs),
    ...overspentWindows(evidence, configs),
    ...overcrowded(samples, configs),
    ...beyondHolds(samples, evidence.records),
    ...crowdedChannels(evidence),
    ...crowdedMinutes(evidence),
    ...refusedAsShort(evidence),
    ...billed(evidence),
    ...refusals(evidence),
    ...evidence.calls.flatMap((call) => answered(call, evidence)),
    ...evidence.attempts.flatMap((attempt) => asked(attempt, evidence)),
    ...spoken(evidence),
  ];
}

/** A process that stands still writes to the file what it decided before. */
function awake({ pauses }: Happened, fromMs: number, toMs: number): number {
  return Math.min(
    fromMs,
    ...pauses
      .filter((pause) => pause.fromMs <= toMs && pause.toMs >= fromMs)
      .map((pause) => fromMs - (pause.toMs - pause.fromMs)),
  );
}

/**
 * Every call against its record, and every record against its call. Where the client never saw an id, the one that
 * fits.
 */
function billed({ calls, attempts, records, happened }: Evidence): string[] {
  const byCall = Map.groupBy(attempts, ({ asked: { n } }) => n);
  const byId = new Map(records.map((record) => [record.id, record]));
  const caseOf = (call: CallLog, record: LedgerRecord | undefined): Case => ({
    call,
    record,
    happened,
    attempts: byCall.get(call.plan.n) ?? [],
  });
  const [known, nameless] = [calls.filter(({ id }) => id !== ''), calls.filter(({ id }) => id === '')];
  const wrong = known.flatMap((call) =>
    describeFault(caseOf(call, byId.get(call.id)), judge(caseOf(call, byId.get(call.id)))),
  );

  const ids = new Set(known.map(({ id }) => id));
  const unclaimed = records.filter(({ id }) => !ids.has(id));
  // calls that must have a record are matched first
  const cases = nameless
    .map((call) => caseOf(call, undefined))
    .sort((a, b) => Number(b.attempts.length > 0) - Number(a.attempts.length > 0));
  const matched = matchAll(cases, unclaimed, (each, record) => judge({ ...each, record }) === undefined);
  const lost = cases
    .filter((each) => !matched.has(each))
    .flatMap((each) => describeFault(each, describeLost(each, unclaimed)));
  const taken = new Set(matched.values());
  const strays = unclaimed
    .filter((record) => !taken.has(record))
    .map(
      (record) =>
        `the record ${describeRecord(record)} belongs to no call, or to one that it does not fit${describeNearest(cases, record)}`,
    );
  return [...wrong, ...lost, ...strays];
}

/** The reasons why a record does not fit the calls that were sent at about the same time. */
function describeNearest(cases: readonly Case[], record: LedgerRecord): string {
  return cases
    .filter(
      ({ call: { plan, sentMs } }) =>
        record.key === uidOf(plan.key) && plan.model === record.model && Math.abs(record.createdMs - sentMs) < NEAR_MS,
    )
    .slice(0, 3)
    .map(
      (each) =>
        ` (call ${each.call.plan.n}, ${each.attempts.length} attempts: ${judge({ ...each, record }) ?? 'it has another record'})`,
    )
    .join('');
}

/** Describes a call without a record, with the reasons why the nearest records do not fit. */
function describeLost(each: Case, records: readonly LedgerRecord[]): string | undefined {
  const plain = judge(each);
  if (plain === undefined) return undefined;
  const near = records.filter(
    ({ key, model, createdMs }) =>
      key === uidOf(each.call.plan.key) &&
      model === each.call.plan.model &&
      Math.abs(createdMs - each.call.sentMs) < NEAR_MS,
  );
  return [
    plain,
    ...near
      .slice(0, 3)
      .map((record) => `(${describeRecord(record)}: ${judge({ ...each, record }) ?? 'taken by another call'})`),
  ].join(' ');
}

function describeFault({ call, attempts, record }: Case, complaint: string | undefined): string[] {
  if (complaint === undefined) return [];
  const { plan } = call;
  const last = attempts.at(-1);
  const tried = attempts.map(({ asked: { channel }, fate }) => `${channel} ${fate.kind}`).join(', ');
  return [
    `call ${plan.n} (${plan.path} ${plan.model}${plan.stream ? ' stream' : ''}, key ${plan.key}, ${plan.leaving.stage}, ${plan.fault}; client ${call.status} ${call.end}${call.left ? ' left' : ''} after ${call.overMs - call.sentMs} ms; ` +
      `provider: ${tried || 'nothing'}${last ? ` ${JSON.stringify({ ...last.fate, pieces: undefined })} ${JSON.stringify(last.produced)}${last.gone ? ' gone' : ''}` : ''}; ` +
      `books: ${record ? describeRecord(record) : 'nothing'}): ${complaint}`,
  ];
}

function describeRecord(record: LedgerRecord): string {
  const { id, status, usageSource, tokens, costNanoUsd, unbilledNanoUsd, group, channel } = record;
  return `${id} ${status} ${usageSource} ${Object.values(tokens).join('/')} ${costNanoUsd}+${unbilledNanoUsd} by ${group} ${channel}`;
}

/** Checks what the client was told. */
function answered(call: CallLog, evidence: Evidence): string[] {
  const { plan, status, said, hung, maxTokens } = call;
  const { happened, providerPort, attempts } = evidence;
  const found: string[] = [];
  const say = (words: string): void => {
    found.push(`call ${plan.n}: ${words}: ${said.slice(0, 300)}`);
  };
  if (hung) say('its client waited in vain');
  const explained = REASONS[status]?.({
    call,
    happened,
    fates: attempts.filter(({ asked: { n } }) => n === plan.n).map(({ fate }) => fate),
  });
  if (!explained) say(`it was answered with ${status}, and nothing explains it`);
  if (
    secretsOf(happened)
      .concat(`127.0.0.1:${providerPort}`)
      .some((secret) => said.includes(secret))
  )
    say('it was told a secret');
  if (maxTokens !== undefined && KEYS[plan.key].whenShort === 'Refuse')
    say('its output limit was lowered, and its key says Refuse');
  return found;
}

interface Circumstances {
  readonly call: CallLog;
  readonly happened: Happened;
  /** What the provider did with the call at its channels. */
  readonly fates: readonly Fate[];
}

/** The possible statuses, and what must have happened for each. */
const REASONS: Readonly<Record<number, (each: Circumstances) => boolean>> = {
  0: ({ call, happened }) => call.left || isDisturbed(happened),
  200: () => true,
  400: ({ call: { plan }, fates }) =>
    plan.fault === 'broken JSON' || fates.some((fate) => fate.kind === 'refusal' && fate.status === 400),
  401: ({ call: { plan }, happened }) => wasChanged(plan.key, happened),
  402: () => true,
  // a gateway that stood still while the body arrived takes the client for slow
  408: ({ happened }) => happened.pauses.length > 0,
  429: () => true,
  // the ledger was away for so long that the gateway ended the call, and says that it will be billed
  500: ({ call: { said }, happened }) => isDisturbed(happened) && /will be billed/.test(said),
  502: ({ call: { plan }, fates }) => fates.length > 0 || FAILS_WITHOUT_PROVIDER.has(plan.model),
  503: ({ call: { plan }, fates, happened }) =>
    isDisturbed(happened) || (plan.path !== '/v1/messages' && fates.some(isOverloaded)),
  529: ({ call: { plan }, fates }) => plan.path === '/v1/messages' && fates.some(isOverloaded),
};

/** Models that have a channel where nobody listens. */
const FAILS_WITHOUT_PROVIDER: ReadonlySet<string> = new Set([
  'gpt-model',
  'flat-model',
  'omni-model',
  'image-model',
  'sized-image-model',
  'film-model',
  'voice-model',
  'embed-model',
]);

function isOverloaded(fate: Fate): boolean {
  return fate.kind === 'refusal' ? fate.status === 529 : fate.kind === 'answer' && fate.broken?.how === 'error event';
}

function wasChanged(key: KeyName, { versions }: Happened): boolean {
  const [first] = versions;
  return versions.some(
    ({ config }) => config.keys[key].rotation !== first?.config.keys[key].rotation || !config.keys[key].enabled,
  );
}

/** The limit that is sent is the client's wish, or a lower one that is still worth something. */
function asked({ asked: { n, kind, limit } }: Attempt, { calls }: Evidence): string[] {
  const plan = calls.find((call) => call.plan.n === n)?.plan;
  if (!plan) return [`the provider had a call ${n}, and nobody sent it`];
  if (kind !== 'chat') return [];
  const wish = Math.min(plan.maxTokens ?? 1_000, 1_000);
  const least = KEYS[plan.key].whenShort === 'Refuse' || plan.body.includes('"tools"') ? wish : Math.min(wish, 16);
  return limit !== undefined && limit >= least && limit <= wish
    ? []
    : [`call ${n}: the provider was given ${limit} as its output limit, and the client's wish was ${wish}`];
}

/** Attempts that the provider ended itself were in flight at least until it did. */
function crowdedChannels({ attempts, calls }: Evidence): string[] {
  const keys = new Map(calls.map(({ plan }) => [plan.n, plan.key]));
  const mine = attempts.filter(({ markedMs }) => markedMs !== undefined);
  const cheap = mine.filter(({ asked: { n } }) => KEYS[keys.get(n) ?? 'free'].group === 'cheap');
  return (Object.keys(CHANNELS) as ChannelName[]).flatMap((channel) => [
    ...crowd(
      mine.filter(({ asked: { channel: own } }) => own === channel),
      CHANNELS[channel].most,
      `channel ${channel}`,
    ),
    ...crowd(
      cheap.filter(({ asked: { channel: own } }) => own === channel),
      CHEAP_GROUP_MOST,
      `group cheap on ${channel}`,
    ),
  ]);
}

function crowd(attempts: readonly Attempt[], most: number, name: string): string[] {
  // at one moment an end counts before a beginning
  const moves = attempts
    .flatMap(({ arrivedMs, markedMs }) => [
      { atMs: arrivedMs, by: 1 },
      { atMs: markedMs ?? arrivedMs, by: -1 },
    ])
    .sort((a, b) => a.atMs - b.atMs || a.by - b.by);
  let [now, peak] = [0, 0];
  for (const { by } of moves) peak = Math.max(peak, (now += by));
  return peak > most ? [`${name} had ${peak} calls at once, of ${most}`] : [];
}

const LEDGER_TROUBLE = /the ledger fails|cannot write the journal of the ledger/;

/** Checks the gateway's output: no defect, no stack trace, no secret. */
function spoken({ output, happened }: Evidence): string[] {
  const secrets = [...secretsOf(happened), PROMPT_MARK];
  return output.split('\n').flatMap((line) => {
    const found: string[] = [];
    // commits take too long for a process that was stopped, and fail where the disk is full or the store is away
    const isExpected = happened.pauses.length > 0 && LEDGER_TROUBLE.test(line);
    if (/"level":"(?:error|fatal)"/.test(line) && !isExpected)
      found.push(`the log tells of a defect: ${line.slice(0, 1_000)}`);
    if (/unhandled|uncaught|^\s+at .+:\d+|internal_error/i.test(line))
      found.push(`the log shows a failure: ${line.slice(0, 1_000)}`);
    if (secrets.some((secret) => line.includes(secret))) found.push(`the log shows a secret: ${line.slice(0, 300)}`);
    return found;
  });
}

/** Further than the prefix of a key that is shown to people. */
function secretsOf({ versions }: Happened): string[] {
  const rotations = [
    ...new Set(versions.flatMap(({ config }) => KEY_NAMES.map((name) => keyString(name, config.keys[name].rotation)))),
  ];
  return [PROVIDER_SECRET, ...rotations];
}
