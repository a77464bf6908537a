/**
 * Makes the keys of ApiKeys of type Generated: where their Secret is missing, and again where spec.key.rotation has grown. A key
 * exists once its Secret is durable, and is told once. Provided keys, and Secrets that others made, are never written.
 */
import { hash, randomInt } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { compareSeniority } from '../translate/conflicts.ts';
import { KEY_ENTRY, KEY_LABEL, PREVIOUS_ANNOTATION, ROTATION_ANNOTATION, formatPreviousKeys, isMadeFor, previousKeysOf, rotationOf, secretNameOf } from '../store/key-secret.ts';
import type { PreviousKey } from '../store/key-secret.ts';
import { namespacedName, withSecrets } from '../store/resources.ts';
import type { Resources, SecretObject } from '../store/resources.ts';
import type { MintedSecrets } from './minted-secrets.ts';

/** A key that was just made. This is the only time that it is told. */
export interface MintedKey {
  /** The ApiKey's. */
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

export interface MintOptions {
  readonly gatewayNamespace: string;
  readonly minted: MintedSecrets;
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

interface Plan {
  readonly apiKey: ApiKey;
  readonly previous: readonly PreviousKey[];
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 48;
const WRITES_AT_ONCE = 16;
const MS = 1000;

/** Makes all keys that are due. Never rejects: what could not be written is a failure, and its key is not issued. */
export async function mintKeys(resources: Resources, nowMs: number, options: MintOptions): Promise<MintResult> {
  const { minted, gatewayNamespace } = options;
  const failures = new Map<string, string>();
  const plans = new Map<string, Plan>();
  for (const apiKey of resources.apiKeys.toSorted(compareSeniority)) {
    if (apiKey.spec.gatewayNamespace !== gatewayNamespace || apiKey.spec.key.type !== 'Generated') continue;
    const id = secretIdOf(apiKey);
    if (plans.has(id)) continue; // two ApiKeys name one Secret: the older one's key goes there
    const plan = planFor(apiKey, { resources, minted, nowMs });
    if (typeof plan === 'string') failures.set(namespacedName(apiKey.metadata), plan);
    else if (plan) plans.set(id, plan);
  }
  const hopeless = failures.size;
  const due = [...plans.values()];
  for (let at = 0; at < due.length; at += WRITES_AT_ONCE)
    await Promise.all(due.slice(at, at + WRITES_AT_ONCE).map((plan) => carryOut(plan, failures, options)));
  return { resources: withSecrets(resources, minted.secrets), failures, retry: failures.size > hopeless };
}

/** `sk-` and 48 random base62 characters, all equally likely. */
export function generateKey(): string {
  let key = 'sk-';
  for (let i = 0; i < RANDOM_CHARACTERS; i++) key += ALPHABET.charAt(randomInt(ALPHABET.length));
  return key;
}

interface PlanContext {
  readonly resources: Resources;
  readonly minted: MintedSecrets;
  readonly nowMs: number;
}

/** What is to be made for an ApiKey; nothing, or why nothing can be. */
function planFor(apiKey: ApiKey, { resources, minted, nowMs }: PlanContext): Plan | string | undefined {
  const id = secretIdOf(apiKey);
  const provided = resources.secrets.get(id);
  const secret = provided ?? minted.secrets.get(id);
  const damage = provided ? undefined : minted.unreadable.get(id);
  if (!secret) return damage === undefined ? { apiKey, previous: [] } : `the file of its Secret is damaged: ${damage}`;
  if (!isMadeFor(secret, apiKey) || rotationOf(secret) >= apiKey.spec.key.rotation) return undefined;
  if (provided) return `its Secret "${provided.name}" is among the manifests, which are never written`;
  if (damage !== undefined) return `the file of its Secret is damaged: ${damage}`;
  return { apiKey, previous: [...replaced(apiKey, secret, nowMs), ...previousKeysOf(secret, nowMs)] };
}

function replaced({ spec }: ApiKey, secret: SecretObject, nowMs: number): PreviousKey[] {
  const old = secret.data.get(KEY_ENTRY);
  if (old === undefined || spec.key.overlapSeconds === 0) return [];
  return [{ sha256: hash('sha256', old, 'hex'), notAfterMs: nowMs + spec.key.overlapSeconds * MS }];
}

function secretIdOf(apiKey: ApiKey): string {
  return namespacedName({ namespace: apiKey.metadata.namespace, name: secretNameOf(apiKey) });
}

async function carryOut({ apiKey, previous }: Plan, failures: Map<string, string>, { minted, onMinted }: MintOptions): Promise<void> {
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
    await minted.write(secret, `Made by the gateway for the ApiKey ${namespace}/${name}. Delete this file to have another key made.`);
  } catch (error) {
    failures.set(namespacedName(apiKey.metadata), error instanceof Error ? error.message : String(error));
    return;
  }
  onMinted({ namespace, name, key });
}
