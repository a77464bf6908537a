/**
 * Compares one call with what the provider did and with its record in the books. Each named check returns what is
 * wrong, or undefined.
 */
import { CHANNELS, FIRST_BYTE_MS, WHOLE_MS } from './config.ts';
import type { CallLog } from './client.ts';
import { KEYS } from './config.ts';
import type { Fate } from './fate.ts';
import type { Happened, Version } from './happened.ts';
import {
  billedSeconds,
  cappedInput,
  estimatedInput,
  estimatedOutput,
  expectedTokens,
  lookIn,
  NO_PARTS,
  NO_TOKENS,
  partsOf,
  priceOf,
  regionIn,
  reportedOf,
  requestsOf,
  restOf,
  textBytesOf,
  upstreamCostOf,
} from './oracle.ts';
import type { Priced } from './oracle.ts';
import { uidOf } from './ledger-file.ts';
import type { LedgerRecord, Tokens } from './ledger-file.ts';
import type { Attempt } from './provider-process.ts';
import { isOfImages } from './plan.ts';

export interface Case {
  readonly call: CallLog;
  /** Its requests at the provider, in their order. */
  readonly attempts: readonly Attempt[];
  readonly record: LedgerRecord | undefined;
  readonly happened: Happened;
}

type Check = (each: Case & { readonly record: LedgerRecord }) => string | undefined;

