/**
 * The gateway as an HTTP client of providers: each channel has its own connections, kept alive between requests. It
 * opens as many as there are requests in flight, because slots limit concurrency before a request gets here.
 * HTTP/1.1 without pipelining; redirects are not followed; TLS is verified.
 */
import type { Dispatcher } from 'undici';
import { joinPath, parseBaseUrl } from './address.ts';
import type { BaseAddress } from './address.ts';
import { decodeEventStream } from './aws-event-stream.ts';
import { openConnections } from './connections.ts';
import type { DecoderMemory } from './decompress.ts';
import { Exchange } from './exchange.ts';
import { forwardProxyOf } from './forward-proxy.ts';
import type { ForwardProxies } from './forward-proxy.ts';
import {
  redactMessages,
  redactResponse,
  secretsInHeaders,
  secretsInQuery,
  secretsInValue,
} from './redact-credentials.ts';
import { openSocket } from './open-socket.ts';
import type { SocketOptions } from './open-socket.ts';
import { requestBody } from './request-body.ts';
import { createAuthorizer } from './sign-in/authorizer.ts';
import type { Authorizer } from './sign-in/authorizer.ts';
import type { PodIdentity } from './sign-in/identity.ts';
import { SignInError } from './sign-in/token-request.ts';
import { SIGN_IN_ERROR, UpstreamFailure } from './upstream.ts';
import type {
  SocketRequest,
  SocketResult,
  UpstreamRequest,
  UpstreamResponse,
  Upstreams,
  UpstreamTarget,
} from './upstream.ts';

/** Headers that only the gateway sets: what a client sent under these names never passes. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'cookie',
  'host',
  'accept-encoding',
  'content-length',
]);

const MAX_HEADER_BYTES = 32 * 1024;
/** Common servers close an idle connection after 5 seconds. undici heeds a server's own keep-alive header instead. */
const KEEP_ALIVE_MS = 4000;
const POOL = {
  allowH2: false,
  maxHeaderSize: MAX_HEADER_BYTES,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // Exchange has the timeouts: undici's are per phase, and its body timeout starts with the head, not with the first
  // byte
  headersTimeout: 0,
  bodyTimeout: 0,
};

export interface UpstreamOptions {
  /** Certificate authorities to trust in place of Node's own, PEM. */
  readonly ca?: readonly string[];
  /** The pod's identity, clock and randomness, for channels that sign in. Default: an empty environment. */
  readonly identity?: PodIdentity;
  /** Of channels that name none themselves. Default: connections are direct. */
  readonly proxies?: ForwardProxies | undefined;
  /** Default: the decoders' memory is not bounded. */
  readonly memory?: DecoderMemory;
}

const UNBOUNDED: DecoderMemory = { take: () => true, giveBack: () => undefined };
const NO_IDENTITY: PodIdentity = { env: {}, nowMs: () => Date.now(), random: () => Math.random() };

export interface PooledUpstreams extends Upstreams {
  /** Closes the connections of all other targets once their requests have ended. `targets` is keyed by id. */
  retain(targets: ReadonlyMap<string, UpstreamTarget>): void;
}

interface Channel extends Pick<SocketOptions, 'proxies' | 'ca'> {
  readonly memory: DecoderMemory;
  readonly connections: Dispatcher;
  /** To token services; absent: direct ones, which all channels share. */
  readonly toTokenServices: Dispatcher | undefined;
  readonly base: BaseAddress;
  readonly authorizer: Authorizer | undefined;
}

/** Connects to nothing before the first request. */
export function createUpstreams(options: UpstreamOptions = {}): PooledUpstreams {
  const channels = new Map<UpstreamTarget, Channel>();
  const closing = new Set<Promise<unknown>>();
  let closed = false;

  const channelOf = (target: UpstreamTarget): Channel => {
    let channel = channels.get(target);
    if (!channel) channels.set(target, (channel = openChannel(target, options)));
    return channel;
  };
  const retire = (target: UpstreamTarget, { connections, toTokenServices }: Channel): void => {
    channels.delete(target);
    // they close after their requests, which report failures to their callers
    const done = Promise.all([connections.close(), toTokenServices?.close()])
      .catch(() => undefined)
      .finally(() => closing.delete(done));
    closing.add(done);
  };

  return {
    async send(target, request) {
      if (closed) throw new UpstreamFailure('Connect', 'the gateway is shutting down');
      return exchange(channelOf(target), target, request);
    },
    async connect(target, request) {
      if (closed) throw new UpstreamFailure('Connect', 'the gateway is shutting down');
      return connect(channelOf(target), target, request);
    },
    retain(targets) {
      for (const [target, channel] of channels) if (targets.get(target.id) !== target) retire(target, channel);
    },
    async close() {
      closed = true;
      for (const [target, channel] of channels) retire(target, channel);
      await Promise.all(closing);
    },
  };
}

