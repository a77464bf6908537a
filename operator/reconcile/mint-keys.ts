/**
 * Generates the keys of ApiKeys of type Generated, if the Secret is missing or spec.key.rotation was increased. A key
 * exists once its Secret is durable, and is reported once. Provided keys and foreign Secrets are never written.
 */
import { hash, randomInt } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { comparePrecedence } from '../translate/conflicts.ts';
import { memoize } from '../translate/memoize.ts';
import {
  KEY_ENTRY,
  KEY_LABEL,
  PREVIOUS_ANNOTATION,
  ROTATION_ANNOTATION,
  formatPreviousKeys,
  isOrphaned,
  isCreatedFor,
  previousKeysOf,
  rotationOf,
  secretNameOf,
  secretRefOf,
} from '#objects/key-secret.ts';
import type { PreviousKey } from '#objects/key-secret.ts';
import { namespacedName } from '#objects/resources.ts';
import type { MintBackoff } from './mint-backoff.ts';
import type { Resources, SecretObject, SecretRef } from '#objects/resources.ts';
import { WRITES_AT_ONCE, WRITES_AT_ONCE_OF_NAMESPACE, inTurns } from '../store/fair-queue.ts';

/** A key that was just generated. It is never shown again. */
export interface MintedKey {
  /** The ApiKey's namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  /** The name of its Secret. */
  readonly secretName: string;
}

/** The storage of generated keys: files of the data folder, or Secrets of the cluster. */
export interface KeySecrets {
  /** Adds the stored keys to the resources. */
  joined(resources: Resources): Resources;
  /** The Secret of this name, whoever created it. */
  find(ref: SecretRef, resources: Resources): SecretObject | undefined;
  /** A sentence about why this Secret cannot be written; undefined if it can. */
  obstacle(ref: SecretRef, resources: Resources): string | undefined;
  /**
   * Resolves when the Secret is durable, or with false if the ApiKey already has another key. If it rejects, nothing
   * has changed.
   */
  write(secret: SecretObject, made: SecretWrite): Promise<boolean>;
}

export interface SecretWrite {
  readonly apiKey: ApiKey;
  /** The existing Secret of this name. */
  readonly before?: SecretObject;
}

/** Why a Secret could not be written. */
export class SecretWriteError extends Error {
  override readonly name = 'SecretWriteError';
  /** True if other Secrets of the namespace would fail too. */
  readonly namespaceWide: boolean;
  constructor(message: string, namespaceWide: boolean, options: ErrorOptions) {
    super(message, options);
    this.namespaceWide = namespaceWide;
  }
}

interface MintOptions {
  readonly gatewayNamespace: string;
  readonly minted: KeySecrets;
  readonly backoff: MintBackoff;
  /** The most keys of one call, so that keys which become due meanwhile need not wait for all others. Default: all. */
  readonly atMost?: number;
  readonly onMinted: (minted: MintedKey) => void;
}

export interface MintResult {
  /** Why a key could not be created, by its ApiKey's "namespace/name". */
  readonly failures: ReadonlyMap<string, string>;
  /** How many writes failed in this call. */
  readonly failedWrites: number;
  /** When to call again: for the keys beyond `atMost`, or for a failed key with a backoff. */
  readonly retryAtMs?: number;
}

interface MintPlan extends SecretWrite {
  readonly previous: readonly PreviousKey[];
}

interface Candidate {
  readonly metadata: ApiKey['metadata'];
  readonly apiKey: ApiKey;
  readonly secret: SecretRef;
  readonly plan: MintPlan | string;
}

const NO_CANDIDATES: readonly Candidate[] = [];

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 48;
const MS = 1000;

/**
 * Creates all keys that are due. Never rejects: a key that could not be written is reported as a failure and is not
 * issued.
 */
