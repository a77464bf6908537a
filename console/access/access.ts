/**
 * What a signed-in person may see and change, whatever stores the objects: a cluster's API server, called with the
 * person's own token so that RBAC decides, or a folder of manifests. Pages and forms know only this interface.
 */
import type { Kind, Resource } from '#crds/types.gen.ts';

export type ObjectOf<K extends Kind> = Extract<Resource, { kind: K }>;

export interface ObjectRef {
  readonly namespace: string;
  readonly name: string;
}

/** What a person signs in with: a cluster's token, the admin token of one machine, or an API key. Never logged. */
interface Credential {
  readonly token: string;
}

interface Person {
  /** As the audit log calls them. */
  readonly name: string;
}

/** The objects of a kind that the person may see, statuses included. Lists are in no particular order. */
export interface Listing<K extends Kind> {
  readonly objects: readonly ObjectOf<K>[];
  /** False: the person may not read this kind in any known namespace. */
  readonly allowed: boolean;
}

export type AccessVerb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete';

/**
 * A change of an object as a JSON merge patch (RFC 7386), made only if nobody has changed its spec since it was read.
 */
export interface ObjectChange {
  /** The generation that the person saw. A new status does not change it. */
  readonly generation: number;
  readonly uid: string;
  readonly patch: {
    readonly spec?: unknown;
    readonly metadata?: { readonly annotations?: unknown; readonly labels?: unknown };
  };
}

/**
 * What one person may do. If a method cannot do what is asked, it rejects with AccessError and with nothing else.
 */
export interface PersonAccess {
  readonly person: Person;
  /** The key that they signed in with, the only one that they see. Absent: they signed in otherwise. */
  readonly ownKey?: ObjectRef;
  list<K extends Kind>(kind: K): Promise<Listing<K>>;
  /** undefined: there is none. Rejects with Forbidden where the person may not know. */
  get<K extends Kind>(kind: K, ref: ObjectRef): Promise<ObjectOf<K> | undefined>;
  create<K extends Kind>(kind: K, ref: ObjectRef, spec: ObjectOf<K>['spec']): Promise<ObjectOf<K>>;
  change<K extends Kind>(kind: K, ref: ObjectRef, change: ObjectChange): Promise<ObjectOf<K>>;
  remove(kind: Kind, ref: ObjectRef, uid: string): Promise<void>;
  /** The key's text from its Secret, if the person may read that; undefined: the key is not generated yet. */
  readKeyText(ref: ObjectRef): Promise<string | undefined>;
  /** Without a namespace: in any namespace that `namespaces` returns. */
  may(verb: AccessVerb, kind: Kind, ref: { readonly namespace?: string; readonly name?: string }): Promise<boolean>;
  /** Where the person may do this to objects of the kind, sorted. */
  namespaces(verb: AccessVerb, kind: Kind): Promise<readonly string[]>;
}

/** Signs people in. */
export interface ConsoleAccess {
  /** Where the objects are stored; it decides what the sign-in page says. */
  readonly backend: 'Kubernetes' | 'Files';
  /** Whether people can sign in with an API key. */
  readonly takesKeys?: boolean;
  /** undefined: the credential is unknown. Rejects with AccessError (Unavailable) if that cannot be checked. */
  signIn(credential: Credential): Promise<PersonAccess | undefined>;
}

export type AccessErrorReason =
  'SignedOut' | 'Forbidden' | 'NotFound' | 'Conflict' | 'AlreadyExists' | 'Invalid' | 'Unavailable';

/** One error of the API about a field, in its own words. */
export interface ApiFieldError {
  /** "spec.quota.limitUsd"; empty: the object as a whole. */
  readonly path: string;
  readonly message: string;
}

/** Why something cannot be done, in words for the person who asked. Contains no secret. */
export class AccessError extends Error {
  override readonly name = 'AccessError';
  readonly reason: AccessErrorReason;
  /** The invalid fields, if the reason is Invalid. */
  readonly fields: readonly ApiFieldError[];

  constructor(
    reason: AccessErrorReason,
    message: string,
    { fields = [], cause }: { readonly fields?: readonly ApiFieldError[]; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.fields = fields;
  }
}
