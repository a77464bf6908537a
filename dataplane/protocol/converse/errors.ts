/**
 * Errors of AWS's services: `message`, or `Message` where the request came no further than to the signature's check.
 */
import { decodeUtf8 } from '../bytes.ts';
import type { ProviderError } from '../converter.ts';
import { parseEventData } from '../json-value.ts';
import { readProviderError } from '../provider-errors.ts';

/** Never throws. */
export function readConverseError(status: number, body: Uint8Array): ProviderError {
  const { Message: message } = parseEventData(decodeUtf8(body)) ?? {};
  return readProviderError(status, typeof message === 'string' ? Buffer.from(JSON.stringify({ message })) : body);
}
