/**
 * Seals what a provider of responses encrypts or keeps: encrypted content is bound to the account that made it, and so
 * are the ids of responses. Sealed with their channel, they come back with the next call, which is given to that
 * channel and gets the provider's own values. Reasoning of another channel is left out there: the provider would refuse
 * the whole request for it.
 */
import { RequestFault } from '../call-facts.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { JsonEdit } from '../json-edit.ts';
import { replaceStrings } from '../json-strings.ts';
import { reparseLosslessly, writeJson } from '../json-value.ts';
import { decodeUtf8 } from '../bytes.ts';
import { isSealed, sealedIdIn } from '../sealed-values.ts';
import type { ChannelSeal } from '../sealed-values.ts';

export const ENCRYPTED_CONTENT = 'encrypted';
export const RESPONSE_ID = 'response';
export const CONVERSATION_ID = 'conversation';

/** The error for a request that refers to what its account cannot use, or what no channel has any more. */
export const UNUSABLE =
  'The request refers to a response or a conversation that no channel of this model has for this account. ' +
  'Send the whole conversation in "input".';

export interface OpenedRequest {
  readonly edits: ReadonlyMap<string, JsonEdit>;
  /** What was left out; undefined: nothing. */
  readonly leftOut: string | undefined;
  /** The client's sealed ids, by what is sealed in them. */
  readonly sealedIds: ReadonlyMap<string, string>;
}

interface OpenOptions {
  readonly seal: ChannelSeal | undefined;
  /** The input begins with items of a response that the gateway keeps, which no provider has. */
  readonly continuesKept?: boolean;
  /** Takes the place of the request's own; undefined: nothing does. */
  readonly input?: unknown;
}

/** The edits that give a request the provider's own values. Throws RequestFault where it cannot do without one. */
export function openRequest(body: Uint8Array, parsed: JsonRecord, options: OpenOptions): OpenedRequest {
  const { seal, input: changed } = options;
  const edits = new Map<string, JsonEdit>();
  const sealedIds = new Map<string, string>();
  for (const [field, kind] of ID_FIELDS) {
    const sealed = sealedIdIn(parsed[field]);
    if (sealed === undefined) continue;
    const id = openOwn(sealed, { kind, param: field }, seal);
    edits.set(field, JSON.stringify(id));
    sealedIds.set(id, sealed);
  }
  const { edit, leftOut } = openItemsOf(body, parsed, {
    field: 'input',
    seal,
    continuesKept: options.continuesKept,
    changed,
  });
  if (edit !== undefined) edits.set('input', edit);
  return { edits, leftOut, sealedIds };
}

const ID_FIELDS = [
  ['previous_response_id', RESPONSE_ID],
  ['conversation', CONVERSATION_ID],
] as const;

interface ItemsOptions {
  /** The member that holds the items. */
  readonly field: string;
  readonly seal: ChannelSeal | undefined;
  /** Leaves out reasoning without a proof, which the provider would look for by an id that it never gave. */
  readonly continuesKept?: boolean | undefined;
  /** Takes the place of the request's own; undefined: nothing does. */
  readonly changed?: unknown;
}

/** Opens the sealed values of the items for their provider; `edit` is undefined if none changes. Throws as openRequest. */
export function openItemsOf(
  body: Uint8Array,
  parsed: JsonRecord,
  options: ItemsOptions,
): { readonly edit: JsonEdit; readonly leftOut: string | undefined } {
  const { field, seal, changed } = options;
  const itemOptions = { seal, continuesKept: options.continuesKept === true, param: field };
  const changes = (item: unknown): boolean => isSealedItem(item) || (itemOptions.continuesKept && isUnproven(item));
  if (!itemsOf(parsed[field]).some(changes)) return { edit: undefined, leftOut: undefined };
  const all = itemsOf(changed ?? reparseLosslessly(body, parsed)[field]);
  const { items, leftOut } = openItems(all, itemOptions);
  // one name for all left-out items, because there may be dozens
  return { edit: writeJson(items), leftOut: leftOut ? `${field}[].encrypted_content` : undefined };
}

function isSealedItem(item: unknown): boolean {
  return isRecord(item) && isSealed(item['encrypted_content']);
}

function isUnproven(item: unknown): boolean {
  return isRecord(item) && item['type'] === 'reasoning' && textOf(item['encrypted_content']) === undefined;
}

/** Opens a value that only its own channel can use. Routing sends the call to no other channel. */
function openOwn(
  sealed: string,
  { kind, param }: { readonly kind: string; readonly param: string },
  seal: ChannelSeal | undefined,
): string {
  const opened = seal?.open(sealed);
  if (opened && opened.channel === seal?.channel && opened.kind === kind) return opened.data;
  throw new RequestFault('unsupported_parameter', UNUSABLE, param);
}

interface ItemOptions {
  readonly seal: ChannelSeal | undefined;
  readonly continuesKept: boolean;
  /** The field that an error names. */
  readonly param: string;
}