export async function mintKeys(resources: Resources, nowMs: number, options: MintOptions): Promise<MintResult> {
  const { backoff } = options;
  const failures = new Map<string, string>();
  const due = planAll(resources, nowMs, { options, failures });
  const run: MintRun = { ...options, failures, nowMs, retryAtMs: Number.POSITIVE_INFINITY, failedWrites: 0 };
  backoff.retain(due.map(({ apiKey }) => apiKey));
  const retries = due.filter(({ apiKey }) => backoff.isRetry(apiKey));
  const fresh = due.filter(({ apiKey }) => !backoff.isRetry(apiKey));
  const ordered = [...inTurns(fresh, namespaceOfPlan), ...inTurns(retries, namespaceOfPlan)];
  const isCut = await carryOutAll(ordered, run);
  for (const { apiKey } of due) noteRetry(apiKey, run);
  return {
    failures,
    failedWrites: run.failedWrites,
    ...(isCut && { retryAtMs: nowMs }),
    ...(!isCut && run.retryAtMs < Number.POSITIVE_INFINITY && { retryAtMs: run.retryAtMs }),
  };
}

interface Planning {
  readonly options: MintOptions;
  /** Collects why keys cannot be planned. */
  readonly failures: Map<string, string>;
}

/** The plans by precedence, one for each Secret. */
function planAll(resources: Resources, nowMs: number, { options, failures }: Planning): readonly MintPlan[] {
  const plans = new Map<string, MintPlan>();
  for (const { apiKey, secret, plan } of candidatesAmong(resources, nowMs, options)) {
    const id = namespacedName(secret);
    if (plans.has(id)) continue; // if two ApiKeys name one Secret, it gets the older one's key
    if (typeof plan === 'string') failures.set(namespacedName(apiKey.metadata), plan);
    else plans.set(id, plan);
  }
  return [...plans.values()];
}

/**
 * Runs several plans at once, as many as one call may. Skips a key whose namespace has failed meanwhile. Returns whether
 * plans are left.
 */
async function carryOutAll(plans: readonly MintPlan[], run: MintRun): Promise<boolean> {
  let waiting = plans;
  let left = run.atMost ?? Infinity;
  for (;;) {
    const { batch, rest } = nextBatch(waiting, run, Math.min(WRITES_AT_ONCE, left));
    if (batch.length === 0) return rest.length > 0;
    waiting = rest;
    left -= batch.length;
    await Promise.all(batch.map((plan) => carryOut(plan, run)));
  }
}

/** Takes the next plans to run together, within the limits of all and of each namespace. Drops those in backoff. */
function nextBatch(
  waiting: readonly MintPlan[],
  run: MintRun,
  atMost: number,
): { readonly batch: readonly MintPlan[]; readonly rest: readonly MintPlan[] } {
  const batch: MintPlan[] = [];
  const hasRoom = (plan: MintPlan): boolean =>
    batch.length < atMost &&
    batch.filter((each) => namespaceOfPlan(each) === namespaceOfPlan(plan)).length < WRITES_AT_ONCE_OF_NAMESPACE;
  const rest: MintPlan[] = [];
  for (const plan of waiting) {
    if (!hasRoom(plan)) rest.push(plan);
    else if (!isBlocked(plan, run)) batch.push(plan);
  }
  return { batch, rest };
}

function namespaceOfPlan({ apiKey }: MintPlan): string {
  return apiKey.metadata.namespace;
}

interface MintRun extends MintOptions {
  readonly failures: Map<string, string>;
  readonly nowMs: number;
  retryAtMs: number;
  failedWrites: number;
}

/** True if the key must wait for its backoff; it then counts as failed with the last message. */
function isBlocked({ apiKey }: MintPlan, { backoff, failures, nowMs }: MintRun): boolean {
  const blocked = backoff.blocked(apiKey, nowMs);
  if (blocked) failures.set(namespacedName(apiKey.metadata), blocked.message);
  return blocked !== undefined;
}

function noteRetry(apiKey: ApiKey, run: MintRun): void {
  const blocked = run.backoff.blocked(apiKey, run.nowMs);
  if (blocked) run.retryAtMs = Math.min(run.retryAtMs, blocked.untilMs);
}

