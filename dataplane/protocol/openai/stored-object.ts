/** [P] What a provider stores and a client requests: a response, a conversation, or a list of their items. */
import type { ConvertedJob } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { parseObject } from '../json-value.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import { ResponseSeals } from './response-seals.ts';
import { readResponseState } from './responses.ts';

export interface SealedObject {
  /** The body with its ids and encrypted values sealed. */
  readonly body: Uint8Array;
  /** The end of a background response, if that is what it is. */
  readonly job: Pick<ConvertedJob, 'state' | 'consumed'>;
}

/** `known`: sealed values that the client has already, by what is sealed in them. Throws SyntaxError. */
export function sealStored(bytes: Uint8Array, seal: ChannelSeal, known: ReadonlyMap<string, string>): SealedObject {
  const content = parseObject(bytes);
  return { body: new ResponseSeals(seal, known).apply(bytes, content), job: stateIn(content) };
}

/** Of a response that is not in the background, and of a list of items, there is no end to bill. */
function stateIn(content: JsonRecord): SealedObject['job'] {
  return content['background'] === false ? { state: 'Running' } : readResponseState(content);
}
