/** Names of requests: 128 random bits each, so that nobody meets another's, or learns from their order how many there are. */
import { randomFillSync } from 'node:crypto';

const ID_BYTES = 16;
/** Randomness is fetched for many at a time. */
const POOL = Buffer.alloc(256 * ID_BYTES);
let used = POOL.length;

export function newRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += ID_BYTES;
  return `req_${POOL.toString('hex', used - ID_BYTES, used)}`;
}
