/**
 * Admits a call to one candidate: takes its part of the limits and holds the money of key and account, all or nothing,
 * in one step of the ledger. A candidate that the hold of an earlier one covers needs its channel's limits only. The hold
 * is durable before a byte is sent to the provider.
 */
import { GatewayError } from '../errors.ts';
import type {
  AdmitResult,
  Consumed,
  FullLimit,
  HoldRequest,
  ShortHold,
  CountLimit,
  Load,
  MoneyLimit,
  Wanted,
} from '../ledger/ledger.ts';
import { isOfTokens, NO_TOKENS_LOAD } from '../ledger/load.ts';
import { callerLimits, spendingLimits } from '../state/limits.ts';
import type { Candidate, KeyState } from '../state/state.ts';
import { keyInForce } from './authenticate.ts';
import { affordableOutput, boundCall } from './bounds.ts';
import { runningProgress } from './consumption.ts';
import type { BilledActivity } from './consumption.ts';
import { createsJob } from './context.ts';
import type { Admitted, CallBounds, CallRecord, PipelineDeps, Routed } from './context.ts';
import { jobLimitId, tooManyJobs } from './failures.ts';
import { originOf } from './origin.ts';
import { fundsUnder, outOfMoney } from './out-of-money.ts';

export type Admission =
  | { readonly outcome: 'Admitted'; readonly admitted: Admitted }
  | FullLimit
  /** There is not enough money. */
  | {
      readonly outcome: 'Short';
      readonly short: ShortHold;
      readonly bounds: CallBounds;
    };

/** The limits of a channel, which are released before the next channel is tried. The key's and its account's stay. */
export const CHANNEL_SCOPES = ['Group', 'Channel'] as const;
/** How many times a hold is tried again with newer limits after an edit. */
const MAX_STALE_RETRIES = 5;
/** Bills a call for its input while its provider has not responded. */
const NO_OUTPUT: BilledActivity = {
  meter: undefined,
  sent: true,
  produced: false,
  holdLost: false,
  timedOut: false,
  countedOutput: undefined,
};

interface AdmissionRequest {
  readonly routed: Routed;
  readonly candidate: Candidate;
  readonly record: CallRecord;
  readonly bounds: CallBounds;
  /** The limits that are not taken yet. */
  readonly wanted: Wanted;
}

/** Throws GatewayError (invalid_api_key) if the key was revoked meanwhile, and LedgerUnavailable. */
export async function admit(
  deps: PipelineDeps,
  routed: Routed,
  candidate: Candidate,
  record: CallRecord,
): Promise<Admission> {
  const { price } = candidate;
  if (!price) throw new Error('the call was routed to a candidate without a price');
  const bounds = boundCall(routed.call, candidate, price, routed.key);
  const limits = await limitsToTake(deps, { routed, candidate, record });
  const request = { routed, candidate, record, bounds, wanted: { limits, load: loadOf(routed, bounds) } };
  const covered = record.admitted && coveredBy(record.admitted, candidate, bounds);
  const admission = await (covered ? takeCovered(deps, request, covered) : holdMoney(deps, request));
  if (admission.outcome === 'Admitted') record.admitted = admission.admitted;
  return admission;
}

async function takeCovered(deps: PipelineDeps, request: AdmissionRequest, covered: Terms): Promise<Admission> {
  const {
    routed,
    wanted: { limits, load },
  } = request;
  if (limits.length === 0) return admitted(routed, covered);
  const { requestId } = routed.received;
  const taken = await timed(deps, 'slots', async () => deps.ledger.take(requestId, limits, load));
  return taken.outcome === 'Full' ? taken : admitted(routed, covered);
}

/** Ends what a request has taken of a channel's limits. */
export function releaseChannel({ ledger }: Pick<PipelineDeps, 'ledger'>, requestId: string, consumed: Consumed): void {
  ledger.release(requestId, consumed, CHANNEL_SCOPES);
}

