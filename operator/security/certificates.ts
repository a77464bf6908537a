/**
 * Manages the server's certificates: the operator's own certificate authority and a serving certificate that it signs,
 * stored for all replicas and renewed long before they expire. Clients trust the published authorities, so a new
 * authority is published first and signs only after every client has had time to read it; the previous one stays
 * trusted until it expires.
 */
import type { Logger } from 'pino';
import { ReconcileLoop } from '#runtime/reconcile-loop.ts';
import type { RunResult } from '#runtime/reconcile-loop.ts';
import { validityOf, createAuthority, issueServing, dnsNamesOf } from './certificate-authority.ts';
import type { KeyPair } from './certificate-authority.ts';

/** As PEM. Each field is stored as an entry of a Secret. */
export interface StoredCertificates {
  readonly caCertificate: string;
  readonly caKey: string;
  /** The next authority: already published, but not signing yet. */
  readonly nextCaCertificate?: string;
  readonly nextCaKey?: string;
  /** The previous authority: no longer signing, but trusted until it expires. */
  readonly previousCaCertificate?: string;
  readonly servingCertificate: string;
  readonly servingKey: string;
}

/** `Written` identifies an object that was written. */
export interface CertificateStore<Written extends object> {
  /** Undefined: nothing is stored, or a part of it cannot be used. */
  load(): Promise<StoredCertificates | undefined>;
  /** The authority and the serving certificate, where only a next or previous authority cannot be used. */
  loadSound?(): Promise<StoredCertificates | undefined>;
  /**
   * Stores what was made from `before`. Returns undefined without writing if somebody else has stored since `before`
   * was loaded.
   */
  store(next: StoredCertificates, before: StoredCertificates | undefined): Promise<Written | undefined>;
  /** Publishes all trusted authorities (PEM) for clients. Returns undefined if exactly these are published. */
  publishAuthorities(pem: string): Promise<Written | undefined>;
  /** Calls `onChange` whenever somebody may have changed or deleted what is stored or published. */
  watch?(onChange: () => void): { stop(): Promise<void> };
}

interface ServingMaterial {
  readonly certificate: string;
  readonly key: string;
  /** All authorities that are currently trusted. */
  readonly authorities: string;
}

export interface CertificateSource {
  current(): ServingMaterial;
  /** Returns a function that removes the listener. */
  onChange(listener: (material: ServingMaterial) => void): () => void;
}

export interface CertificateOptions<Written extends object> {
  readonly store: CertificateStore<Written>;
  /** DNS names of the service; the first is the certificate's subject. */
  readonly serverNames: readonly string[];
  /** Returns whether this replica, as the leader, may write. Others wait for its writes. */
  readonly mayWrite: () => boolean;
  /** Called when this replica has restored what somebody else had deleted or changed. */
  readonly onRestored?: (object: Written) => void;
  readonly nowMs: () => number;
  /** Calls a function once after a delay; the returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** What the certificates are for, in names and in the log; default xDS. */
  readonly of?: string;
  /** Default LIFETIMES. */
  readonly lifetimes?: Lifetimes;
}

export interface ManagedCertificates extends CertificateSource {
  /** Checks the store now, because it has changed or this replica has become the leader. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

const DAY_MS = 86_400_000;
interface Lifetimes {
  readonly caMs: number;
  readonly servingMs: number;
  /** The time from an authority's publication to its first signature. */
  readonly overlapMs: number;
}

/** For clients that reread the authorities. */
export const LIFETIMES: Lifetimes = { caMs: 365 * DAY_MS, servingMs: 30 * DAY_MS, overlapMs: DAY_MS };
/** For clients that get the authorities once, when their pod is created. A pod may live as long as the overlap. */
export const LONG_LIFETIMES: Lifetimes = { caMs: 3650 * DAY_MS, servingMs: 30 * DAY_MS, overlapMs: 730 * DAY_MS };
const LOOK_MS = 10 * 60_000;
/** How often missing or unreadable certificates are read again. */
const LOOK_AGAIN_MS = 1_000;

