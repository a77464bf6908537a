/**
 * Makes the keys of ApiKeys of type Generated: where their Secret is missing, and again where spec.key.rotation has
 * grown. A key exists once its Secret is durable, and is told once. Provided keys, and Secrets that others made, are
 * never written.
 */
import { hash, randomInt } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { compareSeniority } from '../translate/conflicts.ts';
import {
  KEY_ENTRY, KEY_LABEL, PREVIOUS_ANNOTATION, ROTATION_ANNOTATION, formatPreviousKeys, isLeftOver, isMadeFor,
  previousKeysOf, rotationOf, secretIdOf, secretNameOf,
} from '../store/key-secret.ts';
import type { PreviousKey } from '../store/key-secret.ts';
import { namespacedName } from '../store/resources.ts';
import type { Resources, SecretObject } from '../store/resources.ts';

/** A key that was just made. This is the only time that it is told. */
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
  write(secret: SecretObject, made: SecretMaking): Promise<boolean>;
}

export interface SecretMaking {
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

interface Plan extends SecretMaking {
  readonly previous: readonly PreviousKey[];
}

interface Candidate {
  readonly metadata: ApiKey['metadata'];
  readonly apiKey: ApiKey;
  /** "namespace/name" of its Secret. */
  readonly id: string;
  readonly plan: Plan | string;
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
  const plans = new Map<string, Plan>();
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

/** Most of the time there are none, among a hundred thousand keys; only these few are sorted. */
function candidatesAmong(resources: Resources, nowMs: number, { minted, gatewayNamespace }: MintOptions): Candidate[] {
  return resources.apiKeys.flatMap((apiKey) => {
    if (apiKey.spec.gatewayNamespace !== gatewayNamespace || apiKey.spec.key.type !== 'Generated') return NO_CANDIDATES;
    const id = secretIdOf(apiKey);
    const plan = planFor(apiKey, id, { resources, minted, nowMs });
    return plan === undefined ? NO_CANDIDATES : [{ metadata: apiKey.metadata, apiKey, id, plan }];
  }).sort(compareSeniority);
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

/** What is to be made for an ApiKey; nothing, or why nothing can be. */
function planFor(apiKey: ApiKey, id: string, { resources, minted, nowMs }: PlanContext): Plan | string | undefined {
  const before = minted.find(id, resources);
  const previous = before ? previousIn(before, apiKey, nowMs) : [];
  if (!previous) return undefined;
  return minted.obstacle(id, resources) ?? { apiKey, previous, ...before === undefined ? {} : { before } };
}

/** The keys of a Secret that go on working beside a new one; undefined: no new one is due. */
function previousIn(secret: SecretObject, apiKey: ApiKey, nowMs: number): PreviousKey[] | undefined {
  if (isLeftOver(secret, apiKey)) return [];
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
}: Plan, failures: Map<string, string>, { minted, onMinted }: MintOptions): Promise<void> {
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
