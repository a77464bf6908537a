/**
 * Ids and names of tool calls across protocols. Anthropic takes letters, digits, _ and - only in an id: any other is written in
 * such letters, and read back when the conversation returns. A name that the provider would refuse is shortened, and the answer's
 * conversion is told what it stood for.
 */
import { createHash } from 'node:crypto';

const PREFIX = 'mgw_';
const LEGAL_ID = /^[a-zA-Z0-9_-]{1,256}$/;
const ILLEGAL_IN_NAME = /[^a-zA-Z0-9_-]/g;
/** Hexadecimal digits: enough for two names of one request never to meet. */
const DIGEST_DIGITS = 12;

/** As Anthropic's protocol takes it; most ids stay as they are. */
export function toToolUseId(id: string): string {
  return LEGAL_ID.test(id) && !id.startsWith(PREFIX) ? id : PREFIX + Buffer.from(id).toString('base64url');
}

/** What the id was before toToolUseId. */
export function fromToolUseId(id: string): string {
  if (!id.startsWith(PREFIX)) return id;
  const original = Buffer.from(id.slice(PREFIX.length), 'base64url').toString('utf8');
  return toToolUseId(original) === id ? original : id;
}

/** The names of one request's tools. */
export class ToolNames {
  readonly #mostLength: number;
  readonly #original = new Map<string, string>();

  /** `mostLength`: of a name, as the provider takes it. */
  constructor(mostLength: number) {
    this.#mostLength = mostLength;
  }

  /** The client's names by those that were sent, where they differ; undefined: none does. */
  get original(): ReadonlyMap<string, string> | undefined {
    return this.#original.size > 0 ? this.#original : undefined;
  }

  /** The name to send. What is no name at all is the provider's to refuse. */
  send(name: unknown): unknown {
    if (typeof name !== 'string' || (name.length <= this.#mostLength && name.search(ILLEGAL_IN_NAME) < 0)) return name;
    const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_DIGITS);
    const sent = `${name.replace(ILLEGAL_IN_NAME, '_').slice(0, this.#mostLength - DIGEST_DIGITS - 1)}_${digest}`;
    this.#original.set(sent, name);
    return sent;
  }
}
