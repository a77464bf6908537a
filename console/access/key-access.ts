/**
 * Signing in with an API key: its holder sees this one key, with its limit, spending, calls and models, and changes
 * nothing. A key is found by the hash that its status shows; its text is kept nowhere but in the sealed session.
 */
import type { ApiKey, Kind, Resource } from '#crds/types.gen.ts';
import { namespacedName } from '#objects/resources.ts';
import { AccessError } from './access.ts';
import type { AccessVerb, ConsoleAccess, Listing, ObjectOf, ObjectRef, PersonAccess } from './access.ts';

/** All keys, with their statuses. */
export interface KeyDirectory {
  /** The key whose status shows this hash. */
  findByHash(keyHash: string): ApiKey | undefined;
  /** The key as it is now, with its latest spending. */
  read(ref: ObjectRef): Promise<ApiKey | undefined>;
}

interface KeyAccessOptions {
  readonly keys: KeyDirectory;
  /** The fingerprint that statuses show of a key. */
  readonly keyHashOf: (key: string) => string;
  readonly gatewayNamespace: string;
  readonly nowMs: () => number;
}

const KEY = /^sk-[\x21-\x7e]{29,}$/;
const READS: ReadonlySet<AccessVerb> = new Set<AccessVerb>(['get', 'list']);

/** The access of people, and that of holders of a key. */
export function withKeyAccess(access: ConsoleAccess, options: KeyAccessOptions): ConsoleAccess {
  return {
    ...access,
    takesKeys: true,
    async signIn(credential) {
      const { token } = credential;
      if (!KEY.test(token)) return access.signIn(credential);
      const keyHash = options.keyHashOf(token);
      const apiKey = options.keys.findByHash(keyHash);
      return apiKey && isInForce(apiKey, options) ? holderOf(apiKey, keyHash, options) : undefined;
    },
  };
}

/** Whether the gateway accepts the key at all. A key that it would refuse as unknown cannot sign in. */
function isInForce({ spec }: ApiKey, { gatewayNamespace, nowMs }: KeyAccessOptions): boolean {
  return (
    spec.enabled &&
    spec.gatewayNamespace === gatewayNamespace &&
    (spec.expirationTime === undefined || Date.parse(spec.expirationTime) > nowMs())
  );
}

function holderOf({ metadata }: ApiKey, keyHash: string, options: KeyAccessOptions): PersonAccess {
  const ref = { namespace: metadata.namespace, name: metadata.name };
  const isOwn = ({ namespace = ref.namespace, name = ref.name }: Partial<ObjectRef>): boolean =>
    namespace === ref.namespace && name === ref.name;
  async function read(): Promise<ApiKey> {
    const apiKey = await options.keys.read(ref);
    if (apiKey?.status?.keyHash === keyHash && isInForce(apiKey, options)) return apiKey;
    throw new AccessError('SignedOut', 'This key is not in force any more.');
  }
  return {
    person: { name: `key ${namespacedName(ref)}` },
    ownKey: ref,
    async list<K extends Kind>(kind: K): Promise<Listing<K>> {
      const own = await read();
      return isOf(kind, own) ? { objects: [own], allowed: true } : { objects: [], allowed: false };
    },
    async get<K extends Kind>(kind: K, asked: ObjectRef) {
      const own = await read();
      if (isOf(kind, own) && isOwn(asked)) return own;
      throw readOnly();
    },
    create: refuse,
    change: refuse,
    remove: refuse,
    readKeyText: refuse,
    may: async (verb, kind, asked) => READS.has(verb) && kind === 'ApiKey' && isOwn(asked),
    namespaces: async (verb, kind) => (READS.has(verb) && kind === 'ApiKey' ? [ref.namespace] : []),
  };
}

function isOf<K extends Kind>(kind: K, object: Resource): object is ObjectOf<K> {
  return object.kind === kind;
}

async function refuse(): Promise<never> {
  throw readOnly();
}

function readOnly(): AccessError {
  return new AccessError('Forbidden', 'You are signed in with an API key, which shows this key and changes nothing.');
}

/** Looks keys up in a list; `list` returns all keys with their latest statuses. */
export function keysOfList(list: () => readonly ApiKey[]): KeyDirectory {
  return {
    findByHash: (keyHash) => list().find(({ status }) => status?.keyHash === keyHash),
    read: async ({ namespace, name }) =>
      list().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  };
}