function openChannel(
  target: UpstreamTarget,
  { ca, identity = NO_IDENTITY, proxies: shared, memory = UNBOUNDED }: UpstreamOptions,
): Channel {
  const base = parseAddress(target);
  const { signIn, timeouts, proxyUrl } = target;
  const proxies = proxyUrl === undefined ? shared : forwardProxyOf(proxyUrl);
  const options = { origin: base.origin, proxies, connectMs: timeouts.connectMs, ca };
  const toTokenServices = signIn && proxies && openConnections(options);
  return {
    memory,
    proxies,
    ca,
    connections: openConnections({ ...options, pool: POOL }),
    toTokenServices,
    base,
    authorizer: signIn && createAuthorizer(signIn, { ...identity, toTokenServices }),
  };
}

function parseAddress({ baseUrl }: UpstreamTarget): BaseAddress {
  try {
    return parseBaseUrl(baseUrl);
  } catch (error) {
    throw new UpstreamFailure('Connect', "the channel's base URL cannot be used", error);
  }
}

async function exchange(channel: Channel, target: UpstreamTarget, request: UpstreamRequest): Promise<UpstreamResponse> {
  const { memory, connections, base, authorizer } = channel;
  const { method, stream, signal } = request;
  if (signal.aborted) throw new UpstreamFailure('Aborted', 'the exchange was aborted', undefined, false);
  const headers = outgoingHeaders(target, request);
  const path = joinPath(base, request.path);
  const signature = authorizer && (await signIn(authorizer, { request, headers, host: hostOf(base), path }));
  Object.assign(headers, signature);
  const handler = new Exchange({ stream, timeouts: target.timeouts, signal, memory });
  connections.dispatch({ origin: base.origin, method, path, headers, body: requestBody(request.body) }, handler);
  const response = await handler.response;
  authorizer?.answered(response);
  // after the decoder, which verifies the checksum of each frame
  const decoded = decodeEventStream(response);
  return redactResponse(decoded, secretsOf(target, base, signature));
}

async function connect(channel: Channel, target: UpstreamTarget, request: SocketRequest): Promise<SocketResult> {
  const { base, authorizer, proxies, ca } = channel;
  const { signal, headers: given } = request;
  if (signal.aborted) throw new UpstreamFailure('Aborted', 'the exchange was aborted', undefined, false);
  const headers = outgoingHeaders(target, { headers: given, body: undefined });
  const path = joinPath(base, request.path);
  const unsigned = { request: { method: 'GET', body: undefined, signal } as const, headers, host: hostOf(base), path };
  const signature = authorizer && (await signIn(authorizer, unsigned));
  Object.assign(headers, signature);
  const { connectMs, firstByteMs } = target.timeouts;
  const opened = await openSocket({ base, proxies, ca, timeoutMs: connectMs + firstByteMs, headers }, path, request);
  const secrets = secretsOf(target, base, signature);
  if (!('status' in opened)) return { kind: 'Open', socket: redactMessages(opened, secrets) };
  authorizer?.answered(opened);
  return { kind: 'Refused', response: redactResponse(opened, secrets) };
}

/** All secrets that the provider was sent. */
function secretsOf(
  { credential }: UpstreamTarget,
  base: BaseAddress,
  signature: Readonly<Record<string, string>> = {},
): readonly string[] {
  const own = credential ? secretsInValue(credential.value.reveal()) : [];
  return [...own, ...secretsInQuery(base), ...secretsInHeaders(signature)];
}

function hostOf({ origin }: BaseAddress): string {
  return new URL(origin).host;
}

interface UnsignedRequest {
  readonly request: Pick<UpstreamRequest, 'method' | 'body' | 'signal'>;
  readonly headers: Readonly<Record<string, string>>;
  readonly host: string;
  readonly path: string;
}

/** The headers that sign a request in. Throws UpstreamFailure: SignIn, or Aborted while a token is waited for. */
async function signIn(
  authorizer: Authorizer,
  { request: { method, body, signal }, headers, host, path }: UnsignedRequest,
): Promise<Record<string, string>> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void =>
    aborted.reject(new UpstreamFailure('Aborted', 'the exchange was aborted', undefined, false));
  signal.addEventListener('abort', onAbort);
  const signed = { method, host, path, contentType: headers['content-type'], body };
  try {
    return await Promise.race([authorizer.authorize(signed), aborted.promise]);
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    const cause = Object.assign(new Error(error.message), { code: SIGN_IN_ERROR + error.code });
    throw new UpstreamFailure('SignIn', 'the channel has no token', cause);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/**
 * All headers of a request to this target: the client's replace the defaults, and the gateway's own replace both. Apart
 * from sign-in/, only this function reveals a secret, and secretsOf, which masks it.
 */
function outgoingHeaders(
  { credential, defaultHeaders }: UpstreamTarget,
  { headers, body }: Pick<UpstreamRequest, 'headers' | 'body'>,
): Record<string, string> {
  const outgoing = { ...defaultHeaders };
  for (const [name, value] of Object.entries(headers)) if (!OWN_HEADERS.has(name)) outgoing[name] = value;
  outgoing['accept-encoding'] = 'identity';
  if (body) outgoing['content-length'] = String(body.length);
  if (credential) outgoing[credential.header] = credential.value.reveal();
  return outgoing;
}
