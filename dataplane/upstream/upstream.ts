/**
 * One request to one provider channel: the interface and its types. client.ts implements it with an undici pool per
 * channel. Nothing here depends on a provider's protocol: rules for headers come with the target.
 */

import type { MessageSocket } from '../message-socket.ts';
import type { HeaderAllowList } from './headers.ts';

/** A secret value that prints as [redacted] wherever it is logged, dumped or inspected. */
export class SecretValue {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  /** The value itself. Only upstream/client.ts and upstream/sign-in/ call this. */
  reveal(): string {
    return this.#value;
  }
  /** Whether both hold the same value. */
  equals(other: SecretValue): boolean {
    return this.#value === other.#value;
  }
  toString(): string {
    return '[redacted]';
  }
  toJSON(): string {
    return '[redacted]';
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[redacted]';
  }
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

/** The header that carries a channel's key. Other ways to authenticate belong in sign-in/. */
export interface UpstreamCredential {
  /** Lower case. */
  readonly header: string;
  readonly value: SecretValue;
}

/** How a channel authenticates if a fixed header is not enough; without a credential, by the pod's own identity. */
export type SignIn = { readonly credential: SecretValue | undefined } &
  /** `credential`: JSON of accessKeyId, secretAccessKey and perhaps sessionToken. */
  (
    | { readonly way: 'AwsSigV4'; readonly region: string; readonly service: string }
    /** `credential`: the JSON file of a service account. */
    | { readonly way: 'GoogleOAuth' }
    /** `credential`: a client secret. Empty strings: as the pod's environment says. */
    | {
        readonly way: 'AzureEntra';
        readonly tenantId: string;
        readonly clientId: string;
        readonly scope: string;
        readonly authority: string;
      }
  );

/** As dataplane/protocol/platforms has them. */
interface BetaRules {
  readonly drop: readonly string[];
  readonly rename: Readonly<Record<string, string>>;
  readonly allow: readonly string[];
}

/** How requests are adapted to a cloud (dataplane/protocol/platforms). */
export type PlatformName = 'Direct' | 'AzureDeployments' | 'BedrockInvoke' | 'VertexPublisher';

/** Chat: chat completions or messages, by the protocol. Batches: files and batches of the provider's own requests. */
export type ChatEndpoint = 'Chat' | 'Responses' | 'Batches';

/** Where and how to reach a channel. A changed definition is a new object. */
export interface UpstreamTarget {
  /** "route/channel" */
  readonly id: string;
  /** A label: nothing in this folder depends on it. */
  readonly protocol: 'OpenAI' | 'Anthropic' | 'BedrockConverse' | 'Gemini';
  /** Absent: Direct. A label, like `protocol`. */
  readonly platform?: PlatformName;
  /** For AzureDeployments only. */
  readonly apiVersion?: string;
  /** The channel's rules for flags of anthropic-beta; a label, like `protocol`. */
  readonly betas?: BetaRules | undefined;
  readonly baseUrl: string;
  /** The forward proxy to the provider and its token service, without a credential; undefined: as the environment says. */
  readonly proxyUrl?: string | undefined;
  /** What the provider serves for chat models; a label, like `protocol`. */
  readonly endpoints: ReadonlySet<ChatEndpoint>;
  /** Undefined: the provider asks for none. */
  readonly credential: UpstreamCredential | undefined;
  /** Instead of a credential. */
  readonly signIn?: SignIn | undefined;
  /** Sent on every request that does not set them itself. Names in lower case. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** The client's headers that pass. */
  readonly clientHeaders: HeaderAllowList;
  readonly timeouts: UpstreamTimeouts;
}

/** The names that a target's id consists of. */
export function namesOf({ id }: UpstreamTarget): { readonly route: string; readonly channel: string } {
  const slash = id.indexOf('/');
  return { route: id.slice(0, slash), channel: id.slice(slash + 1) };
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
 * Aborted: by the signal, or because the reader left. SignIn: no token could be had, and nothing was sent.
 */
export type UpstreamFailureKind = 'Connect' | 'SignIn' | 'Reset' | 'Timeout' | 'Cut' | 'Idle' | 'Aborted';

export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly kind: UpstreamFailureKind;
  /** At least a part of the request was written to a connection. */
  readonly sent: boolean;
  constructor(
    kind: UpstreamFailureKind,
    message: string,
    cause?: unknown,
    sent: boolean = kind !== 'Connect' && kind !== 'SignIn',
  ) {
    super(message, { cause });
    this.kind = kind;
    this.sent = sent;
  }
  /** The provider has the request and did not answer it in time, or fell silent within its response. */
  get timedOut(): boolean {
    return this.sent && (this.kind === 'Timeout' || this.kind === 'Idle');
  }
}

/** How the error code of a failed sign-in begins. */
export const SIGN_IN_ERROR = 'SIGN_IN:';

/**
 * The error code of a failed connection, such as ENOTFOUND or CERT_HAS_EXPIRED; "TIMEOUT" without one. The code of a
 * failed sign-in begins with SIGN_IN_ERROR.
 */
export function connectErrorOf(failure: UpstreamFailure): string {
  for (let error = failure.cause; error instanceof Error; error = error.cause)
    if ('code' in error && typeof error.code === 'string') return error.code;
  return 'TIMEOUT';
}

/** A WebSocket to a provider. */
export interface SocketRequest extends Pick<UpstreamRequest, 'path' | 'headers' | 'signal'> {
  /** The maximum size of a message; a larger one closes the socket. */
  readonly maxMessageBytes: number;
}

/** The provider takes the WebSocket, or refuses it with a response. */
export type SocketResult =
  | { readonly kind: 'Open'; readonly socket: MessageSocket }
  | { readonly kind: 'Refused'; readonly response: UpstreamResponse };

export interface Upstreams {
  /** Resolves with the response as soon as its head is there. Rejects with UpstreamFailure only. */
  send(target: UpstreamTarget, request: UpstreamRequest): Promise<UpstreamResponse>;
  /** Opens a WebSocket. Rejects with UpstreamFailure only. */
  connect(target: UpstreamTarget, request: SocketRequest): Promise<SocketResult>;
  /** Refuses further requests; resolves when those in flight have ended. */
  close(): Promise<void>;
}
