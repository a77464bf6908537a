/** Requests to the API server about a person's rights, how often they are sent, and the results. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createRights, mapConcurrently } from '../../../../console/access/rights.ts';
import { createTtlCache } from '../../../../console/access/ttl-cache.ts';
import type { KubeRequest } from '#kube/client.ts';
import { KubeError, KubeUnreachable } from '#kube/errors.ts';

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Server {
  readsAll: boolean;
  /** "verb namespace name" */
  allows: Set<string>;
  rules: Record<string, readonly Rule[]>;
  incomplete: boolean;
  fails: boolean;
}

function setUp(over: Partial<Server> = {}) {
  const server: Server = { readsAll: false, allows: new Set(), rules: {}, incomplete: false, fails: false, ...over };
  const asked: string[] = [];
  let nowMs = 0;
  const rights = createRights({
    nowMs: () => nowMs,
    client: {
      async request({ path, body }: KubeRequest) {
        const { namespace, resourceAttributes: about } =
          (body as { spec?: { namespace?: string; resourceAttributes?: Record<string, string> } } | undefined)?.spec ??
          {};
        const what = path.endsWith('limit=1')
          ? 'read'
          : path.endsWith('rulesreviews')
            ? `rules ${namespace}`
            : `may ${[about?.['verb'], about?.['namespace'] ?? '*', about?.['name'] ?? ''].join(' ').trim()}`;
        asked.push(what);
        if (server.fails) throw new KubeUnreachable('no');
        if (what === 'read') {
          if (server.readsAll) return { items: [] };
          throw new KubeError('forbidden', { status: 403 });
        }
        if (namespace !== undefined)
          return { status: { resourceRules: server.rules[namespace] ?? [], incomplete: server.incomplete } };
        return { status: { allowed: server.allows.has(what.slice('may '.length)) } };
      },
    },
  });
  return {
    server,
    rights,
    asked,
    pass: (ms: number) => {
      nowMs += ms;
    },
    take: () => asked.splice(0),
  };
}

const EDIT: Rule = { verbs: ['*'], apiGroups: ['modelgateway.dev'], resources: ['apikeys'] };
const NAMED: Rule = { verbs: ['get'], apiGroups: ['*'], resources: ['*'], resourceNames: ['ci', 'bot'] };
const OTHER: Rule = { verbs: ['*'], apiGroups: ['apps'], resources: ['*'] };
const teams = (): string[] => ['a', 'b', 'c'];

describe("a person's rights", () => {
  it('are read with one request for all namespaces', async () => {
    const { rights, asked } = setUp({ readsAll: true });
    assert.equal(await rights.readable('ApiKey', () => assert.fail('no namespace matters')), 'All');
    assert.deepEqual(asked, ['read']);
  });

  it('are listed by rules and decided by the server', async () => {
    const { rights, take } = setUp({ rules: { a: [EDIT], b: [EDIT, OTHER], c: [OTHER] }, allows: new Set(['list a']) });
    // b is denied by some other authorizer
    assert.deepEqual(await rights.readable('ApiKey', teams), { namespaces: new Set(['a']), named: new Set() });
    assert.deepEqual(take().sort(), ['may list a', 'may list b', 'read', 'rules a', 'rules b', 'rules c']);
  });

  it('are checked in every namespace if rules may be incomplete', async () => {
    const { rights } = setUp({ incomplete: true, allows: new Set(['list c']) });
    assert.deepEqual(await rights.readable('ApiKey', teams), { namespaces: new Set(['c']), named: new Set() });
  });

  it('are checked by name for objects that a rule names', async () => {
    const { rights } = setUp({ rules: { a: [NAMED] }, allows: new Set(['get a ci']) });
    assert.deepEqual(await rights.readable('ApiKey', teams), { namespaces: new Set(), named: new Set(['a/ci']) });
    assert.deepEqual(await rights.among(teams(), 'get', 'ApiKey'), []);
  });

  it('are cached for seconds, and a complete refusal for a minute', async () => {
    const { rights, take, pass, server } = setUp({ rules: { a: [EDIT] }, allows: new Set(['list a']) });
    const look = () => rights.readable('ApiKey', teams);
    const [first, second] = await Promise.all([look(), look()]);
    assert.deepEqual(first, second);
    assert.equal(take().length, 5); // the two asked as one
    pass(9_999);
    await look();
    assert.deepEqual(take(), []);
    pass(1);
    server.allows.clear();
    assert.deepEqual(await look(), { namespaces: new Set(), named: new Set() });
    assert.deepEqual(take().sort(), ['may list a', 'read', 'rules a']);
    pass(50_000);
    await look();
    assert.deepEqual(take().sort(), ['may list a', 'read', 'rules a', 'rules b', 'rules c']);
    rights.forget();
    await look();
    assert.equal(take().length, 5);
  });

  it('are not cached and denied if they could not be checked', async () => {
    const { rights, server } = setUp({ readsAll: true, allows: new Set(['list * ', 'list *']), fails: true });
    await assert.rejects(rights.readable('ApiKey', teams), KubeUnreachable);
    await assert.rejects(rights.may({ verb: 'list', kind: 'ApiKey' }), KubeUnreachable);
    server.fails = false;
    assert.equal(await rights.readable('ApiKey', teams), 'All');
    assert.deepEqual(await rights.among(['b', 'a'], 'list', 'ApiKey'), ['a', 'b']);
  });
});

describe('cached answers', () => {
  it('are evicted when there are too many, and not mixed up during requests', async () => {
    const kept = createTtlCache<number>({ nowMs: () => 0, ttlMs: () => 10, maxEntries: 2 });
    let asked = 0;
    const ask = (key: string): Promise<number> => kept.get(key, async () => ++asked);
    assert.deepEqual([await ask('a'), await ask('a'), await ask('b'), await ask('c'), await ask('a')], [1, 1, 2, 3, 4]);
    const late = Promise.withResolvers<number>();
    const slow = kept.get('slow', () => late.promise);
    kept.clear();
    assert.equal(await ask('slow'), 5);
    late.resolve(0);
    assert.deepEqual([await slow, await ask('slow')], [0, 5]);
  });

  it('keep the order of the requests, with limited concurrency', async () => {
    let [running, most] = [0, 0];
    const doubled = await mapConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (n) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      running--;
      return n * 2;
    });
    assert.deepEqual([doubled, most], [[2, 4, 6, 8, 10, 12, 14], 3]);
    assert.deepEqual(await mapConcurrently([], 3, () => assert.fail('nothing')), []);
  });
});
