/**
 * [P] The listener for SDKs: HTTP/1.1 and HTTP/2 on one port, TLS if the edge has a certificate. The proxies enforce
 * the limits of requests, with errors in the client's dialect; Envoy only closes connections that never send a request.
 */
import { DownstreamTlsContext, HttpConnectionManager, Listener, Router, Secret } from './envoy.gen.ts';
import type { Extension } from './envoy.gen.ts';
import { localReplies } from './local-replies.ts';
import { ADS, EXTENSIONS, NAMES, NEVER, extension, pack, seconds, uint32 } from './types.ts';

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  /** A folder on Envoy's machine with tls.crt and tls.key, which Envoy reloads when it changes; absent: plaintext. */
  readonly tlsFolder?: string | undefined;
}

const BUFFER_BYTES = 1024 * 1024;
const STREAM_WINDOW_BYTES = 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
const STREAMS_PER_CONNECTION = 1000;
/** A connection is closed after this time without a call. */
const IDLE_SECONDS = 600;
/** The time that the proxies allow for a request's headers, and for a whole request. */
const HEAD_SECONDS = 60;
const REQUEST_SECONDS = 300;
const KEEP_UNCHANGED = 1;
const PASS_THROUGH = 2;

export function buildListener({ host, port, tlsFolder }: ListenerOptions): Uint8Array {
  return Listener.encode({
    name: NAMES.listener,
    address: { socketAddress: { address: host, portValue: port } },
    perConnectionBufferLimitBytes: uint32(BUFFER_BYTES),
    filterChains: [
      {
        filters: [{ name: 'http', typedConfig: pack(EXTENSIONS.httpManager, HttpConnectionManager, MANAGER) }],
        ...(tlsFolder === undefined ? {} : { transportSocket: TLS }),
      },
    ],
  }).finish();
}

/** The certificate as paths on Envoy's machine: the operator never sees it. */
export function buildCertificate(folder: string): Uint8Array {
  return Secret.encode({
    name: NAMES.certificate,
    tlsCertificate: {
      certificateChain: { filename: `${folder}/tls.crt` },
      privateKey: { filename: `${folder}/tls.key` },
      watchedDirectory: { path: folder },
    },
  }).finish();
}

const TLS: Extension = extension(
  'envoy.transport_sockets.tls',
  pack(EXTENSIONS.downstreamTls, DownstreamTlsContext, {
    commonTlsContext: {
      alpnProtocols: ['h2', 'http/1.1'],
      tlsCertificateSdsSecretConfigs: [{ name: NAMES.certificate, sdsConfig: ADS }],
    },
  }),
);

const MANAGER: HttpConnectionManager = {
  statPrefix: NAMES.listener,
  rds: { configSource: ADS, routeConfigName: NAMES.routes },
  httpFilters: [
    {
      name: 'envoy.filters.http.router',
      typedConfig: pack(EXTENSIONS.router, Router, { suppressEnvoyHeaders: true }),
    },
  ],
  http2ProtocolOptions: {
    maxConcurrentStreams: uint32(STREAMS_PER_CONNECTION),
    initialStreamWindowSize: uint32(STREAM_WINDOW_BYTES),
    initialConnectionWindowSize: uint32(CONNECTION_WINDOW_BYTES),
    connectionKeepalive: { interval: seconds(60), timeout: seconds(20) },
  },
  commonHttpProtocolOptions: { idleTimeout: seconds(IDLE_SECONDS) },
  streamIdleTimeout: NEVER,
  requestTimeout: seconds(REQUEST_SECONDS),
  requestHeadersTimeout: seconds(HEAD_SECONDS),
  // no client is trusted: Envoy removes its x-envoy-* headers, which could set timeouts and retries. An empty list of
  // internal addresses would mean all private ones, so the list has one address that nobody has
  useRemoteAddress: { value: true },
  internalAddressConfig: { cidrRanges: [{ addressPrefix: '255.255.255.255', prefixLen: uint32(32) }] },
  // the proxies generate request ids
  generateRequestId: { value: false },
  preserveExternalRequestId: true,
  serverHeaderTransformation: PASS_THROUGH,
  normalizePath: { value: false },
  pathWithEscapedSlashesAction: KEEP_UNCHANGED,
  localReplyConfig: localReplies(),
};
