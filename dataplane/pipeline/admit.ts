/**
 * Admits a call to one candidate: takes the concurrency slots, then holds the money of key and account, and releases
 * the channel's slots if the money is refused. A ledger that stores slots and money in one place does all of it in one
 * step. The hold is durable before a byte is sent to the provider.
 */
import { GatewayError } from '../errors.ts';
import type { AdmitResult, HoldRequest, HoldResult, Limits, SlotLimit } from '../ledger/ledger.ts';
import { spendingLimits } from '../state/limits.ts';
import type { Candidate } from '../state/state.ts';
import { keyInForce } from './authenticate.ts';
import { affordableOutput, boundCall } from './bounds.ts';
import { runningProgress } from './consumption.ts';
import type { BilledActivity } from './consumption.ts';
import { createsJob } from './context.ts';
import type { Admitted, CallBounds, CallRecord, PipelineDeps, Routed } from './context.ts';
import { jobSlotId, tooManyJobs } from './failures.ts';
import { originOf } from './origin.ts';
import { outOfMoney, readFunds } from './out-of-money.ts';

export type Admission =
  | { readonly outcome: 'Admitted'; readonly admitted: Admitted }
  /** A concurrency limit is reached; `full` names its slot. */
  | { readonly outcome: 'Full'; readonly full: SlotLimit }
  /** There is not enough money. */
  | { readonly outcome: 'Short'; readonly short: ShortHold; readonly bounds: CallBounds; readonly limits: Limits };

type ShortHold = Extract<HoldResult, { readonly outcome: 'Short' }>;

/** The slots of a channel, which are released before the next channel is tried. The key's slot stays. */
const CHANNEL_SCOPES = ['Group', 'Channel'] as const;
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
  /** The slots to take together with the money; empty if there are none or the call has them. */
  readonly slots: readonly SlotLimit[];
}

/** Throws GatewayError (invalid_api_key) if the key was revoked meanwhile, and LedgerUnavailable. */
export async function admit(
  deps: PipelineDeps,
  routed: Routed,
  candidate: Candidate,
  record: CallRecord,
): Promise<Admission> {
  const slots = [...(await jobSlots(deps, routed, record)), ...slotsToTake(routed, candidate, record)];
  // an earlier candidate's hold may cover this one
  const inOneStep = deps.ledger.admit !== undefined && !record.admitted;
  if (slots.length > 0 && !inOneStep) {
    const taken = await timed(deps, 'slots', async () => deps.ledger.takeSlots(routed.received.requestId, slots));
    if (taken.outcome === 'Full') return taken;
  }
  const admission = await holdMoney(deps, { routed, candidate, record, slots: inOneStep ? slots : [] });
  if (admission.outcome === 'Admitted') record.admitted = admission.admitted;
  if (admission.outcome === 'Short') releaseChannel(deps, record);
  return admission;
}

/** Releases the channel's slots of the latest admission. */
export function releaseChannel({ ledger }: PipelineDeps, { received }: CallRecord): void {
  ledger.releaseSlots(received.requestId, CHANNEL_SCOPES);
}

/**
 * A call that will create a job takes one of the places that the key's running jobs leave. It keeps the place until it
 * is settled, and the job counts from then on. Throws rate_limit_exceeded if there is none.
 */
async function jobSlots(
  { ledger, maxRunningJobs }: PipelineDeps,
  { call, key: { uid, account } }: Routed,
  { admitted: earlier }: CallRecord,
): Promise<readonly SlotLimit[]> {
  if (earlier || !createsJob(call)) return [];
  const running = await ledger.countRunningJobs({ keyUid: uid, account });
  if (running >= maxRunningJobs) throw tooManyJobs(maxRunningJobs);
  return [{ scope: 'Key', id: jobSlotId(uid), limit: maxRunningJobs - running }];
}

/** A retry takes only the channel's slots, because the call has the key's slot already. */
function slotsToTake({ key: { slot } }: Routed, candidate: Candidate, record: CallRecord): readonly SlotLimit[] {
  return slot && !record.admitted ? [slot, ...candidate.slots] : candidate.slots;
}

