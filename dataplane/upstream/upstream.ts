/**
 * One call to one provider channel: interface only. client.ts implements it with an undici pool per channel.
 */

/** A secret value that prints as [redacted] wherever it is logged, dumped or inspected. */
export class Secret {
  readonly #value: string;
  constructor(value: string) { this.#value = value; }
  /** The value itself: only upstream/credentials asks for it. */
  reveal(): string { return this.#value; }
  /** Same value, without showing it. */
  equals(other: Secret): boolean { return this.#value === other.#value; }
  toString(): string { return '[redacted]'; }
  toJSON(): string { return '[redacted]'; }
  [Symbol.for('nodejs.util.inspect.custom')](): string { return '[redacted]'; }
}

export interface UpstreamTimeouts {
  readonly connectMs: number;
  /** Until the first byte of a stream's body. */
  readonly firstByteMs: number;
  /** Until the last byte of a call that does not stream. */
  readonly wholeMs: number;
  /** Between two bytes of a stream. */
  readonly idleMs: number;
}

/** Where and how to reach a channel. `id` is "route/channel"; a changed definition is a new object. */
export interface UpstreamTarget {
  readonly id: string;
  readonly protocol: 'OpenAI' | 'Anthropic';
  readonly baseUrl: string;
  readonly apiKey: Secret | undefined;
  readonly timeouts: UpstreamTimeouts;
}

/** What an exchange asks of an abort signal: an AbortSignal is one, and stop.ts has one that costs less. */
export interface AbortWatch {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: { handleEvent(): void }, options: { readonly once: true }): void;
  removeEventListener(type: 'abort', listener: { handleEvent(): void }): void;
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below the base URL, with its query. */
  readonly path: string;
  /** The client's headers that may travel on (see headers.ts); credentials are added by the client. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  readonly stream: boolean;
  /** Aborts the exchange at any stage. */
  readonly signal: AbortWatch;
}

export interface UpstreamResponse {
  readonly status: number;
  /** Lower-case names; repeated ones joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed bytes as they come, with back-pressure. Throws UpstreamFailure. Leaving the loop early aborts the exchange. */
  readonly body: UpstreamAnswer;
}

export interface UpstreamAnswer extends AsyncIterable<Uint8Array> {
  /** All that is left, if that is here already: nothing need be waited for then. Undefined, or absent: it is to be read on. */
  takeRest?(): Uint8Array | undefined;
}

/**
 * Connect: nothing was sent. Reset: broken after it was sent, before an answer's head. Timeout: sent, and no answer in time.
 * Cut: broken within the body. Idle: silent too long within the body. Aborted: by the signal.
 */
export type UpstreamFailureKind = 'Connect' | 'Reset' | 'Timeout' | 'Cut' | 'Idle' | 'Aborted';

export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly kind: UpstreamFailureKind;
  /** The request had begun to leave. */
  readonly sent: boolean;
  constructor(kind: UpstreamFailureKind, message: string, cause?: unknown, sent: boolean = kind !== 'Connect') {
    super(message, { cause });
    this.kind = kind;
    this.sent = sent;
  }
}

export interface Upstreams {
  /** Resolves with the answer's head. Rejects with UpstreamFailure only. */
  send(target: UpstreamTarget, request: UpstreamRequest): Promise<UpstreamResponse>;
  close(): Promise<void>;
}
