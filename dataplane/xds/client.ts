/**
 * The xDS client of a proxy: it keeps a stream to an operator replica, and continues with the last good state while
 * there is none. stream.ts implements the protocol; inventory.ts keeps the resources.
 */
import { readFile } from 'node:fs/promises';
import type { ClientDuplexStream } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import { SYSTEM_CLOCK } from '../clock.ts';
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '#snapshot/discovery.gen.ts';
import { pauseAfter } from '#runtime/backoff.ts';
import type { Refusal } from '#snapshot/fleet.gen.ts';
import { DELTA_AGGREGATED_RESOURCES, REPORT_REFUSALS } from '#snapshot/services.ts';
import type { ValidConfig } from '../state/compile-edit.ts';
import { openGrpcChannel } from './grpc-channel.ts';
import type { GrpcChannel, GrpcChannelOptions } from './grpc-channel.ts';
import { cacheKey, readConfigCache, writeConfigCache } from './config-cache.ts';
import { Inventory } from './inventory.ts';
import { createRefusalReport } from './refusal-report.ts';
import { XdsStream } from './stream.ts';

export interface XdsClientOptions extends GrpcChannelOptions {
  /** The name of this proxy, if its token contains none. */
  readonly nodeId: string;
  readonly version: string;
  /** Puts a configuration in force. */
  readonly install: (config: ValidConfig) => void;
  /**
   * The encrypted file of the last good configuration, which the proxy uses at its start until an operator responds.
   */
  readonly cache?: { readonly file: string; readonly keyFile: string };
  readonly log: Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>;
  readonly random?: () => number;
  /** This process enforces nothing, so that operators do not count it among their proxies. */
  readonly observer?: boolean;
  /** Called after each complete round of updates. */
  readonly onRound?: () => void;
}

export interface XdsStats {
  readonly connected: boolean;
  readonly connections: number;
  readonly lastUpdateMs: number;
  readonly resources: number;
  readonly refused: number;
  /** A digest of all objects and their versions: proxies with the same digest have the same configuration. */
  readonly digest: string;
}

export interface XdsClient {
  /** An operator is connected. */
  readonly connected: boolean;
  figures(): XdsStats;
  /** Reports that a provider refuses the credential or the model name of a ModelRoute. */
  reportRefusal(refusal: Refusal): void;
  /** How long this process has had no contact with an operator; 0 while it is connected. */
  configAgeMs(): number;
  /** Ends the stream. The configuration stays in force. */
  stop(): Promise<void>;
}

const REFUSED_OBJECT = 'rejected an object of the configuration';
const RETRY = { firstMs: 100, longestMs: 10_000 } as const;
const REPORT_TIMEOUT_MS = 5_000;
const WRITE_CACHE_AFTER_MS = 1_000;
const WRITE_CACHE_EVERY_MS = 30_000;

/** Reads the cache, if there is one, and starts to connect. */
export async function startXdsClient(options: XdsClientOptions): Promise<XdsClient> {
  const client = new RunningClient(options);
  await client.begin();
  return client;
}

type Call = ClientDuplexStream<DeltaDiscoveryRequest, DeltaDiscoveryResponse>;

class RunningClient implements XdsClient {
  readonly #options: XdsClientOptions;
  readonly #inventory = new Inventory();
  readonly #report: (refusal: Refusal) => void;
  #channel: GrpcChannel | undefined;
  #call: Call | undefined;
  #connected = false;
  #connections = 0;
  #lastUpdateMs = 0;
  /** When an operator was last connected; before the first contact, the start of this process. */
  #contactMs = Date.now();
  #attempts = 0;
  #failures = 0;
  /** True if all objects must be fetched again, because the two sides have different ones. */
  #fresh = false;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;
  #cacheKey: Buffer | undefined;
  #cacheTimer: NodeJS.Timeout | undefined;
  #cacheWritten: Promise<void> = Promise.resolve();
  #cacheWrittenMs = 0;

