/** Support: a bare xDS client that sends exactly what a test says, and records exactly what arrives. */
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { ChannelCredentials, ChannelOptions, ServiceError } from '@grpc/grpc-js';
import { Resource } from '#snapshot/discovery.gen.ts';
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '#snapshot/discovery.gen.ts';
import { DELTA_AGGREGATED_RESOURCES } from '#snapshot/services.ts';

/** A response in short: resources as "name@value". */
export interface Seen {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly resources: readonly string[];
  readonly removed: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
}

export interface RawClient extends AsyncDisposable {
  send(request: Partial<DeltaDiscoveryRequest>): void;
  ack(seen: Seen): void;
  nack(seen: Seen, message: string): void;
  /** Returns the next response; rejects if the stream ends first. */
  next(): Promise<Seen>;
  /** Asserts that nothing arrives: requests an unknown type, whose response would come afterwards. */
  nothing(): Promise<void>;
  /** Stops reading, so that data accumulates in the connection. */
  pause(): void;
  resume(): void;
  readonly ended: Promise<ServiceError | undefined>;
}

interface RawOptions {
  readonly credentials?: ChannelCredentials;
  readonly token?: string;
  readonly options?: ChannelOptions;
}

const PROBE = 'type.googleapis.com/test.Probe';

export function rawClient(
  port: number,
  { credentials: trust = credentials.createInsecure(), token, options = {} }: RawOptions = {},
): RawClient {
  const client = new Client(`localhost:${port}`, trust, { 'grpc.use_local_subchannel_pool': 1, ...options });
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  const { path, requestSerialize, responseDeserialize } = DELTA_AGGREGATED_RESOURCES;
  const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
  const arrived: Seen[] = [];
  const waiting: { resolve: (seen: Seen) => void; reject: (error: unknown) => void }[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<ServiceError | undefined>();
  let probes = 0;
  call.on('data', (response: DeltaDiscoveryResponse) => {
    const seen = seenOf(response);
    const waiter = waiting.shift();
    if (waiter) waiter.resolve(seen);
    else arrived.push(seen);
  });
  const over = (error?: ServiceError): void => {
    end(error);
    for (const { reject } of waiting.splice(0)) reject(error ?? new Error('the stream has ended'));
  };
  call.on('error', over);
  call.on('end', () => over());
  const send = (request: Partial<DeltaDiscoveryRequest>): void => {
    call.write({
      node: { id: 'test', cluster: '', userAgentName: '' },
      typeUrl: '',
      resourceNamesSubscribe: [],
      resourceNamesUnsubscribe: [],
      initialResourceVersions: {},
      responseNonce: '',
      errorDetail: undefined,
      ...request,
    });
  };
  const next = (): Promise<Seen> => {
    const first = arrived.shift();
    return first
      ? Promise.resolve(first)
      : new Promise((resolve, reject) => {
          waiting.push({ resolve, reject });
        });
  };
  return {
    send,
    next,
    ended,
    ack: ({ typeUrl, nonce }) => send({ typeUrl, responseNonce: nonce }),
    nack: ({ typeUrl, nonce }, message) =>
      send({ typeUrl, responseNonce: nonce, errorDetail: { code: 3, message, details: [] } }),
    async nothing() {
      probes += 1;
      const typeUrl = `${PROBE}${probes}`;
      send({ typeUrl, resourceNamesSubscribe: ['*'] });
      const seen = await next();
      if (seen.typeUrl !== typeUrl) throw new Error(`came: ${JSON.stringify(seen)}`);
      send({ typeUrl, responseNonce: seen.nonce });
    },
    pause: () => {
      call.pause();
    },
    resume: () => {
      call.resume();
    },
    async [Symbol.asyncDispose]() {
      call.cancel();
      await ended;
      client.close();
    },
  };
}

function seenOf({ typeUrl, nonce, resources, removedResources }: DeltaDiscoveryResponse): Seen {
  const decoded = resources.map((bytes) => Resource.decode(bytes));
  return {
    typeUrl,
    nonce,
    removed: removedResources,
    resources: decoded.map(({ name, resource }) => `${name}@${Buffer.from(resource?.value ?? []).toString()}`),
    versions: Object.fromEntries(decoded.map(({ name, version }) => [name, version])),
  };
}