/** Undefined: they agree. */
export function judge(each: Case): string | undefined {
  const { record } = each;
  if (!record) return missing(each);
  for (const check of [belongs, status, price, tokens, covered, told]) {
    const complaint = check({ ...each, record });
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

function missing({ call, attempts }: Case): string | undefined {
  if (call.status === 200 && call.end !== 'None') return 'the client saw its end, and it is lost';
  if (attempts.length > 0) return 'the provider had it, and it is lost';
  return undefined;
}

const belongs: Check = ({ call: { plan, sentMs }, record }) => {
  if (record.key !== uidOf(plan.key) || record.account !== `team/${KEYS[plan.key].account}`)
    return `it is in the books of ${record.key}, ${record.account}`;
  if (record.model !== plan.model) return `it is in the books as ${record.model}`;
  return record.createdMs < sentMs - 1 ? 'it was admitted before it was sent' : undefined;
};

/** Checks the recorded status against what the client and the provider saw. */
const status: Check = (each) => {
  const { call, record } = each;
  if (call.status === 200 && call.end === 'Whole' && record.status !== 'Succeeded')
    return `the client saw its end, and the books say ${record.status}`;
  switch (record.status) {
    case 'Succeeded':
      return isComplete(each) ? undefined : 'it succeeded, and the provider did not complete it';
    case 'Failed':
      // one that was broken off because its hold was lost is billed
      return mayBeFree(each) || (record.costNanoUsd > 0n && hadLostItsHold(each))
        ? undefined
        : `it failed at a cost of ${record.costNanoUsd}, and the provider worked on it`;
    case 'ProviderCut':
      return isComplete(each) && !wasGivenUp(each)
        ? 'the provider completed it, and the books say that it was cut'
        : undefined;
    case 'ClientClosed':
      return call.left || call.end === 'None' ? undefined : 'its client did not leave';
    case 'Withheld':
      return wasTold(each) || call.left || call.end === 'None' ? undefined : 'it was withheld, and its client not told';
    case 'Abandoned':
      return each.happened.kills.some((ms) => ms >= record.createdMs)
        ? undefined
        : 'it was abandoned, and no process was killed';
    default:
      return `its status is ${record.status}`;
  }
};

/**
 * The billed and unbilled amounts add up to the recorded tokens at a price that was in force at admission, for the
 * channel and tier that served the call. The upstream cost is checked in the same way.
 */
const price: Check = (each) => {
  const {
    call: { plan },
    attempts,
    record,
    happened,
  } = each;
  const total = record.costNanoUsd + record.unbilledNanoUsd;
  const free = record.status === 'Failed' ? isFreeFailure(each) : total === 0n && record.status === 'ClientClosed';
  if (free) {
    if (total !== 0n) return 'a call that failed was billed';
    return (record.upstreamCostNanoUsd ?? 0n) === 0n ? undefined : 'a call that failed has a cost';
  }
  const whats = channelsOf(record).flatMap((channel) =>
    waysOf(each).flatMap((way) =>
      generationsOf(each).map((generations): Priced => ({
        model: record.model,
        channel,
        ...way,
        tokens: record.tokens,
        generations,
      })),
    ),
  );
  const payer = { key: plan.key, group: record.group };
  const expected = inForce(happened.versions, record.createdMs).flatMap(({ config }) =>
    whats.map((what) => ({ total: priceOf(config, payer, what), upstream: upstreamCostOf(what) })),
  );
  const fitting = expected.filter((amounts) => amounts.total === total);
  if (fitting.length === 0) {
    const prices = [...new Set(expected.map((amounts) => amounts.total))];
    return `it cost ${total}, and its price is ${prices.join(' or ')} (${attempts.length} attempts)`;
  }
  // the cost of a call whose process died is that of the channel in its record, or of the one that it went on to
  const costs = record.status === 'Abandoned' ? expected : fitting;
  return costs.some(({ upstream }) => upstream === record.upstreamCostNanoUsd)
    ? undefined
    : `it cost the platform ${record.upstreamCostNanoUsd}, and not ${fitting.map(({ upstream }) => upstream).join()}`;
};

/**
 * Images of an answer that breaks off have not come, and are free; those of a withheld one may have come. So may a video,
 * of which the answer says the seconds.
 */
function generationsOf({
  call: { plan },
  record,
  attempts,
}: Case & { readonly record: LedgerRecord }): readonly number[] {
  if (plan.path === '/v1/videos') {
    const { fate } = attempts.at(-1) ?? {};
    const said = billedSeconds(plan.generations, fate?.kind === 'answer' ? fate.seconds : undefined);
    return record.status === 'Succeeded' ? [said] : [plan.generations, said, 0];
  }
  // of speech that breaks off, some audio may have come
  if (plan.path === '/v1/audio/speech')
    return record.status === 'Succeeded' ? [plan.generations] : [plan.generations, 0];
  if (!isOfImages(plan)) return [plan.generations];
  if (record.status === 'Withheld') return [plan.generations, 0];
  return [record.status === 'ProviderCut' ? 0 : plan.generations];
}

/** A call whose process died is in the books on the channel that it was admitted to, at the price of a later one. */
function channelsOf({ status, channel }: LedgerRecord): readonly string[] {
  if (status !== 'Abandoned') return [channel];
  const route = channel.slice(0, channel.indexOf('/') + 1);
  return [channel, ...Object.keys(CHANNELS).filter((name) => name.startsWith(route))];
}

type Way = Pick<Priced, 'tier' | 'region' | 'searches' | 'details' | 'requests' | 'look' | 'served'>;

/**
 * What the answer says of its price; of an answer that is not whole, or whose usage is missing or no JSON, each part of
 * it may not have been seen. A region that nothing names is the one that the client asked for, also of a call that
 * reached no channel. Searches count up to the limit of the request.
 */
function waysOf(each: Case): readonly Way[] {
  const {
    call: { plan },
    attempts,
    record,
  } = each;
  const { fate, asked } = attempts.at(-1) ?? {};
  const wish = regionIn(plan);
  const look = lookIn(plan);
  const unseen: Way = { tier: undefined, region: wish, searches: 0, details: NO_PARTS, requests: [], look, served: {} };
  if (fate?.kind !== 'answer' || !asked) return [unseen];
  const { tier, region = wish, figures } = fate;
  const seen: Way = {
    tier,
    region,
    searches: Math.min(figures?.searches ?? 0, asked.searches),
    details: partsOf(fate, asked),
    // what was capped or estimated is not what the list says
    requests: record?.usageSource === 'Provider' ? requestsOf(fate) : [],
    look,
    served: fate.look,
  };
  if (
    record?.status === 'Succeeded' &&
    (['images', 'videos', 'speech'].includes(asked.kind) || (fate.lie !== 'none' && fate.lie !== 'NaN'))
  )
    return [seen];
  return mixtures(seen, unseen).filter(
    ({ requests }) => record && Object.values(restOf(record.tokens, requests)).every((count) => count >= 0),
  );
}

/** Each field of either. */
function mixtures(a: Way, b: Way): readonly Way[] {
  return (Object.keys(a) as (keyof Way)[]).reduce<readonly Way[]>(
    (ways, name) =>
      ways.flatMap((way) => [
        { ...way, [name]: a[name] },
        { ...way, [name]: b[name] },
      ]),
    [a],
  );
}

const tokens: Check = (each) => {
  const {
    call: { plan },
    record,
  } = each;
  if ((record.status === 'Failed' && isFreeFailure(each)) || isPerRequest(each)) return undefined;
  const { fate, asked } = each.attempts.at(-1) ?? {};
  if (record.status === 'ClientClosed' && same(record.tokens, NO_TOKENS))
    return mayBeFree(each) ? undefined : 'its client left, and it is free';
  if (record.status !== 'Succeeded') return partTokens(each);
  if (fate?.kind !== 'answer' || !asked) return 'it succeeded without an answer';
  const expected = expectedTokens(plan, fate, asked);
  if (!same(record.tokens, expected.tokens))
    return `${formatTokens(record.tokens)} are billed, and ${formatTokens(expected.tokens)} were reported (${fate.lie})`;
  return record.usageSource === expected.source
    ? undefined
    : `its figures are ${expected.source}, and the books say ${record.usageSource}`;
};

/** Checks the tokens of a call that was cut short: at least its input, at most what the provider sent. */
function partTokens({ call, attempts, record }: Case & { readonly record: LedgerRecord }): string | undefined {
  const last = attempts.at(-1);
  const { output, ...input } = record.tokens;
  const estimate = { ...NO_TOKENS, input: estimatedInput(call.plan) };
  const reported = last?.fate.kind === 'answer' ? reportedOf(last.fate, last.asked) : undefined;
  const reportedInput = last && reported?.input && cappedInput(reported.input, last.asked);
  if (
    !same({ ...input, output: 0 }, estimate) &&
    !(reportedInput && same({ ...input, output: 0 }, { ...reportedInput, output: 0 }))
  )
    return (
      `${formatTokens(record.tokens)} are billed: neither the estimated input of ${estimate.input} nor the ` +
      'reported one'
    );
  const most = Math.max(last ? mostOutput(last) : 0, reported?.output ?? 0);
  if (output > most) return `${output} tokens of output are billed, and at most ${most} were there`;
  const least =
    record.status === 'Abandoned' || !last
      ? 0
      : Math.min(estimatedOutput(call.textBytes, last.asked), reported?.output ?? Number.POSITIVE_INFINITY);
  return output < least ? `${output} tokens of output are billed, and the client saw ${least}` : undefined;
}

/** Before an answer that is not a stream is whole, its bytes are all that is known of it. */
function mostOutput({ fate, asked, produced }: Attempt): number {
  if (asked.kind !== 'chat') return 0;
  return Math.max(
    1,
    estimatedOutput(asked.stream && fate.kind === 'answer' ? textBytesOf(fate) : produced.bytes, asked),
  );
}

/**
 * Figures are capped at what was held for them, so that none costs more, whatever a provider reports. Only a call whose
 * hold was reaped while its gateway stood still may find, at its late settlement, that others took the money.
 */
const covered: Check = ({ call, record }) => {
  if (record.unbilledNanoUsd === 0n) return undefined;
  const isLate = Math.max(record.durationMs, call.overMs - call.sentMs) >= HOLD_LOST_MS;
  return isLate && record.status !== 'Succeeded' ? undefined : `${record.unbilledNanoUsd} nano-USD were written off`;
};

/** Checks the cost that the client was told. */
const told: Check = ({ call, record }) => {
  if (call.costUsd === undefined) return undefined;
  const [whole = '0', fraction = ''] = call.costUsd.split('.');
  const said = BigInt(whole + fraction.padEnd(9, '0'));
  return said === record.costNanoUsd
    ? undefined
    : `its client was told ${said}, and the books say ${record.costNanoUsd}`;
};

/** Everything but the end of its connection was handed to the gateway's machine. */
function isComplete({ attempts }: Case): boolean {
  const last = attempts.at(-1);
  return last?.fate.kind === 'answer' && !last.fate.broken && last.markedMs !== undefined;
}

/** Whether the provider failed before any output, or never received the call. */
function mayBeFree(each: Case): boolean {
  const last = each.attempts.at(-1);
  if (last?.fate.kind !== 'answer') return true;
  const { fate, asked, produced } = last;
  if (fate.lie === 'NaN' && !asked.stream) return true;
  if (wasGivenUp(each)) return true;
  if (!fate.broken) return false;
  // a reset overtakes what was sent before it; the opening of a stream is no output yet
  return fate.broken.how === 'reset' || produced.bytes === 0 || (asked.stream && produced.tokens === 0);
}

/**
 * A process that could not renew its holds for this long ends its calls while providers may still be working: their
 * input is billed, or the last figures that the provider reported.
 */
const HOLD_LOST_MS = 20_000;

function hadLostItsHold({ call, record }: Pick<Case, 'call'> & { readonly record: LedgerRecord }): boolean {
  if (record.usageSource === 'Estimated') return false;
  if (wasTold({ call })) return call.overMs - call.sentMs >= HOLD_LOST_MS;
  // a client that had left was told nothing, and its call continued
  return call.left && record.durationMs >= HOLD_LOST_MS;
}

/** The client got an error of the ledger. 500: what the call consumed will be billed. */
function wasTold({ call }: Pick<Case, 'call'>): boolean {
  return [500, 503].includes(call.status) || (call.status === 200 && call.end === 'Error');
}

/**
 * A failed call is free, except if its hold was lost while the provider was working: then the gateway breaks it off. A
 * call that failed by itself, or whose provider stalled, may be reported as late if its gateway stood still.
 */
function isFreeFailure(each: Case & { readonly record: LedgerRecord }): boolean {
  const last = each.attempts.at(-1);
  if (!hadLostItsHold(each) || !last) return true;
  return (
    last.overMs !== undefined &&
    (!last.gone || isStalled(last.fate)) &&
    each.record.costNanoUsd === 0n &&
    same(each.record.tokens, NO_TOKENS)
  );
}

function isStalled(fate: Fate): boolean {
  return fate.kind === 'silence' ? fate.how === 'stall' : fate.kind === 'answer' && fate.broken?.how === 'stall';
}

/** The gateway may have timed out: it stood still, or the provider was slow. */
function wasGivenUp({ attempts, happened }: Case): boolean {
  const last = attempts.at(-1);
  if (!last) return false;
  const overMs = last.overMs ?? Number.POSITIVE_INFINITY;
  if (overMs - last.arrivedMs > 0.8 * Math.min(FIRST_BYTE_MS, WHOLE_MS)) return true;
  return happened.pauses.some(({ fromMs, toMs }) => fromMs < overMs && toMs > last.arrivedMs);
}

function isPerRequest({ call: { plan }, happened }: Case): boolean {
  return happened.versions[0]?.config.prices[plan.model].quotaType === 'Request';
}

/** Changes between two turns of the event loop are seen a little later. */
const SLACK_MS = 50;

/** Versions that may have been in force at a moment. */
export function inForce(versions: readonly Version[], fromMs: number, toMs = fromMs): Version[] {
  return versions.filter(({ writtenMs }, index) => {
    const next = versions[index + 1];
    return writtenMs <= toMs && (next === undefined || next.inForceMs + SLACK_MS >= fromMs);
  });
}

function same(a: Tokens, b: Tokens): boolean {
  return (
    a.input === b.input &&
    a.cached === b.cached &&
    a.cacheWrite5m === b.cacheWrite5m &&
    a.cacheWrite1h === b.cacheWrite1h &&
    a.output === b.output
  );
}

function formatTokens({ input, cached, cacheWrite5m, cacheWrite1h, output }: Tokens): string {
  return `${input}+${cached}+${cacheWrite5m}+${cacheWrite1h}/${output} tokens`;
}