  constructor(options: XdsClientOptions) {
    this.#options = options;
    this.#report = createRefusalReport({
      send: (refusals) => this.#sendRefusals(refusals),
      clock: SYSTEM_CLOCK,
      log: options.log,
    });
  }

  async begin(): Promise<void> {
    const { cache, log, install } = this.#options;
    if (cache) {
      this.#cacheKey = cacheKey(await readFile(cache.keyFile));
      try {
        if (await readConfigCache(cache.file, this.#cacheKey, this.#inventory)) {
          const { config } = this.#inventory.takeRound();
          if (config) install({ snapshot: config.snapshot });
          const fields = { objects: this.#inventory.size };
          log.info(fields, 'the last good configuration is in effect until an operator is reachable');
        }
      } catch (error) {
        log.error({ err: error, file: cache.file }, 'cannot use the configuration cache; waiting for an operator');
      }
    }
    void this.#connect();
  }

  get connected(): boolean {
    return this.#connected;
  }

  figures(): XdsStats {
    const { size, refused, digest } = this.#inventory;
    return {
      connected: this.#connected,
      connections: this.#connections,
      lastUpdateMs: this.#connected ? Date.now() : this.#lastUpdateMs,
      resources: size,
      refused,
      digest: digest.text,
    };
  }

  configAgeMs(): number {
    return this.#connected ? 0 : Date.now() - this.#contactMs;
  }

  reportRefusal(refusal: Refusal): void {
    this.#report(refusal);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.#hangUp();
    const pending = this.#cacheTimer !== undefined;
    clearTimeout(this.#cacheTimer);
    if (pending) this.#writeCache();
    await this.#cacheWritten;
  }

  async #connect(): Promise<void> {
    try {
      const channel = await openGrpcChannel(this.#options, this.#attempts);
      this.#attempts += 1;
      if (this.#stopped) return channel.client.close();
      this.#channel = channel;
      this.#open(channel);
    } catch (error) {
      this.#lost(undefined, error);
    }
  }

  #open({ client, metadata, address, connectMs }: GrpcChannel): void {
    const { path, requestSerialize, responseDeserialize } = DELTA_AGGREGATED_RESOURCES;
    const call: Call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    this.#call = call;
    const { nodeId, version, install, log, observer = false } = this.#options;
    const fresh = this.#fresh;
    const stream = new XdsStream({
      inventory: this.#inventory,
      nodeId,
      observer,
      version,
      fresh,
      install,
      send: (request) => {
        if (this.#call === call) call.write(request);
      },
      onRound: (consistent) => this.#round(consistent, fresh, address),
      onRefused: (field, name, message) => {
        log.warn({ kind: field, name, message }, `${REFUSED_OBJECT}; its last good version stays in effect`);
      },
      soon: (run) =>
        setImmediate(() => {
          if (this.#call === call) run();
        }),
    });
    call.on('data', (response: DeltaDiscoveryResponse) => {
      if (this.#call !== call) return;
      try {
        stream.receive(response);
      } catch (error) {
        this.#lost(call, error);
      }
    });
    call.on('error', (error) => this.#lost(call, error));
    // a server that accepts the connection and then says nothing gets no pings yet
    client.waitForReady(Date.now() + connectMs, (error) => {
      if (error) this.#lost(call, error);
    });
    call.on('end', () => this.#lost(call, new Error('the operator ended the stream')));
    stream.begin();
  }

  #round(consistent: boolean, fresh: boolean, address: string): void {
    const { log, onRound } = this.#options;
    this.#failures = 0;
    if (!this.#connected) {
      this.#connected = true;
      this.#connections += 1;
      log.info({ operator: address, objects: this.#inventory.size }, 'the configuration is complete');
    }
    this.#cacheSoon();
    onRound?.();
    if (consistent) {
      this.#fresh = false;
      return;
    }
    const difference = 'the objects of this proxy differ from those of the operator';
    const fields = { operator: address, objects: this.#inventory.size };
    log.error(
      fields,
      fresh ? `${difference}, even after fetching all objects` : `${difference}; fetching all objects again`,
    );
    if (fresh) return;
    this.#fresh = true;
    this.#lost(this.#call, new Error('fetching all objects again'));
  }

  #lost(call: Call | undefined, error: unknown): void {
    if (this.#stopped || call !== this.#call) return;
    if (this.#connected) this.#lastUpdateMs = this.#contactMs = Date.now();
    this.#connected = false;
    this.#hangUp();
    const { random = Math.random, log } = this.#options;
    // unlike createBackoff, it also lengthens pauses: all proxies lose an operator at the same moment
    const waitMs = pauseAfter(this.#failures, RETRY) * (0.5 + random());
    this.#failures += 1;
    const fields = { err: error, waitMs: Math.round(waitMs) };
    log.warn(fields, 'no operator is reachable; the last good configuration stays in effect; reconnecting');
    this.#retry = setTimeout(() => void this.#connect(), waitMs);
  }

  #hangUp(): void {
    this.#call?.cancel();
    this.#call = undefined;
    this.#channel?.client.close();
    this.#channel = undefined;
    this.#inventory.unstage();
  }

  #sendRefusals(refusals: readonly Refusal[]): Promise<void> {
    const channel = this.#channel;
    if (!channel) return Promise.reject(new Error('not connected'));
    const { path, requestSerialize, responseDeserialize } = REPORT_REFUSALS;
    const { client, metadata } = channel;
    const options = { deadline: Date.now() + REPORT_TIMEOUT_MS };
    return new Promise((resolve, reject) => {
      const done = (error: Error | null): void => (error ? reject(error) : resolve());
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { refusals }, metadata, options, done);
    });
  }

  #cacheSoon(): void {
    if (!this.#cacheKey || this.#cacheTimer) return;
    const sinceMs = SYSTEM_CLOCK.monotonicMs() - this.#cacheWrittenMs;
    const pauseMs = this.#cacheWrittenMs === 0 ? 0 : WRITE_CACHE_EVERY_MS - sinceMs;
    this.#cacheTimer = setTimeout(() => this.#writeCache(), Math.max(WRITE_CACHE_AFTER_MS, pauseMs));
  }

  #writeCache(): void {
    const { cache, log } = this.#options;
    const key = this.#cacheKey;
    this.#cacheTimer = undefined;
    if (!cache || !key) return;
    this.#cacheWrittenMs = SYSTEM_CLOCK.monotonicMs();
    this.#cacheWritten = this.#cacheWritten
      .then(() => writeConfigCache(cache.file, key, this.#inventory))
      .catch((error: unknown) => {
        log.error({ err: error, file: cache.file }, 'cannot store the last good configuration on disk');
      });
  }
}
