/**
 * [P] Computes what a call has consumed: its progress while it runs, and its cost at the end. It prefers the provider's
 * figures; a figure that the provider does not report is estimated, never taken as zero.
 */
import { billOf, costNanoUsd, MODALITIES, worstCaseBill } from '#price/price.ts';
import { USES } from '#price/sheet.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { Bill, Consumption, PartUsage, TokenDetails, Uses } from '#price/price.ts';
import { NO_TOKENS } from '#price/tokens.ts';
import type { CallProgress, CallStatus, UsageSource } from '#usage/record.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { estimateTokens } from '../protocol/estimate.ts';
import { hidesReasoning } from '../protocol/hidden-reasoning.ts';
import type { Meter, ReportedUsage } from '../protocol/converter.ts';
import { estimateRestOfInput, mergeDefined, UNREPORTED_USAGE } from '../protocol/usage.ts';
import type { Candidate, Offer } from '../state/state.ts';
import type { CallBounds, Admitted, CallOutcome, CallRecord, EndpointCall } from './context.ts';
import { madeAt } from './made-at.ts';
import { servedRegions, servedTiers } from './service-tiers.ts';

/** The part of a call's record that decides whether and at what cost it is billed. */
export type BilledActivity = Pick<
  CallRecord,
  'meter' | 'sent' | 'produced' | 'holdLost' | 'timedOut' | 'countedOutput'
>;

/** The part of an admission that decides the price. */
export interface BillingTerms extends Pick<Admitted, 'outputLimit'> {
  readonly bounds: Omit<CallBounds, 'amountNanoUsd' | 'minimumNanoUsd' | 'outputTokens'>;
  readonly candidate: BilledCandidate;
  readonly routed: { readonly call: BilledCall; readonly offer: Pick<Offer, 'quotaType'> };
}

export interface BilledCandidate extends Pick<
  Candidate,
  'clientDisconnect' | 'onTimeout' | 'upstreamModel' | 'cost' | 'costOf' | 'priceOf'
> {
  readonly model: Pick<Candidate['model'], 'reasoning'>;
  /** Absent: the terms were stored, and are not of images. */
  readonly target?: Candidate['target'];
}

export interface BilledCall extends Pick<
  EndpointCall,
  | 'output'
  | 'generations'
  | 'made'
  | 'likely'
  | 'serviceTier'
  | 'region'
  | 'modalities'
  | 'stream'
  | 'asksForReasoning'
  | 'background'
  | 'onlyTier'
  | 'together'
  | 'models'
  | 'batchOf'
> {
  unbounded(candidate: BilledCandidate): boolean;
}

/** Of a call that has cost nothing. */
export const FREE: CallProgress = { costNanoUsd: 0n, tokens: NO_TOKENS, usageSource: 'Provider' };

/** Maps an outcome to the status in the usage record. */
export function statusOf(
  { produced, timedOut }: BilledActivity,
  outcome: CallOutcome,
  { candidate: { onTimeout } }: BillingTerms,
): CallStatus {
  switch (outcome.kind) {
    case 'Buffered':
      return outcome.failed ? 'Failed' : 'Succeeded';
    case 'Streamed':
      return 'Succeeded';
    case 'ClientGone':
      return 'ClientClosed';
    case 'ProviderFailed':
    case 'Error':
      return produced || (timedOut && onTimeout === 'BillHold') ? 'ProviderCut' : 'Failed';
  }
}

/** The call's cost if it ended now with this status. */
export function progressOf(activity: BilledActivity, terms: BillingTerms, status: CallStatus): CallProgress {
  if (!isBilled(activity, status)) return terms.candidate.cost ? { ...FREE, upstreamCostNanoUsd: 0n } : FREE;
  if (isBilledAtHold(activity, terms, status)) return holdProgress(activity.meter, terms);
  const { tokens, usageSource, billed, upstream } = consumptionOf(activity, terms, status);
  const { cost } = terms.candidate;
  return {
    ...billOf(terms.bounds.price, billed),
    tokens,
    usageSource,
    ...(cost && upstream && { upstreamCostNanoUsd: costNanoUsd(cost, upstream) }),
  };
}

