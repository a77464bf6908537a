/**
 * Masks the credential of a request wherever its provider echoes it: error messages, events, comments, headers. Only
 * the exact value is known to be a secret, so it is looked for in the bytes, as itself and in the encodings that
 * programs write it in. The mask has the value's length, so that lengths, ranges and binary frames stay right.
 */
import type { MessageSocket } from '../message-socket.ts';
import type { BaseAddress } from './address.ts';
import type { UpstreamResponse } from './upstream.ts';

type Needles = readonly Buffer[];
type Read = IteratorResult<Uint8Array>;

const MASK = '*';
/** Shorter texts are placeholders, and so are those without a digit up to LONG: models may write "not-needed". */
const MIN_LENGTH = 8;
const LONG = 20;

/** Parameters of a base URL that hold a key, not a version. */
const SECRET_PARAMETER = /(?:key|token|secret|signature|sig|password|code)$/i;
const SECRET_HEADER = /^(?:authorization|x-amz-security-token)$/;

/** The secrets in the headers that sign a request in: bearer tokens, AWS's access key id, session token, signature. */
export function secretsInHeaders(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers)
    .filter(([name]) => SECRET_HEADER.test(name))
    .flatMap(([, value]) => secretsInValue(value));
}

/** The secrets in one header's value, such as `Bearer …`, or the value itself. */
export function secretsInValue(value: string): readonly string[] {
  const signed = /Credential=([^/,]+)\/.*Signature=([\da-f]+)/.exec(value);
  return signed ? signed.slice(1) : [value.slice(value.lastIndexOf(' ') + 1)];
}

/** The secrets that a base URL has in its query. */
export function secretsInQuery({ query }: BaseAddress): readonly string[] {
  return [...new URLSearchParams(query)].filter(([name]) => SECRET_PARAMETER.test(name)).map(([, value]) => value);
}

/** Returns the response with every one of these secrets masked in its headers and its body. */
export function redactResponse(response: UpstreamResponse, secrets: readonly string[]): UpstreamResponse {
  const needles = secrets.filter(isSecret).flatMap(needlesOf);
  if (needles.length === 0) return response;
  const headers = Object.entries(response.headers).map(([name, value]) => [name, redactText(value, needles)] as const);
  return { ...response, headers: Object.fromEntries(headers), body: new RedactedBody(response.body, needles) };
}

/** The socket with every one of these secrets masked in what it receives. */
export function redactMessages(socket: MessageSocket, secrets: readonly string[]): MessageSocket {
  const needles = secrets.filter(isSecret).flatMap(needlesOf);
  if (needles.length === 0) return socket;
  return {
    async *messages() {
      for await (const message of socket.messages()) yield mask(bufferOf(message), needles);
    },
    send: (message) => socket.send(message),
    get closed() {
      return socket.closed && { ...socket.closed, reason: redactText(socket.closed.reason, needles) };
    },
    close: (code, reason) => socket.close(code, reason),
  };
}

function isSecret(value: string): boolean {
  return value.length >= LONG || (value.length >= MIN_LENGTH && /\d/.test(value));
}

/** The value as itself, in a URL, in Base64, and in JSON of writers that escape slashes or what HTML reserves. */
function needlesOf(secret: string): Buffer[] {
  const quoted = JSON.stringify(secret).slice(1, -1);
  const forms = [
    secret,
    quoted,
    quoted.replaceAll('/', String.raw`\/`),
    quoted.replaceAll('=', String.raw`\u003d`),
    encodeURIComponent(secret),
    base64Of(Buffer.from(secret)),
  ];
  return [...new Set(forms)].sort((a, b) => b.length - a.length).map((form) => Buffer.from(form));
}

/** Without the last characters, which depend on what follows. */
function base64Of(bytes: Buffer): string {
  return bytes.subarray(0, bytes.length - (bytes.length % 3)).toString('base64');
}

function redactText(text: string, needles: Needles): string {
  return needles.reduce((redacted, needle) => redacted.replaceAll(needle.toString(), MASK.repeat(needle.length)), text);
}

/** Holds back the end of a piece only while it may be the beginning of a secret. */
class RedactedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #inner: AsyncIterator<Uint8Array>;
  readonly #needles: Needles;
  #held: Uint8Array = new Uint8Array(0);

  constructor(body: AsyncIterable<Uint8Array>, needles: Needles) {
    this.#inner = body[Symbol.asyncIterator]();
    this.#needles = needles;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Read> {
    for (;;) {
      const read = await this.#inner.next();
      if (read.done === true) return this.#rest();
      const bytes = this.#held.length === 0 ? bufferOf(read.value) : Buffer.concat([this.#held, read.value]);
      const clean = mask(bytes, this.#needles);
      const end = clean.length - heldBack(clean, this.#needles);
      this.#held = clean.subarray(end);
      if (end > 0) return { done: false, value: clean.subarray(0, end) };
    }
  }

  async return(): Promise<Read> {
    return (await this.#inner.return?.()) ?? { done: true, value: undefined };
  }

  #rest(): Read {
    const rest = this.#held;
    if (rest.length === 0) return { done: true, value: undefined };
    this.#held = new Uint8Array(0);
    return { done: false, value: rest };
  }
}

/** A view of the same bytes. */
function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Returns the bytes themselves if they contain no secret, else a masked copy. */
function mask(bytes: Buffer, needles: Needles): Buffer {
  let masked = bytes;
  for (const needle of needles) {
    for (let at = masked.indexOf(needle); at >= 0; at = masked.indexOf(needle, at + needle.length)) {
      if (masked === bytes) masked = Buffer.from(bytes);
      masked.fill(MASK, at, at + needle.length);
    }
  }
  return masked;
}

/** How many bytes at the end may be the beginning of a secret. */
function heldBack(bytes: Buffer, needles: Needles): number {
  let most = 0;
  for (const needle of needles) {
    const [first] = needle;
    if (first === undefined) continue;
    const from = Math.max(0, bytes.length - needle.length + 1);
    for (let at = bytes.indexOf(first, from); at >= 0 && bytes.length - at > most; at = bytes.indexOf(first, at + 1))
      if (bytes.compare(needle, 0, bytes.length - at, at) === 0) most = bytes.length - at;
  }
  return most;
}
