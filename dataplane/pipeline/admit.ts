/**
 * May this call run on this candidate now? Slots first, one step for the channel; then money, of key and account at once; the
 * slots are given back if money refuses. A ledger that has both in one place takes both or neither in one step. What is granted is
 * durable before a byte leaves for the provider.
 */
import { formatDecimal } from '../snapshot/decimal.ts';
import { GatewayError } from '../errors.ts';
import type { AdmitResult, HoldRequest, HoldResult, Limits, SlotLimit, SlotResult } from '../ledger/ledger.ts';
import type { CallOrigin } from '../ledger/usage-record.ts';
import type { AccountState, Candidate, KeyState } from '../state/state.ts';
import { keyInForce } from './authenticate.ts';
import { affordableOutput, boundCall } from './bounds.ts';
import { progressOf } from './consumption.ts';
import type { Progressing } from './consumption.ts';
import type { Admitted, CallBounds, CallRecord, PipelineDeps, Routed } from './context.ts';

export type Admission =
  | { readonly outcome: 'Admitted'; readonly admitted: Admitted }
  /** A threshold is reached; `full` names which. */
  | { readonly outcome: 'Full'; readonly full: SlotLimit }
  /** The money does not reach. */
  | { readonly outcome: 'Short'; readonly error: GatewayError };

/** Scopes that belong to a channel and are given back before the next one is tried; the key's slot stays. */
const CHANNEL_SCOPES = ['Group', 'Channel'] as const;
/** An edit of the limits while a hold is asked for: ask again with the newer ones, but not for ever. */
const STALE_TRIES = 5;

/** Rejects with invalid_api_key where the key was revoked meanwhile, and with LedgerUnavailable. */
export function admit(deps: PipelineDeps, routed: Routed, candidate: Candidate, record: CallRecord): Promise<Admission> {
  const slots = slotsOf(routed, candidate, record);
  if (slots.length === 0) return holdMoney(deps, { routed, candidate, record });
  // another try of the call may have the money already
  if (deps.ledger.admit && !record.admitted) return holdMoney(deps, { routed, candidate, record, slots });
  const startedAt = deps.clock.monotonicMs();
  const taking = deps.ledger.takeSlots(routed.requestId, slots);
  // nothing is waited for where the slots are decided in memory
  if (taking instanceof Promise) return laterSlots(taking, deps, { routed, candidate, record }, startedAt);
  deps.telemetry.ledger('slots', deps.clock.monotonicMs() - startedAt, taking.outcome);
  return withSlots(taking, deps, { routed, candidate, record });
}

interface Asked {
  readonly routed: Routed;
  readonly candidate: Candidate;
  readonly record: CallRecord;
  /** To be taken in the same step as the money. */
  readonly slots?: readonly SlotLimit[];
}

async function laterSlots(taking: Promise<SlotResult>, deps: PipelineDeps, asked: Asked, startedAt: number): Promise<Admission> {
  let taken: SlotResult | undefined;
  try {
    taken = await taking;
  } finally {
    deps.telemetry.ledger('slots', deps.clock.monotonicMs() - startedAt, taken?.outcome ?? 'unavailable');
  }
  return withSlots(taken, deps, asked);
}

function withSlots(taken: SlotResult, deps: PipelineDeps, asked: Asked): Promise<Admission> {
  return taken.outcome === 'Full' ? Promise.resolve(taken) : holdMoney(deps, asked);
}

/** Gives back what belongs to the channel of the latest admission. */
export function releaseChannel(deps: PipelineDeps, record: CallRecord): void {
  deps.ledger.releaseSlots(record.requestId, CHANNEL_SCOPES);
}

/** Where the record of a call says that it ran. */
export function originOf(routed: Routed, candidate: Candidate): CallOrigin {
  return {
    callId: routed.requestId,
    keyUid: routed.key.uid,
    account: routed.key.account,
    createdMs: routed.createdMs,
    group: candidate.group,
    model: routed.call.model,
    channel: candidate.target.id,
    catalog: routed.offer.catalog ?? '',
  };
}

function slotsOf(routed: Routed, candidate: Candidate, record: CallRecord): readonly SlotLimit[] {
  const { slot } = routed.key;
  return slot && !record.admitted ? [slot, ...candidate.slots] : candidate.slots;
}

async function holdMoney(deps: PipelineDeps, { routed, candidate, record, slots }: Asked): Promise<Admission> {
  const { price } = candidate;
  if (!price) throw new Error('a candidate without a price was routed to');
  const bounds = boundCall(routed.call, candidate, price, routed.key);
  const held = record.admitted;
  if (held && held.candidate.group === candidate.group && sameBounds(held.bounds, bounds))
    return admitted(record, admittedOn(routed, candidate, bounds, held.outputLimit));
  for (let tries = 1; tries <= STALE_TRIES; tries++) {
    const request = holdRequest(deps, routed, candidate, bounds);
    const startedAt = deps.clock.monotonicMs();
    let result: AdmitResult | undefined;
    try {
      result = await askForMoney(deps, request, slots);
    } finally {
      deps.telemetry.ledger('hold', deps.clock.monotonicMs() - startedAt, result?.outcome ?? 'unavailable');
    }
    // else once more, with the newer limits
    if (result.outcome !== 'StaleLimits') return admissionBy(deps, { routed, candidate, record }, bounds, result);
  }
  throw new GatewayError('ledger_unavailable', 'The limits of this key are being changed. Try again.', { retryAfterSeconds: 1 });
}

