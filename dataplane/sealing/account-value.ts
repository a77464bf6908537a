/**
 * [P] Values by which a provider recognizes repeated requests, such as Idempotency-Key. All accounts share the
 * provider's account, so that equal values of two of them would meet there.
 */
import { createHmac } from 'node:crypto';

/** The same for the same account and value, and never the same for two accounts: 43 characters of base64url. */
export function valueOfAccount(account: string, value: string): string {
  return createHmac('sha256', account).update(value).digest('base64url');
}
