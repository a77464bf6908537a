/**
 * Names that differ only in case from those that the gateway reads within a conversation. Some providers' JSON
 * libraries ignore case, and would find an image where the gateway saw none. Names in a client's own data are not
 * checked.
 */
import { RequestFault } from './call-facts.ts';
import type { JsonRecord } from './fields.ts';

const READ: ReadonlySet<string> = new Set([
  'role',
  'type',
  'content',
  'text',
  'tool_calls',
  'function_call',
  'image_url',
  'image',
  'url',
  'file',
  'file_data',
  'file_id',
  'input_audio',
  'audio_url',
  'audio',
  'source',
  'media_type',
  'data',
  'cache_control',
  'ttl',
  'function',
  'custom',
  'tool_changes',
]);
/** The longest of the names above, with room for case folding, which can lengthen a name. */
const MAX_LENGTH = 16;

/** Checks a message, a part of one, or a tool. Throws RequestFault for the first such name. */
export function refuseCaseVariants(object: JsonRecord, param: string): void {
  for (const name of Object.keys(object)) {
    if (name.length > MAX_LENGTH || READ.has(name)) continue;
    const folded = name.toUpperCase().toLowerCase();
    if (folded !== name && READ.has(folded))
      throw new RequestFault(
        'invalid_request',
        `The field is called "${folded}"; names are case-sensitive.`,
        `${param}.${name}`,
      );
  }
}