export interface MeasuredConsumption extends MeasuredUsage {
  /** At the price. */
  readonly billed: Consumption;
  /** At the channel's cost; undefined: it states none. */
  readonly upstream: Consumption | undefined;
}

/** What a call that is billed by what was seen of it has consumed. */
export function consumptionOf(activity: BilledActivity, terms: BillingTerms, status: CallStatus): MeasuredConsumption {
  const { tokens, usageSource } = measureUsage(activity, terms, status);
  const { made: asked, likely, generations } = terms.routed.call;
  const made = asked && madeAt(asked, terms.candidate);
  const { images = 0 } = activity.meter ?? {};
  const served = likely ? mergeDefined({ ...likely }, { ...activity.meter?.served }) : activity.meter?.served;
  const consumed = (priceOf: PriceOf, generated: Pick<Consumption, 'made' | 'generations'>): Consumption => {
    const { parts, ...whole } = partsOf(activity.meter, terms, priceOf);
    // of another source, the tokens are not those of the parts: they are capped, or estimated from what was seen
    const isWhole = usageSource !== 'Provider';
    return { ...whole, ...(!isWhole && { parts }), tokens, ...generated, served };
  };
  const { cost, costOf, priceOf } = terms.candidate;
  return {
    tokens,
    usageSource,
    billed: consumed(priceOf, { made, generations: billedGenerations(activity.meter, terms, status) }),
    // the platform pays for what was made, whatever was asked for, and perhaps for what was asked for and did not come
    upstream:
      cost &&
      consumed(costOf, {
        made: mergeDefined({ ...made }, { ...served }),
        generations: Math.max(generations, images),
      }),
  };
}

/** The number of images to bill: those delivered, or all that were requested if the client disconnected. */
function billedGenerations(meter: Meter | undefined, { routed: { call } }: BillingTerms, status: CallStatus): number {
  const hasEnded = status === 'Succeeded' || status === 'ProviderCut';
  return hasEnded ? Math.min(call.generations, meter?.images ?? call.generations) : call.generations;
}

type PriceOf = Candidate['priceOf'];

/**
 * A call that the provider refused or failed before any output is free. A call that the gateway cancelled after sending
 * it is billed.
 */
function isBilled({ produced, sent, holdLost }: BilledActivity, status: CallStatus): boolean {
  // ProviderCut without output: a timeout that the route bills
  if (status === 'Running' || status === 'Succeeded' || status === 'ProviderCut') return true;
  return produced || (sent && (status === 'ClientClosed' || holdLost));
}

/**
 * True if nothing seen tells the cost: the provider timed out, or the client left while the model may have reasoned
 * unseen.
 */
function isBilledAtHold({ meter, produced }: BilledActivity, terms: BillingTerms, status: CallStatus): boolean {
  const {
    candidate,
    routed: { call, offer },
  } = terms;
  // a price per generation needs no figures
  if (offer.quotaType === 'Request') return false;
  if (status === 'ProviderCut') return !produced;
  if (status !== 'ClientClosed' || !call.stream || !call.output || meter?.final === true) return false;
  return candidate.clientDisconnect === 'Cancel' && mayHideReasoning(terms);
}

/** True if a call was cancelled because its client left, and is billed by the text received until then. */
export function billsSeenOutput(activity: BilledActivity, terms: BillingTerms, status: CallStatus): boolean {
  const {
    candidate,
    routed: { call, offer },
  } = terms;
  return (
    status === 'ClientClosed' &&
    candidate.clientDisconnect === 'Cancel' &&
    activity.meter?.final === false &&
    call.output !== undefined &&
    offer.quotaType !== 'Request' &&
    !isBilledAtHold(activity, terms, status)
  );
}

function mayHideReasoning({ candidate: { model, upstreamModel }, routed: { call } }: BillingTerms): boolean {
  if (model.reasoning !== 'Auto') return model.reasoning === 'Hidden';
  return hidesReasoning(upstreamModel, call.asksForReasoning);
}

type Parts = Pick<Consumption, 'details' | 'serviceTiers' | 'regions' | 'longest' | 'parts' | 'uses'>;

