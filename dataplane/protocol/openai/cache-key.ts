/** OpenAI's `prompt_cache_key`, by which the provider groups the requests of one conversation. */
import type { RequestPlan } from '../converter.ts';
import { textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { JsonEdit } from '../json-edit.ts';

/** Replaces the key by one of the account: all accounts share the provider's cache, and names are guessed easily. */
export function setCacheKey(
  edits: Map<string, JsonEdit>,
  { prompt_cache_key: key }: JsonRecord,
  { seal }: Pick<RequestPlan, 'seal'>,
): void {
  const text = textOf(key);
  if (text !== undefined && text !== '' && seal) edits.set('prompt_cache_key', JSON.stringify(seal.ofAccount(text)));
}
