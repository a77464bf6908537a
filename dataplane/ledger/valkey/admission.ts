/**
 * Admits a call: takes its hold, and its slots in the same step. If the outcome is unknown because no answer came in
 * time, the hold may exist, and is withdrawn.
 */
import { LedgerUnavailable } from '../ledger.ts';
import type { AdmitResult, HoldRequest, HoldResult, SlotLimit } from '../ledger.ts';
import type { Instance } from './instance.ts';
import { admitOperation, holdOperation } from './operations.ts';
import { parseAmount, OutcomeUnknown, readReply } from './replies.ts';
import type { Reply } from './replies.ts';

/** Takes slots and hold atomically. */
export async function admit(
  instance: Instance, request: HoldRequest, slots: readonly SlotLimit[],
): Promise<AdmitResult> {
  const { origin } = request;
  const operation = slots.length > 0 ? admitOperation(request, slots) : holdOperation(request);
  try {
    const reply = await instance.bucketOfAccount(origin.account).execute(operation);
    instance.rememberAccount(origin.keyUid, origin.account);
    const result = readReply(reply, (known) => parseAdmission(known, slots));
    if (result.outcome === 'Held') keep(instance, { request, slots, heldNanoUsd: result.heldNanoUsd }, reply);
    return result;
  } catch (error) {
    if (error instanceof OutcomeUnknown) withdraw(instance, request, slots);
    throw error;
  }
}

/** Takes the hold without slots. */
export async function hold(instance: Instance, request: HoldRequest): Promise<HoldResult> {
  const result = await admit(instance, request, []);
  if (result.outcome === 'Full') throw noSuchSlot();
  return result;
}

interface Admitted {
  readonly request: HoldRequest;
  readonly slots: readonly SlotLimit[];
  readonly heldNanoUsd: bigint;
}

function keep(instance: Instance, { request, slots, heldNanoUsd }: Admitted, [, , day = '', month = '']: Reply): void {
  const { callId } = request.origin;
  instance.slots.add(callId, slots);
  instance.held.set(callId, { request, heldNanoUsd, progress: request.progress, day, month, isUncertain: false });
}

function parseAdmission([word, first, second]: Reply, slots: readonly SlotLimit[]): AdmitResult {
  switch (word) {
    case 'held': return { outcome: 'Held', heldNanoUsd: parseAmount(first) };
    case 'short':
      return { outcome: 'Short', short: first === 'Key' ? 'Key' : 'Account', availableNanoUsd: parseAmount(second) };
    case 'stale': return { outcome: 'StaleLimits' };
    case 'full': {
      const full = slots[Number(first)];
      if (!full) throw noSuchSlot();
      return { outcome: 'Full', full };
    }
    // the hold of the other key's call stays
    case 'other': throw new LedgerUnavailable('another key\'s call has this id');
    default: throw new LedgerUnavailable('this call is settled already');
  }
}

function noSuchSlot(): LedgerUnavailable {
  return new LedgerUnavailable('the ledger\'s script named a slot that was not requested');
}

function withdraw(instance: Instance, { origin: { callId, account } }: HoldRequest, slots: readonly SlotLimit[]): void {
  instance.slots.releaseIfTaken(callId, slots);
  const held = instance.held.get(callId);
  if (held) {
    // the call settles its earlier hold
    held.isUncertain = true;
    return;
  }
  const operation = { name: 'withdraw', args: [callId] };
  // if the ledger closes first, the next process does it
  instance.bucketOfAccount(account).executeUntilAnswered(operation)
    .catch(() => instance.journal.addPending({ callId, account, settle: operation }));
}
