/**
 * The requests of a batch, one per line: OpenAI's files have the endpoint of each, and Anthropic's list becomes such
 * lines. Each is read as the body of a single call is, and is written anew, so that a provider finds no line that the
 * gateway has not read.
 */
import { Buffer } from 'node:buffer';
import { asBuffer, decodeUtf8 } from '../bytes.ts';
import { converterOf, readFacts } from '../body-kinds.ts';
import type { BodyFacts, BodyKind } from '../body-kinds.ts';
import { RequestFault } from '../call-facts.ts';
import type { RequestPlan } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { scanObject } from '../json-scan.ts';
import type { JsonMember } from '../json-scan.ts';
import { parseBody } from '../parse-body.ts';
import { parseJson } from '../parse-json.ts';
import type { ProviderKind } from '../provider.ts';
import { linesOf } from './line-chunks.ts';
import { malformed } from '../unsupported.ts';

/** Whose batches they are. */
export type BatchForm = 'OpenAI' | 'Anthropic';

/** The kinds of bodies that a batch can have, by the endpoint of a single call, and where a provider serves them. */
const KINDS = {
  '/v1/chat/completions': { kind: 'OpenAIChat', path: '/chat/completions' },
  '/v1/responses': { kind: 'Responses', path: '/responses' },
  '/v1/completions': { kind: 'Completions', path: '/completions' },
  '/v1/embeddings': { kind: 'Embeddings', path: '/embeddings' },
  '/v1/moderations': { kind: 'Moderations', path: '/moderations' },
  '/v1/messages': { kind: 'AnthropicChat', path: '/v1/messages' },
} as const satisfies Readonly<Record<string, { readonly kind: BodyKind; readonly path: string }>>;

export type BatchEndpoint = keyof typeof KINDS;

const MESSAGES: BatchEndpoint = '/v1/messages';
const OPENAI_MEMBERS = ['custom_id', 'method', 'url', 'body'];
const ANTHROPIC_MEMBERS = ['custom_id', 'params'];

/** OpenAI's endpoints that a batch can be for; undefined: it is none of them. */
export function batchEndpointOf(url: unknown): BatchEndpoint | undefined {
  return typeof url === 'string' && Object.hasOwn(KINDS, url) && url !== MESSAGES
    ? // the table has it
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      (url as BatchEndpoint)
    : undefined;
}

/** The endpoints of OpenAI's batches, for messages to people. */
export const BATCH_ENDPOINTS: readonly string[] = Object.keys(KINDS).filter((url) => url !== MESSAGES);

/** What a line asks for: the facts of a single call, or why it is none. */
export type LineFacts =
  | { readonly endpoint: BatchEndpoint; readonly facts: BodyFacts[BodyKind] }
  | { readonly fault: Pick<RequestFault, 'code' | 'message' | 'param'> };

/** Reads the lines of a chunk. Those after a faulty one are not read. */
export function readLineFacts(form: BatchForm, chunk: Uint8Array): readonly LineFacts[] {
  const all: LineFacts[] = [];
  for (const line of linesOf(chunk)) {
    try {
      const { endpoint, body, parsed } = readLine(form, line);
      all.push({ endpoint, facts: readFacts(KINDS[endpoint].kind, body, parsed) });
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error;
      const { code, message, param } = error;
      return [...all, { fault: { code, message, param } }];
    }
  }
  return all;
}

/** How the lines of a chunk are sent. */
export interface LinesPlan {
  readonly protocol: ProviderKind;
  /** One for each model. */
  readonly plans: readonly Omit<RequestPlan, 'maxOutputTokens'>[];
  readonly lines: readonly LinePlan[];
}

export interface LinePlan {
  /** The output limit; undefined: the request has no output. */
  readonly limit: number | undefined;
  /** The place of its model's plan. */
  readonly plan: number;
}

/** The same lines as the provider gets them. Throws RequestFault for what its protocol cannot express. */
export function writeLines(form: BatchForm, chunk: Uint8Array, { protocol, plans, lines }: LinesPlan): Uint8Array {
  const written = linesOf(chunk).map((line, index) => {
    const { customId, endpoint, body, parsed } = readLine(form, line);
    const { kind, path } = KINDS[endpoint];
    // the provider's own endpoint, to which bodies of this kind pass through
    const converter = converterOf(kind, protocol, { client: 'OpenAI' });
    const { limit: maxOutputTokens, plan = 0 } = lines[index] ?? {};
    const how = plans[plan];
    const sent = how && converter?.request(body, parsed, { ...how, maxOutputTokens });
    if (sent?.path !== path) throw new Error(`${protocol} has no batches of ${kind}`);
    return Buffer.concat([head(form, customId, endpoint), onOneLine(sent.body), END]);
  });
  return Buffer.concat(written);
}

const END = Buffer.from('}\n');

function head(form: BatchForm, customId: string, endpoint: BatchEndpoint): Buffer {
  const id = JSON.stringify(customId);
  const text = form === 'OpenAI' ? `"method":"POST","url":"${endpoint}","body":` : '"params":';
  return Buffer.from(onOneLine(Buffer.from(`{"custom_id":${id},${text}`)));
}

interface BatchLine {
  readonly customId: string;
  readonly endpoint: BatchEndpoint;
  readonly body: Uint8Array;
  readonly parsed: JsonRecord;
}