/** The keys to generate, in order of precedence: usually none among perhaps a hundred thousand. */
function candidatesAmong(resources: Resources, nowMs: number, { minted, gatewayNamespace }: MintOptions): Candidate[] {
  const isOurs = ({ spec }: ApiKey): boolean =>
    spec.gatewayNamespace === gatewayNamespace && spec.key.type === 'Generated';
  const unsettled = [...resources.apiKeys].filter(
    ([namespace, apiKeys]) =>
      !resources.terminatingNamespaces?.has(namespace) && !areSettled(apiKeys, resources.secrets.get(namespace)),
  );
  return unsettled
    .flatMap(([, apiKeys]) => apiKeys.filter(isOurs))
    .flatMap((apiKey) => {
      const secret = secretRefOf(apiKey);
      const plan = planFor(apiKey, secret, { resources, minted, nowMs });
      return plan === undefined ? NO_CANDIDATES : [{ metadata: apiKey.metadata, apiKey, secret, plan }];
    })
    .sort(comparePrecedence);
}

const settled = memoize<readonly ApiKey[], boolean>();

/** True if every key of a namespace that is to be generated exists in its current rotation. */
function areSettled(apiKeys: readonly ApiKey[], secrets: ReadonlyMap<string, SecretObject> | undefined): boolean {
  return settled(apiKeys, [secrets], () =>
    apiKeys.every((apiKey) => {
      const secret = secrets?.get(secretNameOf(apiKey));
      return (
        apiKey.spec.key.type !== 'Generated' ||
        (secret && isCreatedFor(secret, apiKey) && rotationOf(secret) >= apiKey.spec.key.rotation)
      );
    }),
  );
}

/** Returns `sk-` and 48 random base62 characters, all equally likely. */
export function generateKey(): string {
  let key = 'sk-';
  for (let i = 0; i < RANDOM_CHARACTERS; i++) key += ALPHABET.charAt(randomInt(ALPHABET.length));
  return key;
}

interface PlanContext {
  readonly resources: Resources;
  readonly minted: KeySecrets;
  readonly nowMs: number;
}

/** Returns the plan for an ApiKey's key, the reason why it cannot be created, or undefined if none is due. */
function planFor(
  apiKey: ApiKey,
  secret: SecretRef,
  { resources, minted, nowMs }: PlanContext,
): MintPlan | string | undefined {
  const before = minted.find(secret, resources);
  const previous = before ? previousIn(before, apiKey, nowMs) : [];
  if (!previous) return undefined;
  return minted.obstacle(secret, resources) ?? { apiKey, previous, ...(before === undefined ? {} : { before }) };
}

/** The keys of a Secret that stay valid besides a new one; undefined if no new key is due. */
function previousIn(secret: SecretObject, apiKey: ApiKey, nowMs: number): PreviousKey[] | undefined {
  if (isOrphaned(secret, apiKey)) return [];
  if (!isCreatedFor(secret, apiKey) || rotationOf(secret) >= apiKey.spec.key.rotation) return undefined;
  return [...replaced(apiKey, secret, nowMs), ...previousKeysOf(secret, nowMs)];
}

function replaced({ spec }: ApiKey, secret: SecretObject, nowMs: number): PreviousKey[] {
  const old = secret.data.get(KEY_ENTRY);
  if (old === undefined || spec.key.overlapSeconds === 0) return [];
  return [{ sha256: hash('sha256', old, 'hex'), notAfterMs: nowMs + spec.key.overlapSeconds * MS }];
}

async function carryOut({ apiKey, previous, before }: MintPlan, run: MintRun): Promise<void> {
  const { minted, onMinted, backoff, failures, nowMs } = run;
  const { namespace, name } = apiKey.metadata;
  const key = generateKey();
  const secret: SecretObject = {
    namespace,
    name: secretNameOf(apiKey),
    labels: { [KEY_LABEL]: name },
    annotations: {
      [ROTATION_ANNOTATION]: String(apiKey.spec.key.rotation),
      ...(previous.length === 0 ? {} : { [PREVIOUS_ANNOTATION]: formatPreviousKeys(previous) }),
    },
    data: new Map([[KEY_ENTRY, key]]),
  };
  try {
    const written = await minted.write(secret, { apiKey, ...(before === undefined ? {} : { before }) });
    backoff.succeeded(apiKey);
    if (!written) return;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    failures.set(namespacedName(apiKey.metadata), message);
    run.failedWrites += 1;
    const namespaceWide = error instanceof SecretWriteError && error.namespaceWide;
    backoff.failed(apiKey, { message, namespaceWide }, nowMs);
    return;
  }
  onMinted({ namespace, name, key, secretName: secret.name });
}