async function holdMoney(deps: PipelineDeps, request: AdmissionRequest): Promise<Admission> {
  const {
    routed,
    candidate,
    record: { admitted: held },
    slots,
  } = request;
  const { price } = candidate;
  if (!price) throw new Error('the call was routed to a candidate without a price');
  const bounds = boundCall(routed.call, candidate, price, routed.key);
  const covered = held && coveredBy(held, candidate, bounds);
  if (covered) return admitted(routed, covered);
  for (let tries = 1; tries <= MAX_STALE_RETRIES; tries++) {
    const hold = holdRequest(deps, routed, candidate, bounds);
    const result = await timed(deps, 'hold', () => holdAtLedger(deps, hold, slots));
    switch (result.outcome) {
      case 'StaleLimits':
        continue;
      case 'Full':
        return result;
      case 'Short':
        return { outcome: 'Short', short: result, bounds, limits: hold.limits };
      case 'Held': {
        const { heldNanoUsd } = result;
        const outputLimit = affordableOutput(routed.call, bounds, heldNanoUsd);
        return admitted(routed, { candidate, bounds, heldNanoUsd, outputLimit });
      }
    }
  }
  const message = 'The limits of this key are being changed. Try again.';
  throw new GatewayError('ledger_unavailable', message, { retryAfterSeconds: 1 });
}

type Terms = Pick<Admitted, 'candidate' | 'bounds' | 'heldNanoUsd' | 'outputLimit'>;

/**
 * The terms on a further candidate under the hold that the call has; undefined: it needs another. The hold is for the
 * dearest channel of its group, unless there was too little money.
 */
function coveredBy(held: Admitted, candidate: Candidate, bounds: CallBounds): Terms | undefined {
  const { heldNanoUsd, outputLimit } = held;
  if (held.candidate.group !== candidate.group) return undefined;
  if (sameBounds(held.bounds, bounds)) return { candidate, bounds, heldNanoUsd, outputLimit };
  if (heldNanoUsd < bounds.amountNanoUsd) return undefined;
  return { candidate, bounds, heldNanoUsd, outputLimit: bounds.outputTokens };
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

function holdAtLedger(
  { ledger }: PipelineDeps,
  request: HoldRequest,
  slots: readonly SlotLimit[],
): Promise<AdmitResult> {
  return slots.length > 0 && ledger.admit ? ledger.admit(request, slots) : ledger.hold(request);
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

function holdRequest(deps: PipelineDeps, routed: Routed, candidate: Candidate, bounds: CallBounds): HoldRequest {
  return {
    origin: originOf(routed, candidate),
    limits: limitsOf(deps, routed),
    amountNanoUsd: dearestNanoUsd(routed, candidate, bounds),
    minimumNanoUsd: bounds.minimumNanoUsd,
    progress: runningProgress(NO_OUTPUT, { routed, candidate, bounds, outputLimit: bounds.outputTokens }),
  };
}

/** The limits in force now. Throws invalid_api_key if the key is no longer accepted. */
function limitsOf(deps: PipelineDeps, routed: Routed): Limits {
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

/** Makes the error for a call that was refused for lack of money. Rejects with LedgerUnavailable. */
export async function shortageError(
  deps: PipelineDeps,
  { key, call }: Routed,
  { short, bounds, limits }: Extract<Admission, { outcome: 'Short' }>,
): Promise<GatewayError> {
  const limitNanoUsd = short.short === 'Key' ? (limits.keyLimitNanoUsd ?? 0n) : limits.accountCreditNanoUsd;
  const funds = await readFunds(deps, key, { of: short.short, limitNanoUsd });
  const freeNanoUsd = short.availableNanoUsd;
  return outOfMoney(funds, {
    neededNanoUsd: bounds.minimumNanoUsd,
    freeNanoUsd,
    fittingOutput:
      call.output && bounds.price.perToken.output > 0n
        ? Math.max(0, affordableOutput(call, bounds, freeNanoUsd))
        : undefined,
    thinkingBudget: call.output?.thinkingBudget,
  });
}
