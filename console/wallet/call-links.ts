/** [P] The path of one call's page. */
import type { ObjectRef } from '../access/access.ts';
import { accountPath, withParameters } from './account-facts.ts';

export interface CallName {
  readonly callId: string;
  readonly keyUid: string;
  /** The time of its admission, by which the ledger finds it; absent: it was refused. */
  readonly createdMs?: number;
}

/** @param key the name of the one key that the page before it shows */
export function callPath(ref: ObjectRef, { callId, keyUid, createdMs }: CallName, key: string | undefined): string {
  return withParameters(`${accountPath(ref, 'calls')}/${encodeURIComponent(callId)}`, {
    at: createdMs === undefined ? '' : String(createdMs),
    uid: keyUid,
    key: key ?? '',
  });
}
