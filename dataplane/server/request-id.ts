/** Request ids: 122 random bits each, so that nobody can guess one, or learn from them how many calls there are. */
import { randomUUID } from 'node:crypto';

/** "req_" and 32 hexadecimal digits. */
export function newRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
