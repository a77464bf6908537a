/**
 * A follower's stream to the leader with the acknowledgements of this replica's proxies (digest-queue.ts). Digests are
 * made when the connection is writable; a broken stream starts again.
 */
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { ClientWritableStream } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { AcknowledgementDigest, Refusal } from '#snapshot/fleet.gen.ts';
import { createBackoff } from '#runtime/backoff.ts';
import { SHARE_ACKNOWLEDGEMENTS } from '#snapshot/services.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import type { CertificateSource } from '../security/certificates.ts';
import { DigestQueue } from './digest-queue.ts';

interface DigestStreamOptions {
  /** The leader's "host:port". */
  readonly address: string;
  readonly replica: string;
  readonly acknowledgements: Acknowledgements;
  /** Undefined: plaintext without a token. */
  readonly secure:
    { readonly tls: CertificateSource; readonly token: () => Promise<string>; readonly serverName: string } | undefined;
  readonly log: Pick<Logger, 'warn'>;
}

const RETRY = { firstMs: 100, longestMs: 2_000 } as const;
const CHANNEL = {
  'grpc.enable_channelz': 0,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
};

export class DigestStream {
  readonly #options: DigestStreamOptions;
  readonly #queue: DigestQueue;
  #client: Client | undefined;
  #call: ClientWritableStream<AcknowledgementDigest> | undefined;
  #blocked = false;
  readonly #backoff = createBackoff({ ...RETRY, random: Math.random });
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  /** Connects, and retries until it is stopped. */
  constructor(options: DigestStreamOptions) {
    this.#options = options;
    this.#queue = new DigestQueue(options.replica, options.acknowledgements);
    this.#connect();
  }

  changed(ids: Iterable<string>): void {
    this.#queue.changed(ids);
    this.#flush();
  }

  refused(refusal: Refusal): void {
    this.#queue.refused(refusal);
    this.#flush();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.#hangUp();
  }

  #connect(): void {
    this.#open().catch((error: unknown) => this.#lost(this.#call, error));
  }

  async #open(): Promise<void> {
    const { secure, address } = this.#options;
    const metadata = new Metadata();
    if (secure) metadata.set('authorization', `Bearer ${await secure.token()}`);
    if (this.#stopped) return;
    // the leader's address is its pod's, whereas its certificate names its service
    const named = secure
      ? { 'grpc.ssl_target_name_override': secure.serverName, 'grpc.default_authority': secure.serverName }
      : {};
    const trust = secure
      ? credentials.createSsl(Buffer.from(secure.tls.current().authorities))
      : credentials.createInsecure();
    this.#client = new Client(address, trust, { ...CHANNEL, ...named });
    const { path, requestSerialize, responseDeserialize } = SHARE_ACKNOWLEDGEMENTS;
    const call: ClientWritableStream<AcknowledgementDigest> = this.#client.makeClientStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      metadata,
      (error) => this.#lost(call, error),
    );
    this.#call = call;
    call.on('error', () => undefined); // the callback gets the error too
    call.on('drain', () => {
      this.#blocked = false;
      this.#backoff.reset();
      this.#flush();
    });
    this.#queue.begin();
    this.#blocked = false;
    this.#flush();
  }

  #lost(call: unknown, error: unknown): void {
    if (this.#stopped || call !== this.#call) return;
    this.#hangUp();
    this.#options.log.warn(
      {
        leader: this.#options.address,
        err: error,
      },
      'cannot report the state of the proxies of this replica to the leader; retrying',
    );
    this.#retry = setTimeout(() => this.#connect(), this.#backoff.next());
  }

  #hangUp(): void {
    this.#call?.cancel();
    this.#call = undefined;
    this.#client?.close();
    this.#client = undefined;
  }

  #flush(): void {
    while (this.#call && !this.#blocked) {
      const digest = this.#queue.next();
      if (!digest) return;
      this.#blocked = !this.#call.write(digest);
    }
  }
}