/** What decides the rates of a call's tokens, and its other uses. */
function partsOf(meter: Meter | undefined, terms: BillingTerms, priceOf: PriceOf): Parts {
  const {
    bounds,
    candidate,
    routed: { call },
  } = terms;
  const { details, serviceTier, region, parts, uses } = meter?.reported ?? UNREPORTED_USAGE;
  const served = {
    serviceTiers: call.onlyTier === undefined ? servedTiers(serviceTier, call.serviceTier) : [call.onlyTier],
    regions: servedRegions(region, call.region),
    longest: call.unbounded(candidate) ? undefined : bounds.requestTokens,
  };
  const listed = parts?.map((part): PartUsage => {
    // without unbounded tools, all parts are of the call's own model
    const isOwn = part.model === undefined || part.model === candidate.upstreamModel || !call.unbounded(candidate);
    const price = isOwn || part.model === undefined ? undefined : priceOf(part.model);
    return {
      tokens: tokensOf(part, 0, part.output ?? 0),
      details: part.details,
      ...served,
      ...(part.serviceTier !== undefined && call.onlyTier === undefined && { serviceTiers: [part.serviceTier] }),
      ...(price && part.model !== undefined && { other: { model: part.model, price } }),
    };
  });
  return { details: possibleDetails(details, terms), ...served, uses: capUses(uses, terms), parts: listed };
}

/** Without the modalities that the request cannot cause, which the hold does not cover: those tokens are plain ones. */
function possibleDetails(
  details: TokenDetails | undefined,
  { candidate, routed: { call } }: BillingTerms,
): TokenDetails | undefined {
  const impossible = MODALITIES.filter((name) => !call.modalities?.includes(name));
  if (!details || call.unbounded(candidate)) return details;
  return { ...details, ...Object.fromEntries(impossible.map((name) => [name, 0])) };
}

/** What a reaper bills if this process dies now. A background response continues, so its worst case is billed. */
export function runningProgress(activity: BilledActivity, terms: BillingTerms): CallProgress {
  return terms.routed.call.background === true ? worstCaseProgress(terms) : progressOf(activity, terms, 'Running');
}

/** The most that the call can cost, as an estimate of what is not known yet. */
export function worstCaseProgress(terms: BillingTerms): CallProgress {
  return { ...holdProgress(undefined, terms), usageSource: 'Estimated' };
}

/** Progress that bills the hold's whole output, and the reported input or else the hold's whole input. */
function holdProgress(meter: Meter | undefined, terms: BillingTerms): CallProgress {
  const {
    bounds,
    candidate,
    outputLimit,
    routed: { call },
  } = terms;
  // the tokens of a batch are not known before its end
  if (call.together) return { ...FREE, costNanoUsd: call.together.amountNanoUsd, usageSource: 'Partial' };
  const reported = meter?.reported ?? UNREPORTED_USAGE;
  const tokens = capTokens(tokensOf(reported, bounds.inputTokens, allowedOutput(call, outputLimit)), terms);
  const isInputReported = meter?.reported.input !== undefined;
  const { generations } = call;
  const billAt = (price: CompiledPrice, priceOf: PriceOf): Bill =>
    isInputReported
      ? billOf(price, { ...partsOf(meter, terms, priceOf), parts: undefined, tokens, generations })
      : worstCaseBill(price, {
          ...bounds.reach,
          inputTokens: bounds.requestTokens,
          outputTokens: tokens.output,
          generations,
        });
  const { price } = bounds;
  const { cost, costOf, priceOf } = candidate;
  const upstream = cost && { upstreamCostNanoUsd: billAt(cost, costOf).costNanoUsd };
  return { ...billAt(price, priceOf), tokens, usageSource: 'Partial', ...upstream };
}

export interface MeasuredUsage {
  readonly tokens: TokenCounts;
  readonly usageSource: UsageSource;
}

function measureUsage(activity: BilledActivity, terms: BillingTerms, status: CallStatus): MeasuredUsage {
  const { meter } = activity;
  const reported = meter?.reported ?? UNREPORTED_USAGE;
  // a price per generation needs no token counts
  if (terms.routed.offer.quotaType === 'Request') {
    const source = isTold(meter, terms) ? 'Provider' : status === 'Succeeded' ? 'Estimated' : 'Partial';
    const usageSource = isPlausiblyGenerated(meter, terms.routed.call) ? source : 'Implausible';
    return { tokens: tokensOf(reported, 0, reported.output ?? 0), usageSource };
  }
  const tokens = tokensOf(reported, terms.bounds.estimatedInputTokens, outputTokens(activity, terms));
  const capped = capTokens(tokens, terms);
  const isPlausible = capped === tokens && capUses(reported.uses, terms) === reported.uses;
  return { tokens: capped, usageSource: isPlausible ? usageSourceOf(meter, terms, status) : 'Implausible' };
}

