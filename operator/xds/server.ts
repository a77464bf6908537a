/**
 * The gRPC server: authorization, streams with back-pressure, keepalive, and graceful shutdown. session.ts decides what
 * is sent.
 */
import { experimental, Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { Metadata, sendUnaryData, ServerDuplexStream, ServerReadableStream, ServerUnaryCall } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '#snapshot/discovery.gen.ts';
import type { AcknowledgementDigest, DigestReceipt, RefusalReceipt, RefusalReport } from '#snapshot/fleet.gen.ts';
import { DELTA_AGGREGATED_RESOURCES, REPORT_REFUSALS, SHARE_ACKNOWLEDGEMENTS } from '#snapshot/services.ts';
import type { Authenticate, Identity } from './authenticate.ts';
import type { CertificateSource } from '../security/certificates.ts';

/** The stream of one client. */
export interface ClientStream {
  receive(request: DeltaDiscoveryRequest): void;
  /** Call it when the connection is writable again. */
  drained(): void;
  closed(): void;
}

/** Writes to a stream. */
export interface DiscoveryWriter {
  /** Returns false if no more may be written until drained(). */
  write(response: DeltaDiscoveryResponse): boolean;
  /** Ends the stream with an error that the client caused. */
  refuse(message: string): void;
}

export interface Peer {
  /** Undefined if clients do not authenticate. */
  readonly identity: Identity | undefined;
  /** Address and port. */
  readonly peer: string;
}

export interface ServerHandlers {
  connect(caller: Peer, writer: DiscoveryWriter): ClientStream;
  refusals(report: RefusalReport): void;
  /** A replica reports about its proxies until `ended`, or until `end` is called. */
  replica(end: () => void): { heard(digest: AcknowledgementDigest): void; ended(): void };
}

/** Decides who may connect; undefined: anybody. */
export interface AccessPolicy {
  readonly authenticate: Authenticate;
  readonly namespace: string;
  readonly serviceAccounts?: { readonly proxies?: readonly string[]; readonly operators?: readonly string[] };
}

interface ServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly admission: AccessPolicy | undefined;
  /** Undefined: plaintext. */
  readonly tls: CertificateSource | undefined;
  readonly handlers: ServerHandlers;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>;
  /** The interval of keep-alive pings on a silent connection. */
  readonly keepaliveMs?: number;
}

export interface RunningServer {
  readonly port: number;
  stop(): Promise<void>;
}

class Refusal extends Error {
  readonly code: status;
  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

const KEEPALIVE_MS = 30_000;
/** After this time a proxy reconnects, so that replicas that were added later get their share. */
const CONNECTION_AGE_MS = 30 * 60_000;
const CONNECTION_GRACE_MS = 30_000;
const STOP_MS = 5_000;
const MAX_RECEIVED_BYTES = 32 * 1024 * 1024;

type Role = 'proxies' | 'operators';

/** Resolves once it listens. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { handlers, log, keepaliveMs = KEEPALIVE_MS } = options;
  const server = new Server({
    'grpc.keepalive_time_ms': keepaliveMs,
    'grpc.keepalive_timeout_ms': Math.min(10_000, keepaliveMs),
    'grpc.max_connection_age_ms': CONNECTION_AGE_MS,
    'grpc.max_connection_age_grace_ms': CONNECTION_GRACE_MS,
    'grpc.max_receive_message_length': MAX_RECEIVED_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc.enable_channelz': 0,
  });
  const admit = (metadata: Metadata, role: Role): Promise<Identity | undefined> =>
    admitted(metadata, role, options.admission);
  const ends = new Set<() => void>();
  server.addService(
    { DeltaAggregatedResources: DELTA_AGGREGATED_RESOURCES },
    {
      DeltaAggregatedResources(call: ServerDuplexStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>) {
        guard(call);
        admit(call.metadata, 'proxies').then(
          (identity) => serve(call, identity, { handlers, ends }),
          (error: unknown) => refuse(call, error, log),
        );
      },
    },
  );
  server.addService(
    { ReportRefusals: REPORT_REFUSALS, ShareAcknowledgements: SHARE_ACKNOWLEDGEMENTS },
    {
      ReportRefusals(call: ServerUnaryCall<RefusalReport, RefusalReceipt>, done: sendUnaryData<RefusalReceipt>) {
        admit(call.metadata, 'proxies').then(
          () => {
            handlers.refusals(call.request);
            done(null, {});
          },
          (error: unknown) => done(statusOf(error, call.getPeer(), log)),
        );
      },
      ShareAcknowledgements(
        call: ServerReadableStream<AcknowledgementDigest, DigestReceipt>,
        done: sendUnaryData<DigestReceipt>,
      ) {
        guard(call);
        admit(call.metadata, 'operators').then(
          () => listen(call, done, { handlers, ends }),
          (error: unknown) => done(statusOf(error, call.getPeer(), log)),
        );
      },
    },
  );
  const port = await bind(server, options);
  return {
    port,
    async stop() {
      // streams never end by themselves
      for (const end of ends) end();
      const stopped = Promise.withResolvers<void>();
      const forced = setTimeout(() => server.forceShutdown(), STOP_MS);
      server.tryShutdown(() => stopped.resolve());
      await stopped.promise;
      clearTimeout(forced);
    },
  };
}

interface Serving {
  readonly handlers: ServerHandlers;
  /** Functions that end the streams when the server stops. */
  readonly ends: Set<() => void>;
}

