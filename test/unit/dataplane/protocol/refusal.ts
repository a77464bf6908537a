/** Support: what a request is refused with. */
import assert from 'node:assert/strict';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';

/** The fault that `read` ends with; it fails where there is none, or where it is another error. */
export function refusalOf(read: () => unknown): RequestFault {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof RequestFault);
    return error;
  }
  throw new Error('it was taken');
}
