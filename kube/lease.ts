/**
 * Leader election with a coordination.k8s.io Lease, as in client-go. The holder renews the Lease every few seconds.
 * Another replica takes it once it has not changed for its whole duration by that replica's own clock (clocks are never
 * compared), or at once after its holder released it. A holder that cannot renew stops leading well before another
 * replica may begin.
 */
import type { Logger } from 'pino';
import { createBackoff } from '#runtime/backoff.ts';
import type { KubeClient } from './client.ts';
import type { OperatorClock } from '#runtime/clock.ts';
import { sleep } from '#runtime/clock.ts';
import { explainKubeError, hasStatus } from './errors.ts';
import type { Lease as LeaseModel } from './models.ts';

export interface LeaderElectionOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly clock: OperatorClock;
  readonly namespace: string;
  readonly name: string;
  /** Unique to this process. */
  readonly identity: string;
  /** The address at which other replicas reach this one while it leads. */
  readonly address?: string;
  /** Called after each change with whether this replica leads, and the leader's address. */
  readonly onChange: (leading: boolean, address: string | undefined) => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  readonly durationMs?: number;
  readonly renewWithinMs?: number;
  readonly retryMs?: number;
}

export interface LeaderElection {
  /** True only while no other replica can consider itself the leader. */
  readonly leading: boolean;
  /** Reads the Lease now, because a watch reported a change. */
  changed(): void;
  /** Releases the Lease, so that another replica can take it at once. */
  stop(): Promise<void>;
}

/** client-go's defaults. */
const DURATION_MS = 15_000;
const RENEW_WITHIN_MS = 10_000;
const RETRY_MS = 2_000;
/** The address at which the leader receives acknowledgements from other replicas. */
const ADDRESS_ANNOTATION = 'modelgateway.dev/address';

/** Joins the election. */
export function startLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const election = new Election(options);
  const ended = election.run();
  return {
    get leading() {
      return election.leading;
    },
    changed: () => election.retryNow(),
    async stop() {
      election.stop();
      await ended;
      await election.release();
    },
  };
}

