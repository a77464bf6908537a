/**
 * Generates the keys of ApiKeys of type Generated: where the Secret is missing, and again where spec.key.rotation was
 * increased. A key exists once its Secret is durable, and is reported once. Provided keys and foreign Secrets are never
 * written.
 */
import { hash, randomInt } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { comparePrecedence } from '../translate/conflicts.ts';
import {
  KEY_ENTRY, KEY_LABEL, PREVIOUS_ANNOTATION, ROTATION_ANNOTATION, formatPreviousKeys, isOrphaned, isMadeFor,
  previousKeysOf, rotationOf, secretIdOf, secretNameOf,
} from '../store/key-secret.ts';
import type { PreviousKey } from '../store/key-secret.ts';
import { namespacedName } from '../store/resources.ts';
import type { Resources, SecretObject } from '../store/resources.ts';

/** A key that was just generated. It is never shown again. */
export interface MintedKey {
  /** The ApiKey's. */
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  /** The name of its Secret. */
  readonly secretName: string;
}

/** Where generated keys are kept: files of the data folder, or Secrets of the cluster. */
export interface KeySecrets {
  /** The resources with all the keys in them that are kept here. */
  joined(resources: Resources): Resources;
  /** The Secret of this "namespace/name", whoever made it. */
  find(id: string, resources: Resources): SecretObject | undefined;
  /** Why this Secret cannot be written, in words; undefined: it can. */
  obstacle(id: string, resources: Resources): string | undefined;
  /**
   * Resolves when the Secret is durable, with false where this key has another one already. On rejection nothing has
   * changed.
   */
  write(secret: SecretObject, made: SecretWrite): Promise<boolean>;
}

export interface SecretWrite {
  readonly apiKey: ApiKey;
  /** What there is now under the Secret's name. */
  readonly before?: SecretObject;
}

interface MintOptions {
  readonly gatewayNamespace: string;
  readonly minted: KeySecrets;
  readonly onMinted: (minted: MintedKey) => void;
}

export interface MintResult {
  /** The resources with the generated Secrets in them. */
  readonly resources: Resources;
  /** Why a key could not be made, by its ApiKey's "namespace/name". */
  readonly failures: ReadonlyMap<string, string>;
  /** Whether trying again may help. */
  readonly retry: boolean;
}

interface MintPlan extends SecretWrite {
  readonly previous: readonly PreviousKey[];
}

interface Candidate {
  readonly metadata: ApiKey['metadata'];
  readonly apiKey: ApiKey;
  /** "namespace/name" of its Secret. */
  readonly id: string;
  readonly plan: MintPlan | string;
}

const NO_CANDIDATES: readonly Candidate[] = [];

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 48;
const WRITES_AT_ONCE = 16;
const MS = 1000;

/** Makes all keys that are due. Never rejects: what could not be written is a failure, and its key is not issued. */
export async function mintKeys(resources: Resources, nowMs: number, options: MintOptions): Promise<MintResult> {
  const { minted } = options;
  const failures = new Map<string, string>();
  const plans = new Map<string, MintPlan>();
  for (const { apiKey, id, plan } of candidatesAmong(resources, nowMs, options)) {
    if (plans.has(id)) continue; // two ApiKeys name one Secret: the older one's key goes there
    if (typeof plan === 'string') failures.set(namespacedName(apiKey.metadata), plan);
    else plans.set(id, plan);
  }
  const hopeless = failures.size;
  const due = [...plans.values()];
  for (let at = 0; at < due.length; at += WRITES_AT_ONCE)
    await Promise.all(due.slice(at, at + WRITES_AT_ONCE).map((plan) => carryOut(plan, failures, options)));
  return { resources: minted.joined(resources), failures, retry: failures.size > hopeless };
}

/** The keys to generate, in order of precedence: usually none of perhaps a hundred thousand. */
function candidatesAmong(resources: Resources, nowMs: number, { minted, gatewayNamespace }: MintOptions): Candidate[] {
  return resources.apiKeys.flatMap((apiKey) => {
    if (apiKey.spec.gatewayNamespace !== gatewayNamespace || apiKey.spec.key.type !== 'Generated') return NO_CANDIDATES;
    const id = secretIdOf(apiKey);
    const plan = planFor(apiKey, id, { resources, minted, nowMs });
    return plan === undefined ? NO_CANDIDATES : [{ metadata: apiKey.metadata, apiKey, id, plan }];
  }).sort(comparePrecedence);
}

/** `sk-` and 48 random base62 characters, all equally likely. */
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

/** The plan for an ApiKey's key, why it cannot be made, or undefined where none is due. */
function planFor(apiKey: ApiKey, id: string, { resources, minted, nowMs }: PlanContext): MintPlan | string | undefined {
  const before = minted.find(id, resources);
  const previous = before ? previousIn(before, apiKey, nowMs) : [];
  if (!previous) return undefined;
  return minted.obstacle(id, resources) ?? { apiKey, previous, ...before === undefined ? {} : { before } };
}

/** The keys of a Secret that stay valid beside a new one; undefined: no new one is due. */
function previousIn(secret: SecretObject, apiKey: ApiKey, nowMs: number): PreviousKey[] | undefined {
  if (isOrphaned(secret, apiKey)) return [];
  if (!isMadeFor(secret, apiKey) || rotationOf(secret) >= apiKey.spec.key.rotation) return undefined;
  return [...replaced(apiKey, secret, nowMs), ...previousKeysOf(secret, nowMs)];
}

function replaced({ spec }: ApiKey, secret: SecretObject, nowMs: number): PreviousKey[] {
  const old = secret.data.get(KEY_ENTRY);
  if (old === undefined || spec.key.overlapSeconds === 0) return [];
  return [{ sha256: hash('sha256', old, 'hex'), notAfterMs: nowMs + spec.key.overlapSeconds * MS }];
}

async function carryOut({
  apiKey, previous, before,
}: MintPlan, failures: Map<string, string>, { minted, onMinted }: MintOptions): Promise<void> {
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
    if (!await minted.write(secret, { apiKey, ...before === undefined ? {} : { before } })) return;
  } catch (error) {
    failures.set(namespacedName(apiKey.metadata), error instanceof Error ? error.message : String(error));
    return;
  }
  onMinted({ namespace, name, key, secretName: secret.name });
}
