/**
 * Admits a call: takes its hold and its limits in one step. If no reply comes in time, the hold may exist, and is
 * withdrawn. If the reply comes in time, the hold is confirmed before the call continues. The reaper bills only
 * confirmed holds, so that a refused call costs nothing even if its gateway dies before the withdrawal.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { AdmitResult, CountLimit, HoldRequest, LimitState, Wanted } from '../ledger.ts';
import { countsIn, moneyIn, spanOfLimit } from '../load.ts';
import type { Bucket } from './bucket.ts';
import type { Instance } from './instance.ts';
import { admitOperation, confirmOperation, withdrawOperation } from './operations.ts';
import { namedLimit, parseAmount, parseFull, parseStates, OutcomeUnknown, readReply } from './replies.ts';
import type { Reply } from './replies.ts';

/** The fraction of a lease after which a reply is read too late. */
const LATEST_ANSWER = 0.5;

/** Takes limits and hold. In a Cluster, limits in other buckets than the account's are taken before, or given back. */
export async function admit(instance: Instance, request: HoldRequest): Promise<AdmitResult> {
  const { callId, account } = request.origin;
  const { load } = request;
  const missing = instance.limits.missing(callId, countsIn(request.limits));
  const [here, elsewhere] = instance.limits.split(missing, instance.bucketIndex(account));
  if (elsewhere.length === 0) return admitHere(instance, request, here);
  const taken = await instance.limits.take(callId, elsewhere, load);
  if (taken.outcome === 'Full') return taken;
  const giveBack = (): void => instance.limits.giveBack(callId, elsewhere);
  const result = await admitHere(instance, request, here).catch((error: unknown) => {
    giveBack();
    throw error;
  });
  if (result.outcome !== 'Held') giveBack();
  return withStates(result, taken);
}

function withStates(result: AdmitResult, { states = [] }: { readonly states?: readonly LimitState[] }): AdmitResult {
  return result.outcome !== 'Held' || states.length === 0
    ? result
    : { ...result, states: [...states, ...(result.states ?? [])] };
}

/** Takes limits of the account's bucket and the hold atomically. */
async function admitHere(
  instance: Instance,
  request: HoldRequest,
  limits: readonly CountLimit[],
): Promise<AdmitResult> {
  const { origin, load } = request;
  const bucket = instance.bucketOfAccount(origin.account);
  const startedMs = performance.now();
  try {
    const admitted = instance.held.get(origin.callId)?.admitted;
    const atMs = admitted === undefined ? instance.nowMs : Number(admitted);
    const reply = await bucket.execute(admitOperation(request, limits, atMs));
    instance.rememberAccount(origin.keyUid, origin.account);
    const result = readReply(reply, (known) => parseAdmission(known, request, limits));
    if (result.outcome === 'Held') await confirm(instance, bucket, { callId: origin.callId, startedMs });
    if (result.outcome === 'Held') keep(instance, { request, limits, load, heldNanoUsd: result.heldNanoUsd }, reply);
    return result;
  } catch (error) {
    if (error instanceof OutcomeUnknown) withdraw(instance, request, limits);
    throw error;
  }
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
  const { day = '', month = '', admitted = '', second = '' } = reply;
  instance.limits.add(callId, wanted, second);
  instance.held.set(callId, { request, heldNanoUsd, progress: request.progress, admitted, day, month });
}

function parseAdmission(reply: Reply, request: HoldRequest, limits: readonly CountLimit[]): AdmitResult {
  switch (reply.is) {
    case 'held':
      return { outcome: 'Held', heldNanoUsd: parseAmount(reply.amount), ...parseStates(reply, limits) };
    case 'short': {
      const limit = namedLimit(reply, moneyIn(request.limits));
      return {
        outcome: 'Short',
        limit,
        spentNanoUsd: parseAmount(reply.spent),
        ...spanOfLimit(limit, Number(reply.admitted)),
        availableNanoUsd: parseAmount(reply.available),
      };
    }
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

function withdraw(
  instance: Instance,
  { origin: { callId, account } }: HoldRequest,
  limits: readonly CountLimit[],
): void {
  instance.limits.releaseIfTaken(callId, limits);
  // the call settles its earlier hold
  if (instance.held.get(callId)) return;
  const operation = withdrawOperation(callId);
  // if the ledger closes first, the next process withdraws the hold
  instance
    .bucketOfAccount(account)
    .executeUntilAnswered(operation)
    .catch(() => void instance.journal.addPending({ callId, account, settle: operation }));
}
