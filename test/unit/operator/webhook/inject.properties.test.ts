/**
 * Properties for every pod: injection is idempotent, the pod's own fields stay, and the key is mounted in the sidecar
 * only.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { inject } from '../../../../operator/webhook/inject.ts';
import { jsonPatch } from '../../../../operator/webhook/json-patch.ts';
import { KEY_VOLUME, SIDECAR_CONTAINER } from '../../../../operator/webhook/pod.ts';
import type { Container, Pod } from '../../../../operator/webhook/pod.ts';
import { AUTHORITIES, SETTINGS, applied } from './support.ts';

const PLAN = { settings: SETTINGS, secret: { name: 'ci-bot-key', entry: 'apiKey' }, authorities: AUTHORITIES };
const NAMES = ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY', 'OTHER', 'a/b~c'];

const name = fc.stringMatching(/^[a-z]{1,8}$/);
const env = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...NAMES),
    value: fc.constantFrom('', 'x', 'http://127.0.0.1:4000/v1', 'http://127.0.0.1:4000'),
  }),
  { selector: (each) => each.name },
);
const containers = (minLength: number) =>
  fc.uniqueArray(fc.record({ name, env, image: fc.constant('app') }, { requiredKeys: ['name'] }), {
    minLength,
    maxLength: 4,
    selector: (each) => each.name,
  });
const pods: fc.Arbitrary<Pod> = fc
  .record({
    metadata: fc.record(
      { name, annotations: fc.dictionary(fc.constantFrom('a', 'b/c', 'd~e'), fc.string()) },
      { requiredKeys: ['name'] },
    ),
    spec: fc.record(
      {
        containers: containers(1),
        initContainers: containers(0),
        volumes: fc.uniqueArray(fc.record({ name }), { selector: (each) => each.name }),
        restartPolicy: fc.constant('Never'),
      },
      { requiredKeys: ['containers'] },
    ),
  })
  .map((pod) => JSON.parse(JSON.stringify(pod)) as Pod);

function injectedOf(pod: Pod): Pod {
  const injection = inject(pod, PLAN);
  assert.ok('patch' in injection);
  return applied(pod, injection.patch);
}

describe('inject', () => {
  it('is idempotent, also after changes of the pod', () => {
    fc.assert(
      fc.property(pods, containers(0), (pod, added) => {
        const once = injectedOf(pod);
        assert.deepEqual(inject(once, PLAN), { patch: [] });
        const names = new Set([...once.spec.containers, ...(once.spec.initContainers ?? [])].map((each) => each.name));
        const more = {
          ...once,
          spec: {
            ...once.spec,
            containers: [...once.spec.containers, ...added.filter((each) => !names.has(each.name))],
          },
        };
        const again = injectedOf(more);
        assert.deepEqual(inject(again, PLAN), { patch: [] });
        assert.deepEqual(again.spec.initContainers, once.spec.initContainers);
      }),
    );
  });

  it("keeps the pod's own fields in their order", () => {
    fc.assert(
      fc.property(pods, (pod) => {
        const after = injectedOf(pod);
        const kept = (before: readonly Container[], now: readonly Container[]): void => {
          assert.deepEqual(
            now.map((each) => each.name),
            before.map((each) => each.name),
          );
          for (const [index, container] of before.entries()) {
            const { env: own = [], ...rest } = container;
            const { env: all = [], ...others } = now[index] ?? container;
            assert.deepEqual(others, rest);
            assert.deepEqual(all.slice(0, own.length), own);
            assert.equal(new Set(all.map((each) => each.name)).size, all.length);
          }
        };
        const [first, ...rest] = after.spec.initContainers ?? [];
        assert.equal(first?.name, SIDECAR_CONTAINER);
        kept(pod.spec.containers, after.spec.containers);
        kept(pod.spec.initContainers ?? [], rest);
        assert.deepEqual(after.spec.volumes?.slice(0, pod.spec.volumes?.length ?? 0), pod.spec.volumes ?? []);
        assert.deepEqual({ ...after.metadata?.annotations, ...pod.metadata?.annotations }, after.metadata?.annotations);
      }),
    );
  });

  it('mounts the key in the sidecar only', () => {
    fc.assert(
      fc.property(pods, (pod) => {
        const { containers: all, initContainers = [] } = injectedOf(pod).spec;
        const mounting = [...initContainers, ...all].filter((each) => JSON.stringify(each).includes(KEY_VOLUME));
        assert.deepEqual(
          mounting.map((each) => each.name),
          [SIDECAR_CONTAINER],
        );
      }),
    );
  });
});

describe('jsonPatch', () => {
  it('turns one value into another', () => {
    const json = fc.object({
      maxDepth: 3,
      key: fc.constantFrom('a', 'b', 'c/d', 'e~f'),
      values: [fc.integer(), fc.string(), fc.constant(null), fc.boolean()],
    });
    fc.assert(
      fc.property(json, json, (before, after) => {
        const pod = (value: object): Pod => ({ spec: { containers: [] }, value });
        assert.deepEqual(applied(pod(before), jsonPatch(pod(before), pod(after))), pod(after));
        assert.deepEqual(jsonPatch(before, structuredClone(before)), []);
      }),
    );
  });
});
