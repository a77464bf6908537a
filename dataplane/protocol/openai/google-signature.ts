/** Gemini's thought signature, as Google's endpoint of OpenAI's protocol has it in `extra_content`. */
import { isRecord, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

export function readExtraSignature(extra: unknown): string | undefined {
  const google = isRecord(extra) ? extra['google'] : undefined;
  return isRecord(google) ? textOf(google['thought_signature']) : undefined;
}

export function writeExtraSignature(signature: string): JsonRecord {
  return { extra_content: { google: { thought_signature: signature } } };
}