/** Whether the response has said what a price per generation depends on: only seconds of audio are estimated. */
function isTold(meter: Meter | undefined, { bounds: { price } }: BillingTerms): boolean {
  return price.perAudio?.unit !== 'audioSecond' || meter?.served?.seconds !== undefined;
}

/** Whether no more was generated than was asked for; more is not billed. */
function isPlausiblyGenerated(meter: Meter | undefined, { generations, made }: BilledCall): boolean {
  const { images = 0, served } = meter ?? {};
  return images <= generations && (served?.seconds ?? 0) <= (made?.seconds ?? Infinity);
}

/**
 * Caps the tokens at the request's own bounds: a provider that reports more is wrong, or has ignored the limit. A call
 * with an unbounded tool may exceed them. Returns the same object if nothing is capped.
 */
function capTokens(tokens: TokenCounts, terms: BillingTerms): TokenCounts {
  const {
    bounds,
    candidate,
    outputLimit,
    routed: { call },
  } = terms;
  const { input, cached, cacheWrite5m, cacheWrite1h, output } = tokens;
  const maxOutput = allowedOutput(call, outputLimit);
  const isPlausible = output <= maxOutput && input + cached + cacheWrite5m + cacheWrite1h <= bounds.inputTokens;
  if (call.unbounded(candidate) || isPlausible) return tokens;
  let left = bounds.inputTokens;
  const take = (count: number): number => {
    const taken = Math.min(count, left);
    left -= taken;
    return taken;
  };
  return {
    input: take(input),
    cached: take(cached),
    cacheWrite5m: take(cacheWrite5m),
    cacheWrite1h: take(cacheWrite1h),
    output: Math.min(output, maxOutput),
  };
}

/** Caps the uses of tools at the request's own limits. Returns the same object if nothing is capped. */
function capUses(uses: Uses | undefined, { bounds, candidate, routed: { call } }: BillingTerms): Uses | undefined {
  if (uses === undefined || call.unbounded(candidate)) return uses;
  const limits = bounds.reach.uses ?? {};
  if (USES.every((name) => (uses[name] ?? 0) <= (limits[name] ?? 0))) return uses;
  return Object.fromEntries(USES.map((name) => [name, Math.min(uses[name] ?? 0, limits[name] ?? 0)]));
}

/** The output tokens of all choices together that the limit sent to the provider allows. */
function allowedOutput({ output }: BilledCall, outputLimit: number): number {
  return output ? outputLimit * output.answers + output.predictionTokens : 0;
}

/** Without a count of the input, it is the estimate less what was read from and written to caches. */
function tokensOf(reported: ReportedUsage, estimatedInput: number, output: number): TokenCounts {
  const { input, cached, cacheWrite5m, cacheWrite1h } = reported;
  return {
    input: input ?? estimateRestOfInput(reported, estimatedInput),
    cached: cached ?? 0,
    cacheWrite5m: cacheWrite5m ?? 0,
    cacheWrite1h: cacheWrite1h ?? 0,
    output,
  };
}

function usageSourceOf(meter: Meter | undefined, { routed: { call } }: BillingTerms, status: CallStatus): UsageSource {
  const { input, output } = meter?.reported ?? UNREPORTED_USAGE;
  if (meter?.final && input !== undefined && (output !== undefined || !call.output)) return 'Provider';
  return status === 'Succeeded' ? 'Estimated' : 'Partial';
}

function outputTokens({ meter, countedOutput }: BilledActivity, terms: BillingTerms): number {
  const {
    routed: { call },
    outputLimit,
  } = terms;
  if (!call.output || !meter) return 0;
  const seen = Math.min(countedOutput ?? estimateTokens(meter.outputBytes), allowedOutput(call, outputLimit));
  const { output } = meter.reported;
  // a figure reported in the middle of a stream may be older than the text seen since
  return meter.final && output !== undefined ? output : Math.max(output ?? 0, seen);
}
