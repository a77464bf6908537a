/**
 * Requests to POST /v1/conversations and below, whose items the provider keeps. Later calls read the items without the
 * gateway seeing them, so that they must not contain what a call may only use with the consent of the model's route.
 */
import { sealedInItems } from '../affinity-facts.ts';
import { RequestFault } from '../call-facts.ts';
import { startCounts } from '../content-counts.ts';
import type { Conversations } from '../converter.ts';
import { isGiven, readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';
import type { JsonEdit } from '../json-edit.ts';
import { readInput } from './response-input.ts';
import { openItemsOf } from './response-seals.ts';

export interface StoredConversationFacts {
  /** The gateway's own field: a model whose provider shall keep the conversation; undefined: none is named. */
  readonly model: string | undefined;
  /** Sealed values in the items, which only the channel that made them can read. */
  readonly sealed: readonly string[];
  /** Path of the first image in the items; undefined: none. */
  readonly imageParam: string | undefined;
}

/** Throws RequestFault where the items are malformed, or refer to what the provider stores or runs. */
export function readConversationFacts(body: Uint8Array, parsed: JsonRecord): StoredConversationFacts {
  const counts = startCounts(body.length);
  readInput(counts, parsed['items'], 'items');
  const [use] = counts.unbounded;
  if (use)
    throw new RequestFault(
      'unsupported_parameter',
      `The field "${use.param}" cannot be kept in a conversation here. Send it in "input" of POST /v1/responses.`,
      use.param,
    );
  const { sealed, bound } = sealedInItems(parsed['items']);
  const { imageParam } = counts;
  return { model: isGiven(parsed['model']) ? readModel(parsed) : undefined, sealed: [...bound, ...sealed], imageParam };
}

const PATH = '/conversations';

export const conversations: Conversations = {
  client: 'OpenAI',
  path: (id) => (id === undefined ? PATH : `${PATH}/${encodeURIComponent(id)}`),
  request: (body, parsed, { seal, scanned }) => {
    const { edit, leftOut } = openItemsOf(body, parsed, { field: 'items', seal });
    const edits = new Map<string, JsonEdit>();
    if (edit !== undefined) edits.set('items', edit);
    if ('model' in parsed) edits.set('model', undefined);
    return {
      path: PATH,
      body: editObject(body, edits, scanned),
      ...(leftOut !== undefined && { dropped: [leftOut] }),
    };
  },
};
