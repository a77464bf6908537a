/**
 * Names that differ only by case from those that the gateway reads within a conversation. Some providers' JSON libraries match names
 * without regard to it, and would find an image where the gateway saw none. What a client's own data is called is its own affair.
 */
import { RequestFault } from './call-facts.ts';
import type { JsonRecord } from './fields.ts';

const READ: ReadonlySet<string> = new Set([
  'role', 'type', 'content', 'text', 'tool_calls', 'function_call', 'image_url', 'image', 'url', 'file', 'file_data', 'file_id', 'input_audio', 'audio_url', 'audio',
  'source', 'media_type', 'data', 'cache_control', 'ttl', 'function', 'custom', 'tool_changes',
]);
/** Of the names above, or longer by what folding may add. */
const MOST_LENGTH = 16;

/** Of a message, a part of one, or a tool. Throws RequestFault for the first such name. */
export function refuseVariants(object: JsonRecord, param: string): void {
  for (const name of Object.keys(object)) {
    if (name.length > MOST_LENGTH || READ.has(name)) continue;
    const folded = name.toUpperCase().toLowerCase();
    if (folded !== name && READ.has(folded))
      throw new RequestFault('invalid_request', `The field is called "${folded}"; names are case-sensitive.`, `${param}.${name}`);
  }
}
