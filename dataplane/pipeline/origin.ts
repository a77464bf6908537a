/** [P] The origin of a call in its usage record: key, account, group, model, channel, catalog, session and names. */
import type { CallOrigin } from '#usage/record.ts';
import type { Candidate } from '../state/state.ts';
import { sessionOf } from './affinity.ts';
import type { Routed } from './context.ts';

/** The origin of a call on this candidate. */
export function originOf({ received, key, call, offer }: Routed, { group, target }: Candidate): CallOrigin {
  const session = sessionOf(received);
  return {
    callId: received.requestId,
    keyUid: key.uid,
    account: key.account,
    createdMs: received.createdMs,
    group,
    model: call.model,
    channel: target.id,
    catalog: offer.catalog ?? '',
    ...(session !== undefined && { session }),
    keyName: key.name,
    ...(key.usageLabels !== undefined && { labels: key.usageLabels }),
  };
}