/** What the call may use of limits by the minute. The tokens of a batch come later, over hours. */
function loadOf({ call: { output, together } }: Routed, { estimatedInputTokens, outputTokens }: CallBounds): Load {
  if (together) return NO_TOKENS_LOAD;
  return { inputTokens: estimatedInputTokens, outputTokens: output ? outputTokens * output.answers : 0 };
}

/**
 * A call that will create a job takes one of the slots that the key's running jobs leave. It keeps the slot until it is
 * settled, and the job counts from then on. Throws rate_limit_exceeded if there is none.
 */
async function jobLimit(
  { ledger, maxRunningJobs }: PipelineDeps,
  { uid, account }: Pick<KeyState, 'uid' | 'account'>,
): Promise<CountLimit> {
  const running = await ledger.countRunningJobs({ keyUid: uid, account });
  if (running >= maxRunningJobs) throw tooManyJobs(maxRunningJobs);
  return { scope: 'Key', id: jobLimitId(uid), measure: 'Concurrency', amount: maxRunningJobs - running };
}

/** A retry takes only the channel's limits, because the call has the key's and the account's already. */
async function limitsToTake(
  deps: PipelineDeps,
  { routed: { call, key }, candidate, record }: Pick<AdmissionRequest, 'routed' | 'candidate' | 'record'>,
): Promise<readonly CountLimit[]> {
  if (record.admitted) return candidate.limits;
  const ofJobs = createsJob(call) ? [await jobLimit(deps, key)] : [];
  const all = [...ofJobs, ...callerLimits(deps.state.get(), key), ...candidate.limits];
  // each response of a session takes its own tokens
  return call.kind === 'Realtime' ? all.filter((limit) => !isOfTokens(limit)) : all;
}

async function holdMoney(deps: PipelineDeps, request: AdmissionRequest): Promise<Admission> {
  const { routed, candidate, bounds, record } = request;
  const result = await admitInForce(() => {
    const hold = holdRequest(deps, request);
    return timed(deps, 'hold', () => deps.ledger.admit(hold));
  });
  switch (result.outcome) {
    case 'Full':
      return result;
    case 'Short':
      return { outcome: 'Short', short: result, bounds };
    case 'Held': {
      const { heldNanoUsd, states = [] } = result;
      const outputLimit = affordableOutput(routed.call, bounds, heldNanoUsd);
      const limitStates = record.admitted?.limitStates ?? states;
      return admitted(routed, { candidate, bounds, heldNanoUsd, outputLimit, limitStates });
    }
  }
}

/**
 * Asks the ledger for a hold, again after an edit of the limits. `ask` reads the limits anew each time. Throws
 * ledger_unavailable if they keep changing.
 */
export async function admitInForce(
  ask: () => Promise<AdmitResult>,
): Promise<Exclude<AdmitResult, { readonly outcome: 'StaleLimits' }>> {
  for (let tries = 1; tries <= MAX_STALE_RETRIES; tries++) {
    const result = await ask();
    if (result.outcome !== 'StaleLimits') return result;
  }
  const message = 'The limits of this key are being changed. Try again.';
  throw new GatewayError('ledger_unavailable', message, { retryAfterSeconds: 1 });
}

type Terms = Pick<Admitted, 'candidate' | 'bounds' | 'heldNanoUsd' | 'outputLimit' | 'limitStates'>;

/**
 * The terms on a further candidate under the hold that the call has; undefined: it needs another. The hold is for the
 * dearest channel of its group, unless there was too little money.
 */
function coveredBy(held: Admitted, candidate: Candidate, bounds: CallBounds): Terms | undefined {
  const { heldNanoUsd, outputLimit, limitStates } = held;
  if (held.candidate.group !== candidate.group) return undefined;
  if (sameBounds(held.bounds, bounds)) return { candidate, bounds, heldNanoUsd, outputLimit, limitStates };
  if (heldNanoUsd < bounds.amountNanoUsd) return undefined;
  return { candidate, bounds, heldNanoUsd, outputLimit: bounds.outputTokens, limitStates };
}