class Election {
  readonly #options: Required<Omit<LeaderElectionOptions, 'address'>> & Pick<LeaderElectionOptions, 'address'>;
  readonly #stopped = new AbortController();
  /** The last version of the Lease, and when it was first seen. */
  #seen: { readonly version: string; readonly atMs: number } | undefined;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #holding = false;
  #told: string | undefined;
  #nap = new AbortController();
  #stepDown: (() => void) | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = { durationMs: DURATION_MS, renewWithinMs: RENEW_WITHIN_MS, retryMs: RETRY_MS, ...options };
  }

  get leading(): boolean {
    return this.#holding && this.#options.clock.nowMs() - this.#renewedMs < this.#options.renewWithinMs;
  }

  retryNow(): void {
    if (!this.#holding) this.#nap.abort();
  }

  stop(): void {
    this.#stopped.abort();
    this.#nap.abort();
  }

  async run(): Promise<void> {
    const { clock, retryMs } = this.#options;
    const backoff = createBackoff({ firstMs: retryMs, longestMs: retryMs * 4, random: () => clock.random() });
    while (!this.#stopped.signal.aborted) {
      const worked = await this.#attempt();
      if (worked) backoff.reset();
      this.#nap = new AbortController();
      if (this.#stopped.signal.aborted) return;
      await sleep(clock, worked || this.#holding ? retryMs : backoff.next(), this.#nap.signal);
    }
  }

  /** Resolves with whether the API server responded. */
  async #attempt(): Promise<boolean> {
    try {
      const lease = await this.#read();
      if (!lease) await this.#write('POST', this.#next(undefined));
      else if (this.#mayTake(lease)) await this.#write('PUT', this.#next(lease), lease);
      else this.#follow(lease);
      return true;
    } catch (error) {
      const lost = hasStatus(error, 409); // another replica was faster
      if (lost) this.#lose();
      else
        this.#options.log.warn(
          { problem: explainKubeError(error) },
          this.#holding ? 'cannot renew the leadership' : 'cannot read or write the Lease',
        );
      return lost;
    }
  }

  async #read(): Promise<LeaseModel | undefined> {
    try {
      return await this.#options.client.request({
        method: 'GET',
        path: this.#path(),
        timeoutMs: this.#options.retryMs * 2,
      });
    } catch (error) {
      if (hasStatus(error, 404) && !this.#stopped.signal.aborted) return undefined;
      throw error;
    }
  }

  #mayTake({ metadata, spec }: LeaseModel): boolean {
    const { identity, clock, durationMs } = this.#options;
    const version = metadata.resourceVersion ?? '';
    if (this.#seen?.version !== version) this.#seen = { version, atMs: clock.nowMs() };
    const holder = spec?.holderIdentity ?? '';
    if (holder === '' || holder === identity) return true;
    const lasts = Math.max(durationMs, (spec?.leaseDurationSeconds ?? 0) * 1000);
    return clock.nowMs() - this.#seen.atMs >= lasts;
  }

  #next(before: LeaseModel | undefined): object {
    const { identity, namespace, name, durationMs, clock, address = '' } = this.#options;
    const metadata = {
      ...before?.metadata,
      name,
      namespace,
      annotations: {
        ...before?.metadata.annotations,
        [ADDRESS_ANNOTATION]: address,
      },
    };
    const spec = {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      renewTime: microTime(clock.nowMs()),
    };
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
      spec: { ...historyOf(before?.spec, identity, spec.renewTime), ...spec },
    };
  }

  async #write(method: 'POST' | 'PUT', body: object, before?: LeaseModel): Promise<void> {
    const { client, clock, retryMs, log, identity } = this.#options;
    const askedMs = clock.nowMs(); // count the lease duration from before the request
    await client.request({
      method,
      path: method === 'POST' ? this.#path('') : this.#path(),
      body,
      timeoutMs: retryMs * 2,
    });
    if (this.#stopped.signal.aborted) {
      this.#holding = true; // so that release() releases it
      return;
    }
    this.#renewedMs = askedMs;
    this.#seen = undefined;
    if (!this.#holding)
      log.info({ identity, before: before?.spec?.holderIdentity ?? '' }, 'this replica is the leader');
    this.#holding = true;
    this.#watchDeadline();
    this.#tell(true, undefined);
  }

  /** Steps down when renewals fail or hang until the deadline. */
  #watchDeadline(): void {
    const { clock, renewWithinMs } = this.#options;
    this.#stepDown?.();
    this.#stepDown = clock.after(Math.max(0, this.#renewedMs + renewWithinMs - clock.nowMs()), () => this.#lose());
  }

  #follow({ metadata, spec }: LeaseModel): void {
    this.#lose();
    this.#tell(false, spec?.holderIdentity ? metadata.annotations?.[ADDRESS_ANNOTATION] || undefined : undefined);
  }

  #lose(): void {
    this.#stepDown?.();
    if (!this.#holding) return;
    this.#holding = false;
    this.#options.log.warn({ identity: this.#options.identity }, 'this replica is no longer the leader');
    this.#tell(false, undefined);
  }

  #tell(leading: boolean, address: string | undefined): void {
    const news = `${leading} ${address ?? ''}`;
    if (news === this.#told) return;
    this.#told = news;
    this.#options.onChange(leading, address);
  }

  /** Releases the Lease, so that the next leader need not wait until it expires. */
  async release(): Promise<void> {
    this.#stepDown?.();
    const held = this.#holding;
    this.#holding = false;
    if (!held) return;
    this.#tell(false, undefined);
    try {
      const lease: LeaseModel = await this.#options.client.request({
        method: 'GET',
        path: this.#path(),
        timeoutMs: this.#options.retryMs,
      });
      if (lease.spec?.holderIdentity !== this.#options.identity) return;
      const spec = {
        ...lease.spec,
        holderIdentity: '',
        leaseDurationSeconds: 1,
        renewTime: microTime(this.#options.clock.nowMs()),
      };
      await this.#options.client.request({
        method: 'PUT',
        path: this.#path(),
        body: { ...lease, spec },
        timeoutMs: this.#options.retryMs,
      });
    } catch (error) {
      this.#options.log.warn(
        { problem: explainKubeError(error) },
        'cannot release the Lease; another replica acquires it when it expires',
      );
    }
  }

  #path(name = `/${this.#options.name}`): string {
    return `/apis/coordination.k8s.io/v1/namespaces/${this.#options.namespace}/leases${name}`;
  }
}

/** Returns acquireTime and leaseTransitions of the next version. */
function historyOf(
  before: LeaseModel['spec'],
  identity: string,
  now: string,
): { readonly acquireTime: string; readonly leaseTransitions: number } {
  if (!before) return { acquireTime: now, leaseTransitions: 0 };
  const { acquireTime = now, leaseTransitions = 0, holderIdentity } = before;
  return holderIdentity === identity
    ? { acquireTime, leaseTransitions }
    : { acquireTime: now, leaseTransitions: leaseTransitions + 1 };
}

/** Formats a metav1.MicroTime. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
