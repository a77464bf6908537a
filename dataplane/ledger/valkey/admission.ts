/**
 * Admits a call: takes its hold and its limits in one step. If no reply comes in time, the hold may exist, and is
 * withdrawn. If the reply comes in time, the hold is confirmed before the call continues. The reaper bills only
 * confirmed holds, so that a refused call costs nothing even if its gateway dies before the withdrawal.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LedgerUnavailable } from '../ledger.ts';
import type { AdmitResult, HoldRequest, HoldResult, Limit } from '../ledger.ts';
import { NO_TOKENS_LOAD } from '../load.ts';
import type { Bucket } from './bucket.ts';
import type { Instance } from './instance.ts';
import type { Wanted } from './limit-leases.ts';
import { admitOperation, confirmOperation, holdOperation } from './operations.ts';
import { noSuchLimit, parseAmount, parseFull, parseStates, OutcomeUnknown, readReply } from './replies.ts';
import type { Reply } from './replies.ts';

/** The fraction of a lease after which a reply is read too late. */
const LATEST_ANSWER = 0.5;
/** The position of the limits' states in the reply, after the second in which they were taken. */
const HELD_STATES = 5;

/** Takes limits and hold atomically. */
export async function admit(instance: Instance, request: HoldRequest, wanted: Wanted): Promise<AdmitResult> {
  const { origin } = request;
  const { load } = wanted;
  const limits = instance.limits.missing(origin.callId, wanted.limits);
  const operation = limits.length > 0 ? admitOperation(request, limits, load) : holdOperation(request);
  const bucket = instance.bucketOfAccount(origin.account);
  const startedMs = performance.now();
  try {
    const reply = await bucket.execute(operation);
    instance.rememberAccount(origin.keyUid, origin.account);
    const result = readReply(reply, (known) => parseAdmission(known, limits));
    if (result.outcome === 'Held') await confirm(instance, bucket, { callId: origin.callId, startedMs });
    if (result.outcome === 'Held') keep(instance, { request, limits, load, heldNanoUsd: result.heldNanoUsd }, reply);
    return result;
  } catch (error) {
    if (error instanceof OutcomeUnknown) withdraw(instance, request, limits);
    throw error;
  }
}

/** Takes the hold without limits. */
export async function hold(instance: Instance, request: HoldRequest): Promise<HoldResult> {
  const result = await admit(instance, request, { limits: [], load: NO_TOKENS_LOAD });
  if (result.outcome === 'Full') throw noSuchLimit();
  return result;
}

interface Unconfirmed {
  readonly callId: string;
  /** When the hold was requested, by the monotonic clock. */
  readonly startedMs: number;
}

/**
 * Confirms the hold, unless it replaces one that was confirmed. Rejects with OutcomeUnknown if the hold may not be
 * used.
 */
async function confirm(instance: Instance, bucket: Bucket, { callId, startedMs }: Unconfirmed): Promise<void> {
  // this process was suspended for so long that others consider it dead
  if (performance.now() - startedMs > instance.leaseMs * LATEST_ANSWER)
    throw new OutcomeUnknown("the ledger's answer was read too late");
  if (instance.held.get(callId)) return;
  try {
    await bucket.send(confirmOperation(callId));
  } catch (error) {
    throw new OutcomeUnknown('the hold could not be confirmed in time', { cause: error });
  }
  // the client writes to its socket at the end of the turn; after that, killing the process loses nothing
  await nextTurn();
}

interface Admitted extends Wanted {
  readonly request: HoldRequest;
  readonly heldNanoUsd: bigint;
}

function keep(instance: Instance, { request, heldNanoUsd, ...wanted }: Admitted, reply: Reply): void {
  const { callId } = request.origin;
  const [, , day = '', month = '', second = ''] = reply;
  instance.limits.add(callId, wanted, second);
  instance.held.set(callId, { request, heldNanoUsd, progress: request.progress, day, month, isUncertain: false });
}

function parseAdmission(reply: Reply, limits: readonly Limit[]): AdmitResult {
  const [word, first, second] = reply;
  switch (word) {
    case 'held':
      return { outcome: 'Held', heldNanoUsd: parseAmount(first), ...parseStates(reply.slice(HELD_STATES), limits) };
    case 'short':
      return { outcome: 'Short', short: first === 'Key' ? 'Key' : 'Account', availableNanoUsd: parseAmount(second) };
    case 'stale':
      return { outcome: 'StaleLimits' };
    case 'full':
      return parseFull(reply, limits);
    // the hold of the other key's call stays
    case 'other':
      throw new LedgerUnavailable("another key's call has this id");
    default:
      throw new LedgerUnavailable('this call is settled already');
  }
}

function withdraw(instance: Instance, { origin: { callId, account } }: HoldRequest, limits: readonly Limit[]): void {
  instance.limits.releaseIfTaken(callId, limits);
  const held = instance.held.get(callId);
  if (held) {
    // the call settles its earlier hold
    held.isUncertain = true;
    return;
  }
  const operation = { name: 'withdraw', args: [callId] };
  // if the ledger closes first, the next process withdraws the hold
  instance
    .bucketOfAccount(account)
    .executeUntilAnswered(operation)
    .catch(() => void instance.journal.addPending({ callId, account, settle: operation }));
}
