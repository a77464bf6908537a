/**
 * One request to one provider channel: the interface and its types. client.ts implements it with an undici pool per
 * channel. Nothing here knows a provider's protocol: what a protocol says of headers comes with the target.
 */

import type { HeaderAllowList } from './headers.ts';

/** A secret value that prints as [redacted] wherever it is logged, dumped or inspected. */
export class Secret {
  readonly #value: string;
  constructor(value: string) { this.#value = value; }
  /** The value itself. Only upstream/credentials.ts calls this. */
  reveal(): string { return this.#value; }
  /** Whether both hold the same value. */
  equals(other: Secret): boolean { return this.#value === other.#value; }
  toString(): string { return '[redacted]'; }
  toJSON(): string { return '[redacted]'; }
  [Symbol.for('nodejs.util.inspect.custom')](): string { return '[redacted]'; }
}

/** How long each step of an exchange may take, in milliseconds. */
export interface UpstreamTimeouts {
  readonly connectMs: number;
  /** From the start of a streaming call to the first byte of the body. */
  readonly firstByteMs: number;
  /** From the start of a call that does not stream to the last byte of the body. */
  readonly wholeMs: number;
  /** Between two bytes of a stream. */
  readonly idleMs: number;
}

/**
 * The header by which a provider knows the gateway. credentials.ts is where a further way to sign in would be added.
 */
export interface UpstreamCredential {
  /** Lower case. */
  readonly header: string;
  readonly value: Secret;
}

/** Where and how to reach a channel. A changed definition is a new object. */
/** Chat: chat completions or messages, by the protocol. */
export type ChatEndpoint = 'Chat' | 'Responses';

export interface UpstreamTarget {
  /** "route/channel" */
  readonly id: string;
  /** A label: nothing in this folder depends on it. */
  readonly protocol: 'OpenAI' | 'Anthropic';
  readonly baseUrl: string;
  /** What the provider serves for chat models; a label too. */
  readonly endpoints: ReadonlySet<ChatEndpoint>;
  /** Undefined: the provider asks for none. */
  readonly credential: UpstreamCredential | undefined;
  /** Sent on every request that does not set them itself. Names in lower case. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** The client's headers that pass. */
  readonly clientHeaders: HeaderAllowList;
  readonly timeouts: UpstreamTimeouts;
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path and query, below the base URL. */
  readonly path: string;
  /** The client's headers that may pass (see headers.ts). The target adds its credential and its default headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly stream: boolean;
  /** Aborts the exchange at any stage. */
  readonly signal: AbortSignal;
}

export interface UpstreamResponse {
  readonly status: number;
  /** Lower-case names; repeated headers are joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed bytes, with back-pressure. Throws UpstreamFailure. Leaving the loop early aborts the exchange. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Connect: nothing was sent. Reset: the connection broke after the request was sent and before the response's head.
 * Timeout: sent, and not answered in time. Cut: the body broke off. Idle: the body stopped for too long.
 * Aborted: by the signal, or because the reader left.
 */
export type UpstreamFailureKind = 'Connect' | 'Reset' | 'Timeout' | 'Cut' | 'Idle' | 'Aborted';

export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly kind: UpstreamFailureKind;
  /** At least a part of the request was written to a connection. */
  readonly sent: boolean;
  constructor(kind: UpstreamFailureKind, message: string, cause?: unknown, sent: boolean = kind !== 'Connect') {
    super(message, { cause });
    this.kind = kind;
    this.sent = sent;
  }
  /** The provider has the request and did not answer it in time, or fell silent within its response. */
  get timedOut(): boolean { return this.sent && (this.kind === 'Timeout' || this.kind === 'Idle'); }
}

/** The error code of a failed connection, such as ENOTFOUND or CERT_HAS_EXPIRED; "TIMEOUT" without one. */
export function connectErrorOf(failure: UpstreamFailure): string {
  for (let error = failure.cause; error instanceof Error; error = error.cause)
    if ('code' in error && typeof error.code === 'string') return error.code;
  return 'TIMEOUT';
}

export interface Upstreams {
  /** Resolves with the response as soon as its head is there. Rejects with UpstreamFailure only. */
  send(target: UpstreamTarget, request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Refuses further requests; resolves when those in flight have ended. */
  close(): Promise<void>;
}
