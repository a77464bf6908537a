/**
 * Ids and names of tool calls across protocols. Anthropic allows only letters, digits, _ and - in an id: any other id
 * is encoded, and decoded when the conversation comes back. A name that the provider would refuse is shortened, and
 * replaced again in the response.
 */
import { createHash } from 'node:crypto';

const PREFIX = 'mgw_';
const LEGAL_ID = /^[a-zA-Z0-9_-]{1,256}$/;
const ILLEGAL_IN_NAME = /[^a-zA-Z0-9_-]/g;
/** Hexadecimal digits: enough to keep the names of one request apart. */
const DIGEST_DIGITS = 12;

/** Encodes an id that Anthropic would refuse; most ids stay as they are. */
export function toToolUseId(id: string): string {
  return LEGAL_ID.test(id) && !id.startsWith(PREFIX) ? id : PREFIX + Buffer.from(id).toString('base64url');
}

/** Reverses toToolUseId. */
export function fromToolUseId(id: string): string {
  if (!id.startsWith(PREFIX)) return id;
  const original = Buffer.from(id.slice(PREFIX.length), 'base64url').toString('utf8');
  return toToolUseId(original) === id ? original : id;
}

/** OpenAI's limit of a tool call's id. */
const MAX_CALL_ID = 40;

/**
 * An id that is too long for OpenAI's protocol becomes a digest, the same in a call and in its result, in every turn of
 * the conversation; the client's own history keeps the original.
 */
export function shortenCallId(id: string): string {
  if (id.length <= MAX_CALL_ID) return id;
  return `call_${createHash('sha256')
    .update(id)
    .digest('base64url')
    .slice(0, MAX_CALL_ID - 'call_'.length)}`;
}

/** The id of a tool call for a provider with Anthropic's letters and a limit. One that is too long becomes a digest. */
export function toBoundedToolUseId(given: string, maxLength: number): string {
  const id = toToolUseId(given);
  return id.length <= maxLength ? id : PREFIX + createHash('sha256').update(id).digest('base64url');
}

const STARTS_WITH_LETTER = /^[a-zA-Z_]/;

/** The names of one request's tools. */
export class ToolNames {
  readonly #maxLength: number;
  readonly #letterFirst: boolean;
  readonly #original = new Map<string, string>();

  /**
   * `maxLength`: the longest name that the provider accepts. `letterFirst`: it refuses names that do not start with a
   * letter or an underscore.
   */
  constructor(maxLength: number, { letterFirst = false }: { readonly letterFirst?: boolean } = {}) {
    this.#maxLength = maxLength;
    this.#letterFirst = letterFirst;
  }

  /** The client's names by the sent ones, where they differ; undefined: none does. */
  get original(): ReadonlyMap<string, string> | undefined {
    return this.#original.size > 0 ? this.#original : undefined;
  }

  /** The name to send. */
  send(name: string): string {
    const start = this.#letterFirst && !STARTS_WITH_LETTER.test(name) ? '_' : '';
    if (start === '' && isLegalName(name, this.#maxLength)) return name;
    const sent = shortenName(start + name, this.#maxLength, name);
    this.#original.set(sent, name);
    return sent;
  }
}

/** A name of at most `maxLength` legal characters: the start of this one, and a digest of all that identifies it. */
export function shortenName(name: string, maxLength: number, identity = name): string {
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, DIGEST_DIGITS);
  return `${name.replace(ILLEGAL_IN_NAME, '_').slice(0, maxLength - DIGEST_DIGITS - 1)}_${digest}`;
}

/** Whether a provider accepts a tool's name of at most `maxLength` characters. */
export function isLegalName(name: string, maxLength: number): boolean {
  return name.length <= maxLength && name.search(ILLEGAL_IN_NAME) < 0;
}
