/**
 * What a person may do, from access reviews with the person's own token. Answers are cached for seconds, so that a page
 * of ten thousand keys costs a handful of reviews. The rules that the server lists tell which namespaces are worth a
 * review; they are a hint and never grant anything.
 */
import { API_GROUP, KINDS } from '#crds/types.gen.ts';
import type { Kind } from '#crds/types.gen.ts';
import type { KubeClient } from '#kube/client.ts';
import { hasStatus } from '#kube/errors.ts';
import { pathOfKind } from '#kube/parse-object.ts';
import type { AccessVerb } from './access.ts';
import { createTtlCache } from './ttl-cache.ts';

interface Question {
  readonly verb: AccessVerb;
  readonly kind: Kind;
  /** Absent: in all namespaces at once. */
  readonly namespace?: string;
  readonly name?: string;
}

/** The objects of a kind that a person may read. */
export type ReadableObjects = 'All' | { readonly namespaces: ReadonlySet<string>; readonly named: ReadonlySet<string> };

export interface Rights {
  may(question: Question): Promise<boolean>;
  /** The namespaces among these in which it is allowed. */
  among(namespaces: Iterable<string>, verb: AccessVerb, kind: Kind): Promise<readonly string[]>;
  /**
   * Which objects may be listed, or are named in the person's own rules and may be read; looked for in these
   * namespaces.
   */
  readable(kind: Kind, namespaces: () => Iterable<string>): Promise<ReadableObjects>;
  forget(): void;
}

interface RightsOptions {
  /** Authenticates as the person. */
  readonly client: Pick<KubeClient, 'request'>;
  readonly nowMs: () => number;
}

/** A revoked right still works for this long. */
const ANSWER_MS = 10_000;
/**
 * Namespaces without any rule for the person are reviewed again only this often: in a large cluster that is nearly all
 * of them.
 */
const NOTHING_MS = 60_000;
const CONCURRENCY = 16;
const MAX_ANSWERS = 20_000;
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';

/** One rule of the person for this API in one namespace. */
interface Rule {
  readonly verbs: readonly string[];
  readonly resources: readonly string[];
  /** Empty: all. */
  readonly names: readonly string[];
}

interface Rules {
  readonly rules: readonly Rule[];
  /** The server could not list all rules, so there may be more rights. */
  readonly incomplete: boolean;
}

interface ListedRules {
  readonly resourceRules?: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly incomplete?: boolean;
}

export function createRights({ client, nowMs }: RightsOptions): Rights {
  const answers = createTtlCache<boolean>({ nowMs, ttlMs: () => ANSWER_MS, maxEntries: MAX_ANSWERS });
  const listed = createTtlCache<Rules>({
    nowMs,
    ttlMs: ({ rules }) => (rules.length > 0 ? ANSWER_MS : NOTHING_MS),
    maxEntries: MAX_ANSWERS,
  });

  function may(question: Question): Promise<boolean> {
    const { verb, kind, namespace, name } = question;
    return answers.get([verb, kind, namespace, name].join(' '), async () => {
      const resourceAttributes = {
        group: API_GROUP,
        resource: KINDS[kind].plural,
        verb,
        ...(namespace !== undefined && { namespace }),
        ...(name !== undefined && { name }),
      };
      const { status } = await client.request({
        method: 'POST',
        path: `${AUTHORIZATION}/selfsubjectaccessreviews`,
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } },
      });
      return status?.allowed === true && status.denied !== true;
    });
  }

  function rulesIn(namespace: string): Promise<Rules> {
    return listed.get(namespace, async () => {
      const { status = {} } = await client.request({
        method: 'POST',
        path: `${AUTHORIZATION}/selfsubjectrulesreviews`,
        body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } },
      });
      return ours(status);
    });
  }

  /**
   * Makes a read instead of a review, because the audit log should show that all objects of a kind are read.
   */
  function mayReadAll(kind: Kind): Promise<boolean> {
    return answers.get(`read all ${kind}`, async () => {
      try {
        await client.request({ method: 'GET', path: `${pathOfKind(kind)}?limit=1` });
        return true;
      } catch (error) {
        if (hasStatus(error, 403)) return false;
        throw error;
      }
    });
  }

  async function mayIn(namespace: string, verb: AccessVerb, kind: Kind): Promise<boolean> {
    const { rules, incomplete } = await rulesIn(namespace);
    return (
      (incomplete || rules.some((rule) => applies(rule, verb, kind) && rule.names.length === 0)) &&
      may({ verb, kind, namespace })
    );
  }

  /** Objects that the person's own rules name: they know of these, so showing them reveals nothing. */
  async function namedIn(namespace: string, kind: Kind): Promise<string[]> {
    const { rules } = await rulesIn(namespace);
    const names = [...new Set(rules.filter((rule) => applies(rule, 'get', kind)).flatMap((rule) => rule.names))];
    const allowed = await mapConcurrently(names, CONCURRENCY, (name) => may({ verb: 'get', kind, namespace, name }));
    return names.filter((_, at) => allowed[at]);
  }

  return {
    may,
    async among(namespaces, verb, kind) {
      const all = [...namespaces].sort();
      if (await may({ verb, kind })) return all;
      const allowed = await mapConcurrently(all, CONCURRENCY, (namespace) => mayIn(namespace, verb, kind));
      return all.filter((_, at) => allowed[at]);
    },
    async readable(kind, namespaces) {
      if (await mayReadAll(kind)) return 'All';
      const readable = { namespaces: new Set<string>(), named: new Set<string>() };
      await mapConcurrently([...namespaces()], CONCURRENCY, async (namespace) => {
        if (await mayIn(namespace, 'list', kind)) readable.namespaces.add(namespace);
        else for (const name of await namedIn(namespace, kind)) readable.named.add(`${namespace}/${name}`);
      });
      return readable;
    },
    forget() {
      answers.clear();
      listed.clear();
    },
  };
}

function ours({ resourceRules = [], incomplete = false }: ListedRules): Rules {
  const rules = resourceRules
    .filter(({ apiGroups = [] }) => apiGroups.includes(API_GROUP) || apiGroups.includes('*'))
    .map(({ verbs, resources = [], resourceNames = [] }) => ({ verbs, resources, names: resourceNames }));
  return { rules, incomplete };
}

function applies({ verbs, resources }: Rule, verb: AccessVerb, kind: Kind): boolean {
  return (
    (verbs.includes(verb) || verbs.includes('*')) && (resources.includes(KINDS[kind].plural) || resources.includes('*'))
  );
}

/** As Promise.all over a mapping, with at most `concurrency` running. The first failure ends it. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at];
      if (item !== undefined) results[at] = await map(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
  return results;
}
