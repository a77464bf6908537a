/**
 * Signs people in to a cluster. The API server says whose bearer token it is; the operator's own credentials are never
 * used for people. Only hashes of tokens are kept, as cache keys.
 */
import { createHash } from 'node:crypto';
import type { SharedAccess } from '#kube/access.ts';
import { createKubeClient } from '#kube/client.ts';
import type { KubeClientOptions } from '#kube/client.ts';
import { hasStatus } from '#kube/errors.ts';
import type { ClusterCache } from '#objects/cluster-cache.ts';
import { AccessError } from './access.ts';
import type { ConsoleAccess, PersonAccess } from './access.ts';
import { clusterPerson } from './cluster-person.ts';
import { accessErrorOf } from './kube-errors.ts';
import { createRights } from './rights.ts';
import type { Rights } from './rights.ts';

interface ClusterAccessOptions {
  readonly access: Pick<SharedAccess, 'as'>;
  readonly userAgent: string;
  /** Of requests that people make through the console. */
  readonly meter: KubeClientOptions['meter'];
  readonly cache: ClusterCache;
  readonly gatewayNamespace: string;
  readonly nowMs: () => number;
}

/** How long a token's review is cached, and so how long a revoked token may still work. */
const KNOWN_MS = 10_000;
const MAX_PEOPLE = 1_000;
/** Bearer tokens as RFC 6750 has them, and no longer than a cookie may be. Nothing else becomes part of a header. */
const TOKEN = /^[A-Za-z0-9\-._~+/]{1,8192}=*$/;
const ANONYMOUS = 'system:anonymous';

/** The cached review of one token. */
interface Known {
  readonly person: Promise<PersonAccess | undefined>;
  readonly rights: Rights;
  readonly asOfMs: number;
}

export function openClusterAccess(options: ClusterAccessOptions): ConsoleAccess {
  const { nowMs } = options;
  /** By token hash, least recently used first. */
  const people = new Map<string, Known>();

  function know(token: string, hash: string, before: Known | undefined): Known {
    const client = createKubeClient({
      access: options.access.as(token),
      userAgent: options.userAgent,
      meter: options.meter,
    });
    const rights = before?.rights ?? createRights({ client, nowMs });
    const onSignedOut = (): void => void people.delete(hash);
    const person = nameOf(client).then((name) =>
      name === undefined ? undefined : clusterPerson({ ...options, name, client, rights, onSignedOut }),
    );
    return { person, rights, asOfMs: nowMs() };
  }

  return {
    backend: 'Kubernetes',
    async signIn({ token }) {
      if (!TOKEN.test(token)) return undefined;
      const hash = createHash('sha256').update(token).digest('base64');
      const before = people.get(hash);
      const known = before && nowMs() - before.asOfMs < KNOWN_MS ? before : know(token, hash, before);
      people.delete(hash);
      people.set(hash, known);
      for (const oldest of people.keys()) if (people.size > MAX_PEOPLE) people.delete(oldest);
      try {
        const person = await known.person;
        if (!person) people.delete(hash);
        return person;
      } catch (error) {
        people.delete(hash);
        throw accessErrorOf(error);
      }
    },
  };
}

/** undefined: the token is invalid. */
async function nameOf(client: ReturnType<typeof createKubeClient>): Promise<string | undefined> {
  try {
    const { status } = await client.request({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    });
    const name: unknown = status?.userInfo?.username;
    return typeof name === 'string' && name !== '' && name !== ANONYMOUS ? name : undefined;
  } catch (error) {
    if (hasStatus(error, 401)) return undefined;
    if (hasStatus(error, 404))
      throw new AccessError(
        'Unavailable',
        'The cluster cannot say whose token this is: Kubernetes 1.28 or later is needed.',
        { cause: error },
      );
    throw error;
  }
}