function admissionBy(deps: PipelineDeps, { routed, candidate, record }: Asked, bounds: CallBounds, result: Exclude<AdmitResult, { outcome: 'StaleLimits' }>): Admission {
  if (result.outcome === 'Held')
    return admitted(record, admittedOn(routed, candidate, bounds, affordableOutput(routed.call, bounds, result.heldNanoUsd)));
  if (result.outcome === 'Full') return result;
  releaseChannel(deps, record);
  return { outcome: 'Short', error: shortOf(result, bounds) };
}

function admitted(record: CallRecord, admittedNow: Admitted): Admission {
  record.admitted = admittedNow;
  return { outcome: 'Admitted', admitted: admittedNow };
}

/** Field by field, as spreads of contexts are a good part of what a call costs. */
function admittedOn(routed: Routed, candidate: Candidate, bounds: CallBounds, outputLimit: number): Admitted {
  const { requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply, keyHash, key, call, offer, candidates } = routed;
  return {
    requestId, createdMs, arrivedAt, endpoint, dialect, headers, body, read, reply, keyHash, key, call, offer, candidates,
    candidate, bounds, outputLimit, lowered: outputLimit < bounds.outputTokens,
  };
}

function sameBounds(a: CallBounds, b: CallBounds): boolean {
  return a.inputTokens === b.inputTokens && a.outputTokens === b.outputTokens && a.amountNanoUsd === b.amountNanoUsd && a.minimumNanoUsd === b.minimumNanoUsd && a.price === b.price;
}

/** `slots`: to be had in the same step. */
function askForMoney({ ledger }: PipelineDeps, request: HoldRequest, slots: readonly SlotLimit[] | undefined): Promise<AdmitResult> {
  return slots && ledger.admit ? ledger.admit(request, slots) : ledger.hold(request);
}

/** With the limits in force now, whatever was in force when the call came in. */
function holdRequest(deps: PipelineDeps, routed: Routed, candidate: Candidate, bounds: CallBounds): HoldRequest {
  const { call, offer } = routed;
  return {
    origin: originOf(routed, candidate),
    limits: limitsOf(deps, routed),
    amountNanoUsd: bounds.amountNanoUsd,
    minimumNanoUsd: bounds.minimumNanoUsd,
    progress: progressOf(BEFORE_OUTPUT, { call, offer, bounds, outputLimit: bounds.outputTokens }, 'Running'),
  };
}

/** A call whose answer has not shown anything: its input is what it owes. */
const BEFORE_OUTPUT: Progressing = { meter: undefined, sent: true, produced: false, lost: false };

function limitsOf(deps: PipelineDeps, routed: Routed): Limits {
  const key = keyInForce(deps, routed.keyHash);
  // the books are kept by key and account: another one's limits must not measure them
  if (key.uid !== routed.key.uid || key.account !== routed.key.account)
    throw new GatewayError('invalid_api_key', 'This API key was changed while the call ran. Try again.');
  const account = deps.state.get().accounts.get(key.account);
  if (!account) throw new GatewayError('invalid_api_key', 'This API key is not accepted: its account does not exist.');
  return limitsWith(key, account);
}

/** Of a call that was admitted; undefined where its key or account is gone, so that the ones it was admitted with go on. */
export function limitsInForce({ state }: PipelineDeps, { keyHash, key: { uid, account: name } }: Routed): Limits | undefined {
  const key = state.credential(keyHash)?.key;
  const account = state.get().accounts.get(name);
  return account && key?.uid === uid && key.account === name ? limitsWith(key, account) : undefined;
}

function limitsWith(key: KeyState, account: AccountState): Limits {
  return {
    keyLimitNanoUsd: key.limitNanoUsd,
    period: key.period,
    keyGeneration: key.generation,
    accountCreditNanoUsd: account.creditNanoUsd,
    accountGeneration: account.generation,
  };
}

function shortOf(result: Extract<HoldResult, { outcome: 'Short' }>, bounds: CallBounds): GatewayError {
  const free = result.availableNanoUsd > 0n ? result.availableNanoUsd : 0n;
  const needs = `This call may cost up to ${formatDecimal(bounds.minimumNanoUsd, 2)} USD, and ${formatDecimal(free, 2)} USD are free`;
  const mend = 'Calls that are running hold money until they end; a smaller output limit holds less.';
  return result.short === 'Key'
    ? new GatewayError('insufficient_quota', `The quota of this API key does not reach: ${needs} under its limit. ${mend}`)
    : new GatewayError('credit_balance_exhausted', `The balance of this key's account does not reach: ${needs} in it. ${mend}`);
}
