/**
 * Errors of AWS's services: `message`, or `Message` where the request came no further than to the signature's check.
 */
import { decodeUtf8 } from '../../bytes.ts';
import type { ProviderError } from '../../converter.ts';
import { parseEventData } from '../../json-value.ts';
import { readProviderError } from '../../provider-errors.ts';

/** How Bedrock refuses the id of a model that it does not have, with a status of 400. */
const UNKNOWN_MODEL = /provided model identifier is invalid/i;
const VALIDATION_STATUS = 400;
const NOT_FOUND = 404;

/** Never throws. An unknown model gets the status that other providers answer with. */
export function readConverseError(status: number, body: Uint8Array): ProviderError {
  const { Message: message } = parseEventData(decodeUtf8(body)) ?? {};
  const error = readProviderError(
    status,
    typeof message === 'string' ? Buffer.from(JSON.stringify({ message })) : body,
  );
  const isUnknown = status === VALIDATION_STATUS && UNKNOWN_MODEL.test(error.message);
  return isUnknown ? { ...error, status: NOT_FOUND } : error;
}
