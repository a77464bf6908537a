/** [P] The origin of a call in its usage record: key, account, group, model, channel and catalog. */
import type { CallOrigin } from '../ledger/usage-record.ts';
import type { Candidate } from '../state/state.ts';
import type { Routed } from './context.ts';

/** The origin of a call on this candidate. */
export function originOf({ received, key, call, offer }: Routed, { group, target }: Candidate): CallOrigin {
  return {
    callId: received.requestId,
    keyUid: key.uid,
    account: key.account,
    createdMs: received.createdMs,
    group,
    model: call.model,
    channel: target.id,
    catalog: offer.catalog ?? '',
  };
}