function openItems(
  items: readonly unknown[],
  options: ItemOptions,
): { readonly items: readonly unknown[]; readonly leftOut: boolean } {
  const opened: unknown[] = [];
  let leftOut = false;
  let orphaned = false;
  for (const item of items) {
    const own = isRecord(item) ? openItem(item, options) : item;
    if (own === undefined) leftOut = orphaned = true;
    else {
      orphaned &&= isRecord(own) && isMadeWithReasoning(own);
      opened.push(orphaned && isRecord(own) ? withoutId(own) : own);
    }
  }
  return { items: opened, leftOut };
}

/** Items that a model makes after reasoning. If one has an id, the provider requires its reasoning too. */
const MADE_WITH_REASONING: ReadonlySet<string> = new Set([
  'message',
  'function_call',
  'custom_tool_call',
  'tool_search_call',
  'web_search_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
]);

function isMadeWithReasoning({ type = 'message', role }: JsonRecord): boolean {
  return role !== 'user' && MADE_WITH_REASONING.has(stringOf(type));
}

function withoutId({ id: _id, ...item }: JsonRecord): JsonRecord {
  return item;
}

/** Undefined: reasoning of another channel, or without a proof. Throws RequestFault for other content of a channel. */
function openItem(item: JsonRecord, options: ItemOptions): JsonRecord | undefined {
  const { encrypted_content: content, type } = item;
  const { seal, param } = options;
  if (!isSealed(content)) return options.continuesKept && isUnproven(item) ? undefined : item;
  if (type !== 'reasoning')
    return { ...item, encrypted_content: openOwn(content, { kind: ENCRYPTED_CONTENT, param }, seal) };
  const opened = seal?.open(content);
  if (!opened || opened.channel !== seal?.channel || opened.kind !== ENCRYPTED_CONTENT) return undefined;
  return { ...item, encrypted_content: opened.data };
}

/** A stream's first events have its ids; a value beyond this number may be sealed again in another event. */
const MAX_REMEMBERED = 1_000;

/** Seals the values of one response, whole or in events: the same value is sealed once. */
export class ResponseSeals {
  readonly #seal: ChannelSeal | undefined;
  readonly #sealed: Map<string, string>;

  /** `known`: sealed values that the client has already, by what is sealed in them. */
  constructor(seal: ChannelSeal | undefined, known: ReadonlyMap<string, string> = new Map()) {
    this.#seal = seal;
    this.#sealed = new Map(known);
  }

  /**
   * `bytes` is JSON, or an event whose data is; `data` is its value: a response, a conversation, an item, a list of
   * items, or an event with one of them.
   */
  apply(bytes: Uint8Array, data: JsonRecord): Uint8Array {
    if (!this.#seal) return bytes;
    const values = new Map([...ownValues(data), ...ownValues(data['response']), ...encryptedIn(data['item'])]);
    if (values.size === 0) return bytes;
    const sealed = new Map([...values].map(([value, kind]) => [value, this.#sealOf(kind, value)]));
    return Buffer.from(replaceStrings(decodeUtf8(bytes), sealed));
  }

  #sealOf(kind: string, value: string): string {
    const known = this.#sealed.get(value);
    if (known !== undefined || !this.#seal) return known ?? value;
    const sealed = this.#seal.seal(kind, value);
    if (this.#sealed.size < MAX_REMEMBERED) this.#sealed.set(value, sealed);
    return sealed;
  }

  /** The sealed values, by what is sealed in them. */
  get known(): ReadonlyMap<string, string> {
    return this.#sealed;
  }

  /** Remembers values that another thread has sealed. */
  learn(sealed: ReadonlyMap<string, string>): void {
    for (const [value, own] of sealed) if (this.#sealed.size < MAX_REMEMBERED) this.#sealed.set(value, own);
  }
}

type OwnValue = readonly [value: string, kind: string];

/**
 * The values in a response, a conversation, what a deletion returns, a compaction, an item, or a list of items. Items
 * are sealed whatever the object calls itself, because some providers name it otherwise or not at all.
 */
function ownValues(value: unknown): readonly OwnValue[] {
  if (!isRecord(value)) return [];
  return [...idsOf(value), ...[value, ...itemsOf(value['output']), ...itemsOf(value['data'])].flatMap(encryptedIn)];
}

function idsOf(value: JsonRecord): readonly OwnValue[] {
  switch (value['object']) {
    case 'conversation':
    case 'conversation.deleted':
      return ownValue(value['id'], CONVERSATION_ID);
    case 'response':
    case 'response.deleted':
      return idsOfResponse(value);
    default:
      return [];
  }
}

function idsOfResponse({ id, previous_response_id: previous, conversation }: JsonRecord): OwnValue[] {
  return [
    ...ownValue(id, RESPONSE_ID),
    ...ownValue(previous, RESPONSE_ID),
    ...ownValue(isRecord(conversation) ? conversation['id'] : undefined, CONVERSATION_ID),
  ];
}

function encryptedIn(item: unknown): readonly OwnValue[] {
  return isRecord(item) ? ownValue(item['encrypted_content'], ENCRYPTED_CONTENT) : [];
}

function ownValue(value: unknown, kind: string): readonly OwnValue[] {
  const text = textOf(value);
  return text === undefined ? [] : [[text, kind]];
}
