/** Request ids: 128 random bits each, so that nobody can guess one, or learn from them how many calls there are. */
import { randomBytes } from 'node:crypto';

const ID_BYTES = 16;

/** "req_" and 32 hexadecimal digits. */
export function newRequestId(): string {
  return `req_${randomBytes(ID_BYTES).toString('hex')}`;
}
