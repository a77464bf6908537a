/**
 * Thought signatures, which clients of Google's protocol return on the part that had them, whereas many of them drop
 * thoughts. So the gateway's signatures contain the thinking itself, sealed. They are base64, because some SDKs decode
 * them.
 */
import { itemsOf, isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { isSealed } from '../sealed-values.ts';

/** Skips the check of signatures, as Google documents for calls that other models made. */
export const NO_SIGNATURE = 'skip_thought_signature_validator';

const SEPARATOR = '\n';

/** A signature that holds these sealed values. */
export function writeSignature(sealed: readonly string[]): string {
  return Buffer.from(sealed.join(SEPARATOR)).toString('base64');
}

/** The values in a signature. They are sealed only if the gateway made it. Empty if it is not a text. */
export function readSignature(signature: unknown): readonly string[] {
  return typeof signature === 'string' && signature !== ''
    ? Buffer.from(signature, 'base64').toString('utf8').split(SEPARATOR)
    : [];
}

/** The values that a gateway sealed in the signatures of these contents, in their order. */
export function sealedInContents(contents: unknown): readonly string[] {
  return itemsOf(contents)
    .filter(isRecord)
    .flatMap(({ parts }) => itemsOf(parts))
    .filter(isRecord)
    .flatMap(({ thoughtSignature }: JsonRecord) => readSignature(thoughtSignature))
    .filter(isSealed);
}