function readLine(form: BatchForm, line: Uint8Array): BatchLine {
  const members = readMembers(line, form === 'OpenAI' ? OPENAI_MEMBERS : ANTHROPIC_MEMBERS);
  const customId = members.get('custom_id');
  const text = customId && parseSlice(customId);
  if (typeof text !== 'string' || text === '') throw malformed('custom_id', 'a text by which its result is found');
  const name = form === 'OpenAI' ? 'body' : 'params';
  const body = members.get(name);
  if (!body) throw malformed(name, 'the request');
  return { customId: text, endpoint: readEndpoint(form, members), body, parsed: parseBody(body) };
}

function readEndpoint(form: BatchForm, members: ReadonlyMap<string, Uint8Array>): BatchEndpoint {
  if (form === 'Anthropic') return MESSAGES;
  const [method, url] = ['method', 'url'].map((name) => members.get(name)).map((value) => value && parseSlice(value));
  if (method !== 'POST') throw malformed('method', '"POST"');
  const endpoint = batchEndpointOf(url);
  if (endpoint === undefined) throw malformed('url', `one of ${BATCH_ENDPOINTS.join(', ')}`);
  return endpoint;
}

/** The members of an object by name, which has no others. */
function readMembers(line: Uint8Array, names: readonly string[]): ReadonlyMap<string, Uint8Array> {
  const object = scanObject(line);
  const rest = object && asBuffer(line).toString('latin1', object.end).trim();
  if (!object || rest !== '') {
    // says what is wrong with it
    parseBody(line);
    throw new RequestFault('invalid_json', 'It is not a JSON object.');
  }
  const unknown = object.members.find(({ name }) => !names.includes(name));
  if (unknown) throw new RequestFault('invalid_request', `It has the unknown field "${unknown.name.slice(0, 100)}".`);
  const members = new Map(object.members.map((member) => [member.name, valueOf(line, member)]));
  if (members.size < object.members.length) throw new RequestFault('invalid_request', 'A field is given twice.');
  return members;
}

function valueOf(line: Uint8Array, { valueStart, valueEnd }: JsonMember): Uint8Array {
  return line.subarray(valueStart, valueEnd);
}

function parseSlice(bytes: Uint8Array): unknown {
  try {
    return parseJson(decodeUtf8(bytes));
  } catch {
    return undefined;
  }
}

/** What some readers take for the end of a line, within JSON: white space, or a character of a string. */
const LINE_BREAKS = /[\r\n\u0085\u2028\u2029]/;

/** The same JSON on one line, whichever of these characters a reader takes for a line break. */
function onOneLine(json: Uint8Array): Uint8Array {
  const text = decodeUtf8(json);
  if (!LINE_BREAKS.test(text)) return json;
  const escaped = text
    .replace(/[\r\n]/g, ' ')
    .replace(/[\u0085\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return Buffer.from(escaped);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPENING: ReadonlySet<number | undefined> = new Set([0x7b, 0x5b]);
const CLOSING: ReadonlySet<number | undefined> = new Set([0x7d, 0x5d]);
/** `{"requests":[` */
const LIST_HEAD = /^\s*\{\s*"requests"\s*:\s*\[/;
const LIST_TAIL = /^\s*\]\s*\}\s*$/;
const LONGEST_HEAD = 1024;

/**
 * The requests of Anthropic's batch as lines. Reads no values, so that any number of requests can be split. Throws
 * RequestFault where the body is anything but such a list.
 */
export function splitRequests(given: Uint8Array): Uint8Array {
  const body = asBuffer(given);
  const found = LIST_HEAD.exec(body.toString('latin1', 0, LONGEST_HEAD))?.[0];
  if (found === undefined) throw notRequests();
  const pieces: Uint8Array[] = [];
  let from = found.length;
  let end = endOfItem(body, from);
  for (; body[end] === COMMA; end = endOfItem(body, from)) {
    pieces.push(onOneLine(body.subarray(from, end)), NEW_LINE);
    from = end + 1;
  }
  pieces.push(onOneLine(body.subarray(from, end)));
  if (!LIST_TAIL.test(body.toString('latin1', end))) throw notRequests();
  return Buffer.concat(pieces);
}

/** The position of the comma after an item of a list, or of what closes the list; the length: neither comes. */
function endOfItem(body: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < body.length; at++) {
    const byte = body[at];
    if (byte === QUOTE) at = endOfString(body, at);
    else if (OPENING.has(byte)) depth++;
    else if (CLOSING.has(byte)) depth--;
    if (depth < 0 || (depth === 0 && byte === COMMA)) return at;
  }
  return body.length;
}

const NEW_LINE = Buffer.from('\n');

/** The position of a string's closing quote. */
function endOfString(text: Buffer, start: number): number {
  for (let at = text.indexOf(QUOTE, start + 1); at >= 0; at = text.indexOf(QUOTE, at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return text.length;
}

/** Anthropic's batch of these lines. */
export function joinRequests(lines: Uint8Array): Uint8Array {
  const all = linesOf(lines).flatMap((line, index) => (index === 0 ? [line] : [Buffer.from(','), line]));
  return Buffer.concat([Buffer.from('{"requests":['), ...all, Buffer.from(']}')]);
}

function notRequests(): RequestFault {
  const message = 'The body must be an object with the field "requests" and no other: a list of requests.';
  return new RequestFault('invalid_request', message, 'requests');
}