/** Resolves once there are certificates. */
export async function manageCertificates<Written extends object>(
  options: CertificateOptions<Written>,
): Promise<ManagedCertificates> {
  const { store, serverNames, mayWrite, nowMs, after, log, of = 'xDS', lifetimes = LIFETIMES } = options;
  const { onRestored = () => undefined } = options;
  const listeners = new Set<(material: ServingMaterial) => void>();
  const first = Promise.withResolvers<ServingMaterial>();
  let inUse: ServingMaterial | undefined;
  /** What was stored when this replica looked last. */
  let known: StoredCertificates | undefined;

  /** A deleted Secret comes back as it was, because clients trust its authority. */
  async function renewed(stored: StoredCertificates | undefined): Promise<StoredCertificates | undefined> {
    // a process that has just started knows of no other authority that clients trust
    const before = stored ?? known ?? (await store.loadSound?.());
    const next = (await renew(before, { serverNames, nowMs: nowMs(), of, lifetimes })) ?? before;
    if (!next || next === stored) return stored;
    const written = await store.store(next, stored);
    if (!written) return store.load();
    if (!stored && known) onRestored(written);
    return next;
  }

  /** Each time, because somebody may have deleted or changed what was published. */
  async function publish({ authorities }: ServingMaterial, isNew: boolean): Promise<void> {
    const written = await store.publishAuthorities(authorities);
    if (written && !isNew) onRestored(written);
  }

  async function look(): Promise<RunResult> {
    const stored = await store.load();
    known = (mayWrite() ? await renewed(stored) : stored) ?? known;
    if (!known) return { againInMs: LOOK_AGAIN_MS };
    const material = materialOf(known, nowMs());
    const isNew = inUse ? inUse.authorities !== material.authorities : stored !== known;
    if (mayWrite()) await publish(material, isNew);
    use(material);
    return { againInMs: LOOK_MS };
  }

  function use(material: ServingMaterial): void {
    if (material.certificate === inUse?.certificate && material.authorities === inUse.authorities) return;
    inUse = material;
    log.info({ of }, 'the certificates have changed');
    for (const listener of listeners) listener(material);
    first.resolve(material);
  }

  const loop = new ReconcileLoop({
    run: look,
    debounceMs: 0,
    longestRetryMs: LOOK_AGAIN_MS,
    onFailed: (error) => log.error({ err: error, of }, 'cannot read or renew the certificates; retrying'),
    clock: { nowMs, after },
  });
  void loop.runNow();
  const begun = await first.promise;
  const watch = store.watch?.(() => void loop.runNow());
  return {
    current: () => inUse ?? begun,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    refresh: () => loop.runNow(),
    async stop() {
      void loop.stop(); // without a wait for a running look, whose requests may take long
      await watch?.stop();
    },
  };
}

function materialOf(stored: StoredCertificates, nowMs: number): ServingMaterial {
  return { certificate: stored.servingCertificate, key: stored.servingKey, authorities: authoritiesOf(stored, nowMs) };
}

/** The current, the next and the previous authority. */
function authoritiesOf(
  { caCertificate, nextCaCertificate, previousCaCertificate }: StoredCertificates,
  nowMs: number,
): string {
  const previous =
    previousCaCertificate !== undefined && validityOf(previousCaCertificate).untilMs > nowMs
      ? previousCaCertificate
      : undefined;
  return [caCertificate, nextCaCertificate, previous]
    .filter((pem) => pem !== undefined)
    .map((pem) => `${pem.trim()}\n`)
    .join('');
}

interface Naming {
  readonly serverNames: readonly string[];
  readonly nowMs: number;
  readonly of?: string;
  readonly lifetimes?: Lifetimes;
}

/** Returns what should be stored instead; undefined if nothing is due. */
export async function renew(
  stored: StoredCertificates | undefined,
  naming: Naming,
): Promise<StoredCertificates | undefined> {
  const { nowMs, of, lifetimes = LIFETIMES } = naming;
  if (!stored) return signedBy(await createAuthority(nowMs, lifetimes.caMs, of), naming);
  const { caCertificate, caKey, nextCaCertificate, nextCaKey } = stored;
  // every client has had time to read the next authority
  if (
    nextCaCertificate !== undefined &&
    nextCaKey !== undefined &&
    (nowMs >= validityOf(nextCaCertificate).fromMs + lifetimes.overlapMs || validityOf(caCertificate).untilMs <= nowMs)
  ) {
    return {
      ...(await signedBy({ certificate: nextCaCertificate, key: nextCaKey }, naming)),
      previousCaCertificate: caCertificate,
    };
  }
  if (nextCaCertificate === undefined && due(caCertificate, nowMs)) {
    const next = await createAuthority(nowMs, lifetimes.caMs, of);
    return { ...stored, nextCaCertificate: next.certificate, nextCaKey: next.key };
  }
  return servingDue(stored, naming)
    ? { ...stored, ...(await signedBy({ certificate: caCertificate, key: caKey }, naming)) }
    : undefined;
}

async function signedBy(
  authority: KeyPair,
  { serverNames, nowMs, lifetimes = LIFETIMES }: Naming,
): Promise<StoredCertificates> {
  // a certificate must not outlive its authority
  const untilMs = Math.min(nowMs + lifetimes.servingMs, validityOf(authority.certificate).untilMs);
  const made = await issueServing(authority, serverNames, { fromMs: nowMs, untilMs });
  return {
    caCertificate: authority.certificate,
    caKey: authority.key,
    servingCertificate: made.certificate,
    servingKey: made.key,
  };
}

function servingDue({ servingCertificate }: StoredCertificates, { serverNames, nowMs }: Naming): boolean {
  const names = dnsNamesOf(servingCertificate);
  return due(servingCertificate, nowMs) || !serverNames.every((name) => names.includes(name));
}

/** True after two thirds of a certificate's lifetime. */
function due(pem: string, nowMs: number): boolean {
  const { fromMs, untilMs } = validityOf(pem);
  return nowMs >= fromMs + ((untilMs - fromMs) * 2) / 3;
}
