/**
 * Reads events that clients send in a session of OpenAI's realtime API, as far as they decide what its responses cost.
 * What the gateway does not know is named, so that it is refused: it could make a response cost more than is held.
 */
import { readTools } from './session-tools.ts';
import { base64Bytes, isGiven, isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { UnboundedUse } from '../call-facts.ts';
import { readBody } from '../parse-body.ts';
import type { JsonObject } from '../json-scan.ts';
import { malformed } from '../unsupported.ts';
import { readLimit, readSession } from './session.ts';
import type { SessionChange } from './session.ts';

/** What an event adds to the conversation. */
export interface AddedContent {
  /** Of everything that is neither audio nor an image. */
  readonly textBytes: number;
  /** Of the audio itself, without its Base64. */
  readonly audioBytes: number;
  readonly images: number;
  /** The field with the first image; undefined: none. */
  readonly imageParam: string | undefined;
}

export interface ClientEvent extends AddedContent {
  readonly type: string;
  /** By which errors of the provider name the event. */
  readonly eventId: string | undefined;
  /** Of session.update. */
  readonly session?: SessionChange;
  /** Of response.create: the most tokens that the response may have; undefined: as the session says. */
  readonly maxOutputTokens?: number | undefined;
  /** Whether it may have the provider read something of the conversation several times. */
  readonly repeatsItems: boolean;
  /** What is refused unless the model allows it. */
  readonly unbounded: readonly UnboundedUse[];
  /** Paths of fields, and types of events, that the gateway does not know. */
  readonly unknown: readonly string[];
  readonly scanned: JsonObject | undefined;
}

/** Types of events that begin nothing and add nothing, or audio alone. */
const PLAIN: ReadonlySet<string> = new Set([
  'input_audio_buffer.append',
  'input_audio_buffer.commit',
  'input_audio_buffer.clear',
  'output_audio_buffer.clear',
  'conversation.item.retrieve',
  'conversation.item.truncate',
  'conversation.item.delete',
  'response.cancel',
]);

const RESPONSE_FIELDS: ReadonlySet<string> = new Set([
  'audio',
  'conversation',
  'input',
  'instructions',
  'max_output_tokens',
  'metadata',
  'output_modalities',
  'parallel_tool_calls',
  'prompt',
  'reasoning',
  'tool_choice',
  'tools',
]);
const ITEMS: ReadonlySet<unknown> = new Set(['message', 'function_call', 'function_call_output', 'item_reference']);
const ITEMS_OF_MCP: ReadonlySet<unknown> = new Set([
  'mcp_approval_response',
  'mcp_approval_request',
  'mcp_list_tools',
  'mcp_call',
]);
const PARTS: ReadonlySet<unknown> = new Set([
  'input_text',
  'input_audio',
  'input_image',
  'output_text',
  'output_audio',
]);

/** An event of which no more is known than its id. */
export interface ReceivedEvent extends Pick<ClientEvent, 'eventId' | 'scanned'> {
  readonly value: JsonRecord;
  readonly bytes: number;
}

/** Throws RequestFault: it is no JSON object, or has a name twice. */
export function receiveEvent(bytes: Uint8Array): ReceivedEvent {
  const body = readBody(bytes);
  return { value: body.parsed, eventId: textOf(body.parsed['event_id']), scanned: body.scanned, bytes: bytes.length };
}

/** Throws RequestFault: it has no type, or a field that is read is wrong. */
export function readClientEvent(received: ReceivedEvent): ClientEvent {
  const type = textOf(received.value['type']);
  if (type === undefined) throw malformed('type', 'the name of an event');
  const content = new ContentReader(received.bytes);
  const found = readByType(type, received.value, content);
  const id = { eventId: received.eventId, scanned: received.scanned };
  const { added, repeatsItems } = content;
  return { type, ...id, ...added, repeatsItems, unbounded: [], unknown: [], ...found };
}

type Found = Partial<Pick<ClientEvent, 'session' | 'maxOutputTokens' | 'unbounded' | 'unknown'>>;

function readByType(type: string, event: JsonRecord, content: ContentReader): Found {
  if (type === 'input_audio_buffer.append') content.addAudio(event['audio']);
  if (PLAIN.has(type)) {
    content.dropText();
    return {};
  }
  switch (type) {
    case 'session.update':
      return readUpdate(event['session']);
    case 'conversation.item.create':
      content.addItem(event['item'], 'item');
      content.repeatReferences();
      return content.found;
    case 'response.create':
      return readResponse(event['response'], content);
    default:
      return { unknown: [type] };
  }
}

function readUpdate(value: unknown): Found {
  if (!isRecord(value)) throw malformed('session', 'an object');
  const read = readSession(value);
  return { session: read.change, unbounded: read.unbounded, unknown: read.unknown };
}

function readResponse(value: unknown, content: ContentReader): Found {
  if (!isGiven(value)) return {};
  if (!isRecord(value)) throw malformed('response', 'an object');
  for (const [index, item] of itemsOf(value['input']).entries()) content.addItem(item, `response.input[${index}]`);
  const tools = readTools(value, 'response');
  const unknown = Object.keys(value).filter((name) => !RESPONSE_FIELDS.has(name));
  return {
    maxOutputTokens: readLimit(value['max_output_tokens'], 'response.max_output_tokens'),
    unbounded: [...content.found.unbounded, ...tools],
    unknown: [...content.found.unknown, ...unknown.map((name) => `response.${name}`)],
  };
}

class ContentReader {
  #textBytes: number;
  #audioBytes = 0;
  #images = 0;
  #imageParam: string | undefined;
  /** The ids of items that it refers to, and how often it does. */
  readonly #referred = new Set<unknown>();
  #references = 0;
  readonly #unbounded: UnboundedUse[] = [];
  readonly #unknown: string[] = [];

  constructor(eventBytes: number) {
    this.#textBytes = eventBytes;
  }

  get added(): AddedContent {
    return {
      textBytes: Math.max(0, this.#textBytes),
      audioBytes: this.#audioBytes,
      images: this.#images,
      imageParam: this.#imageParam,
    };
  }

  get found(): Required<Pick<Found, 'unbounded' | 'unknown'>> {
    return { unbounded: this.#unbounded, unknown: this.#unknown };
  }

  /** Whether an item is referred to that the response, or the conversation, has already. */
  get repeatsItems(): boolean {
    return this.#references > this.#referred.size;
  }

  /** The event adds to the conversation, which has what it refers to already. */
  repeatReferences(): void {
    this.#referred.clear();
  }

  /** What is left is the event's own form, which no model reads. */
  dropText(): void {
    this.#textBytes = 0;
  }

  addAudio(value: unknown): void {
    if (typeof value !== 'string') return;
    this.#textBytes -= value.length;
    this.#audioBytes += base64Bytes(value);
  }

  addItem(item: unknown, path: string): void {
    if (!isRecord(item)) throw malformed(path, 'an object');
    const type = item['type'];
    if (ITEMS_OF_MCP.has(type)) this.#unbounded.push({ feature: 'ServerTools', param: path });
    else if (!ITEMS.has(type)) this.#unknown.push(`${path}.type`);
    if (type === 'item_reference') {
      this.#referred.add(item['id']);
      this.#references++;
    }
    for (const [index, part] of itemsOf(item['content']).entries()) this.#addPart(part, `${path}.content[${index}]`);
  }

  #addPart(part: unknown, path: string): void {
    if (!isRecord(part)) throw malformed(path, 'an object');
    const type = part['type'];
    if (!PARTS.has(type)) this.#unknown.push(`${path}.type`);
    this.addAudio(part['audio']);
    const image = part['image_url'];
    if (type !== 'input_image' && image === undefined) return;
    this.#images++;
    this.#imageParam ??= path;
    if (typeof image === 'string') this.#textBytes -= image.length;
  }
}