function serve(
  call: ServerDuplexStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>,
  identity: Identity | undefined,
  { handlers, ends }: Serving,
): void {
  if (call.cancelled) return;
  let open = true;
  const stream = handlers.connect(
    { identity, peer: call.getPeer() },
    {
      write: (response) => !open || call.write(response),
      refuse: (message) => call.emit('error', { code: status.INVALID_ARGUMENT, details: message }),
    },
  );
  const close = (): void => {
    if (!open) return;
    open = false;
    ends.delete(end);
    stream.closed();
  };
  const end = (): void => {
    close();
    call.emit('error', { code: status.UNAVAILABLE, details: 'this replica is shutting down' });
  };
  ends.add(end);
  call.on('data', (request: DeltaDiscoveryRequest) => {
    if (open) stream.receive(request);
  });
  call.on('drain', () => {
    if (open) stream.drained();
  });
  call.on('end', () => {
    close();
    call.end();
  });
  for (const event of ['cancelled', 'error', 'close']) call.on(event, close);
}

function listen(
  call: ServerReadableStream<AcknowledgementDigest, DigestReceipt>,
  done: sendUnaryData<DigestReceipt>,
  { handlers, ends }: Serving,
): void {
  if (call.cancelled) return;
  let open = true;
  const endWith = (details: string): void => {
    if (!open) return;
    close();
    done({ code: status.UNAVAILABLE, details });
  };
  const replica = handlers.replica(() => endWith('replaced by another stream of the same replica'));
  const end = (): void => endWith('this replica is shutting down');
  const close = (): void => {
    if (!open) return;
    open = false;
    ends.delete(end);
    replica.ended();
  };
  ends.add(end);
  call.on('data', (digest: AcknowledgementDigest) => {
    if (open) replica.heard(digest);
  });
  call.on('end', () => {
    if (open) done(null, {});
    close();
  });
  for (const event of ['cancelled', 'error', 'close']) call.on(event, close);
}

/** Ignores the error of a connection that breaks while its client is being authenticated. */
function guard(call: { on(event: 'error', listener: () => void): unknown }): void {
  call.on('error', () => undefined);
}

function refuse(
  call: ServerDuplexStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>,
  error: unknown,
  log: ServerOptions['log'],
): void {
  if (!call.cancelled) call.emit('error', statusOf(error, call.getPeer(), log));
}

function statusOf(error: unknown, peer: string, log: ServerOptions['log']): { code: status; details: string } {
  if (error instanceof Refusal) {
    log.warn({ peer, reason: error.message }, 'a client of the xDS server was denied');
    return { code: error.code, details: error.message };
  }
  log.error({ peer, err: error }, 'a call of the xDS server failed: internal error');
  return { code: status.INTERNAL, details: 'internal error' };
}

/** The caller's identity; rejects with a Refusal. */
async function admitted(
  metadata: Metadata,
  role: Role,
  admission: AccessPolicy | undefined,
): Promise<Identity | undefined> {
  if (!admission) return undefined;
  const token = tokenOf(metadata);
  const answer = await admission.authenticate(token);
  if ('refused' in answer)
    throw new Refusal(answer.refused === 'Unavailable' ? status.UNAVAILABLE : status.UNAUTHENTICATED, answer.message);
  if (answer.namespace !== admission.namespace)
    throw new Refusal(
      status.PERMISSION_DENIED,
      `this server serves the namespace ${admission.namespace}, not ${answer.namespace}`,
    );
  const names = admission.serviceAccounts?.[role];
  if (names && !names.includes(answer.serviceAccount))
    throw new Refusal(
      status.PERMISSION_DENIED,
      `the ServiceAccount ${answer.serviceAccount} is not allowed; add it to the flag --xds-${role} of the ` +
        'operator',
    );
  return answer;
}

function tokenOf(metadata: Metadata): string {
  const [header = ''] = metadata.get('authorization');
  const token = /^Bearer\s+(\S+)$/i.exec(header.toString())?.[1];
  if (token === undefined)
    throw new Refusal(status.UNAUTHENTICATED, 'a ServiceAccount token is required: authorization: Bearer …');
  return token;
}

function bind(server: Server, { listen: { host, port }, tls }: ServerOptions): Promise<number> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const credentials = tls ? credentialsOf(tls) : ServerCredentials.createInsecure();
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
}

/**
 * Certificates that can be replaced while the server runs: new connections get the new ones, open connections keep
 * theirs.
 */
function credentialsOf(tls: CertificateSource): ServerCredentials {
  const stops = new Map<unknown, () => void>();
  const provider: experimental.CertificateProvider = {
    addIdentityCertificateListener(listener) {
      const tell = ({ certificate, key }: { certificate: string; key: string }): void =>
        listener({ certificate: Buffer.from(certificate), privateKey: Buffer.from(key) });
      stops.set(listener, tls.onChange(tell));
      // later, because the server registers its listener only after this call
      queueMicrotask(() => tell(tls.current()));
    },
    removeIdentityCertificateListener(listener) {
      stops.get(listener)?.();
      stops.delete(listener);
    },
    addCaCertificateListener: () => undefined,
    removeCaCertificateListener: () => undefined,
  };
  // the first argument is the server's certificate, the second would be for clients' certificates; the library's types
  // name them the other way round
  return experimental.createCertificateProviderServerCredentials(provider, null, false);
}