function admitted(routed: Routed, terms: Terms): Admission {
  return {
    outcome: 'Admitted',
    admitted: {
      routed,
      ...terms,
      lowered: terms.outputLimit < terms.bounds.outputTokens,
    },
  };
}

/** Reports the ledger's response time to telemetry. */
async function timed<T extends { readonly outcome: string }>(
  { clock, telemetry }: PipelineDeps,
  operation: 'slots' | 'hold',
  ask: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.monotonicMs();
  let outcome = 'unavailable';
  try {
    const result = await ask();
    ({ outcome } = result);
    return result;
  } finally {
    telemetry.ledger(operation, clock.monotonicMs() - startedAt, outcome);
  }
}

function sameBounds(a: CallBounds, b: CallBounds): boolean {
  return (
    a.inputTokens === b.inputTokens &&
    a.outputTokens === b.outputTokens &&
    a.amountNanoUsd === b.amountNanoUsd &&
    a.minimumNanoUsd === b.minimumNanoUsd
  );
}

/**
 * The worst case on the dearest channel of the same group that a retry may go to. The minimum stays the candidate's
 * own: a key with less money is served on the cheaper channel, and a retry on a dearer one needs a hold of its own.
 */
function dearestNanoUsd({ call, key, candidates }: Routed, candidate: Candidate, bounds: CallBounds): bigint {
  const later = candidate.retryAttempts === 0 ? [] : candidates.slice(candidates.indexOf(candidate) + 1);
  let dearest = bounds.amountNanoUsd;
  for (const other of later) {
    const { group, price } = other;
    // most channels share one price
    if (!price || group !== candidate.group || price === candidate.price) continue;
    const { amountNanoUsd } = boundCall(call, other, price, key);
    if (amountNanoUsd > dearest) dearest = amountNanoUsd;
  }
  return dearest;
}

function holdRequest(deps: PipelineDeps, { routed, candidate, bounds, wanted }: AdmissionRequest): HoldRequest {
  const { limits, load } = wanted;
  return {
    origin: originOf(routed, candidate),
    limits: [...moneyLimits(deps, routed), ...limits],
    load,
    amountNanoUsd: dearestNanoUsd(routed, candidate, bounds),
    minimumNanoUsd: bounds.minimumNanoUsd,
    progress: runningProgress(NO_OUTPUT, { routed, candidate, bounds, outputLimit: bounds.outputTokens }),
  };
}

/** The limits on money in force now. Throws invalid_api_key if the key is no longer accepted. */
export function moneyLimits(deps: PipelineDeps, routed: Routed): readonly MoneyLimit[] {
  const key = keyInForce(deps, routed.keyHash);
  const limits = spendingLimits(deps.state.get(), routed);
  if (limits) return limits;
  throw new GatewayError(
    'invalid_api_key',
    key.uid === routed.key.uid && key.account === routed.key.account
      ? 'This API key is not accepted: its account does not exist.'
      : 'This API key was changed while the call ran. Try again.',
  );
}

/** Makes the error for a call that was refused for lack of money. */
export function shortageError(
  deps: PipelineDeps,
  { key, call }: Routed,
  { short, bounds }: Extract<Admission, { outcome: 'Short' }>,
): GatewayError {
  const funds = fundsUnder(deps, key, short);
  const freeNanoUsd = short.availableNanoUsd;
  return outOfMoney(funds, {
    costNanoUsd: bounds.amountNanoUsd,
    neededNanoUsd: bounds.minimumNanoUsd,
    freeNanoUsd,
    fittingOutput:
      call.output && bounds.price.perToken.output > 0n
        ? Math.max(0, affordableOutput(call, bounds, freeNanoUsd))
        : undefined,
    thinkingBudget: call.output?.thinkingBudget,
  });
}
