/** Support: the fault with which a request is refused. */
import assert from 'node:assert/strict';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';

/** Returns the fault that `read` throws; fails if there is none, or another error. */
export function refusalOf(read: () => unknown): RequestFault {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof RequestFault);
    return error;
  }
  throw new Error('it was taken');
}
