/** A folder that is loaded repeatedly: unchanged objects keep their identity, so that nothing is computed again. */
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { test } from 'vitest';
import type { ApiKey } from '#crds/types.gen.ts';
import type { LoadedFolder } from '#manifests/load-folder.ts';
import { allOf } from '#objects/resources.ts';
import { newLoader } from '../operator/support.ts';

function key(name: string, enabled = true, namespace = 'team-a'): string {
  return `---
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ${name}, namespace: ${namespace}}
spec: {enabled: ${enabled}, groupRef: {name: main}, accountRef: {name: main}}
`;
}

function namespace(name: string, team: string): string {
  return `---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}, labels: {team: ${team}}}\n`;
}

test('keeps the identity of unchanged objects and namespaces', () => {
  const load = newLoader();
  const loaded = (text: string, changedMs: number): LoadedFolder['resources'] => {
    const { resources, isValid } = load([{ path: 'keys.yaml', text, changedMs }]);
    assert.ok(isValid);
    return resources;
  };
  const before = loaded(key('a') + key('b'), 1000);
  const again = loaded(`# one comment more\n${key('a')}${key('b')}`, 2000);
  assert.equal(allOf(again.apiKeys)[0], allOf(before.apiKeys)[0]);
  assert.equal(allOf(again.apiKeys)[1], allOf(before.apiKeys)[1]);
  assert.equal(again.namespaces, before.namespaces);

  const edited = loaded(key('a') + key('b', false), 3000);
  assert.equal(allOf(edited.apiKeys)[0], allOf(before.apiKeys)[0]);
  assert.notEqual(allOf(edited.apiKeys)[1], allOf(before.apiKeys)[1]);
  assert.deepEqual(
    allOf(edited.apiKeys).map(({ metadata, spec }) => [metadata.generation, spec.enabled]),
    [
      [1000, true],
      [3000, false],
    ],
  );

  const back = loaded(key('a') + key('b'), 4000);
  assert.deepEqual(
    allOf(back.apiKeys).map(({ metadata, spec }) => [metadata.generation, spec.enabled]),
    [
      [1000, true],
      [4000, true],
    ],
  );

  loaded(key('b'), 5000);
  const anew = loaded(key('a') + key('b'), 6000);
  assert.equal(allOf(anew.apiKeys)[0]?.metadata.generation, 6000, 'one that was away is another object');
  assert.equal(allOf(anew.apiKeys)[1], allOf(back.apiKeys)[1]);
  assert.ok(Object.isFrozen(allOf(anew.apiKeys)[0]?.metadata));
});

test('gives a new version to an object that replaces another of its name again', () => {
  const load = newLoader();
  const [first, second] = [key('a'), key('a', false)];
  const versions = [first + second, second + first, first + second].map((text, at) =>
    allOf(load([{ path: 'keys.yaml', text, changedMs: 1000 + at }]).resources.apiKeys).map(({ metadata, spec }) => [
      metadata.generation,
      spec.enabled,
    ]),
  );
  assert.deepEqual(versions, [[[1000, true]], [[1001, false]], [[1002, true]]]);
});

test('recognises documents wherever they are moved', () => {
  const load = newLoader();
  const keys = (...files: [path: string, text: string][]): ApiKey[] =>
    allOf(load(files.map(([path, text]) => ({ path, text, changedMs: 1 }))).resources.apiKeys);
  const [a, b, c] = keys(['1.yaml', key('a') + key('b')], ['2.yaml', key('c')]);
  assert.deepEqual(
    [a, b, c].map((object) => object?.metadata.name),
    ['a', 'b', 'c'],
  );
  for (const files of [
    [
      ['1.yaml', key('a')],
      ['2.yaml', key('b') + key('c')],
    ],
    [
      ['2.yaml', key('b') + key('c')],
      ['renamed.yaml', key('a')],
    ],
    [
      ['1.yaml', key('c') + key('b')],
      ['2.yaml', key('a')],
    ],
    [
      ['1.yaml', `# no document\n---\n${key('c')}`],
      ['2.yaml', key('a') + key('b')],
    ],
  ] satisfies [string, string][][]) {
    const now = keys(...files);
    assert.equal(now.length, 3);
    for (const object of [a, b, c])
      assert.ok(object && now.includes(object), `${object?.metadata.name} is another one in ${JSON.stringify(files)}`);
  }
});

test('loads what the files say, whatever was loaded before', async () => {
  const piece = fc.oneof(
    fc.constantFrom('a', 'b', 'c').chain((name) => fc.boolean().map((enabled) => key(name, enabled))),
    fc.constantFrom('---\n# nothing\n', '---\nkind: None\n', `---\n${key('d')}`, '---\n: [\n'),
  );
  const folder = fc.dictionary(
    fc.constantFrom('1.yaml', '2.yaml', '3.yaml'),
    fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join('')),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(folder, { minLength: 2, maxLength: 5 }), async (folders) => {
      const load = newLoader();
      for (const files of folders.map((texts) =>
        Object.entries(texts).map(([path, text]) => ({ path, text, changedMs: 1 })),
      )) {
        const [now, anew] = [load(files), newLoader()(files)];
        assert.deepEqual(await now.diagnose(), await anew.diagnose());
        assert.deepEqual([...now.origins], [...anew.origins]);
        assert.deepEqual(
          allOf(now.resources.apiKeys).map(({ metadata: { name }, spec }) => ({ name, spec })),
          allOf(anew.resources.apiKeys).map(({ metadata: { name }, spec }) => ({ name, spec })),
        );
      }
    }),
    { numRuns: 300 },
  );
});

for (const isAway of [false, true])
  test(`of a file that is edited again and again${isAway ? ', and is away in between' : ''}, no earlier text is kept`, () => {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('gc');
    assert.ok(typeof collect === 'function');
    const load = newLoader();
    const comment = `---\n${`#${'-'.repeat(98)}\n`.repeat(10_000)}`;
    /** Each edit changes another object, with new surroundings of its metadata. */
    const textAfter = (edits: number): string =>
      Array.from({ length: 100 }, (_, index) => {
        const name = index < edits ? `somewhat-longer-name-${index}` : 'a-first-name-for-all-of-them';
        return (
          `---\napiVersion: modelgateway.dev/v1alpha1\nkind: ApiKey\nmetadata:\n  name: ` +
          `key-with-a-long-name-${index}\n  namespace: ${name}\nspec:\n  groupRef:\n    name: ${name}\n  accountRef:\n   ` +
          ` name: main\n`
        );
      }).join('') + comment;
    const heldAfter = (edits: number): number => {
      const text = Buffer.from(textAfter(edits)).toString(); // in one piece, as a file's
      assert.ok(load([{ path: 'keys.yaml', text, changedMs: edits }]).isValid);
      if (isAway) load([]);
      collect();
      return process.memoryUsage().heapUsed;
    };
    const held = Array.from({ length: 30 }, (_, edits) => heldAfter(edits));
    const grown = ((held.at(-1) ?? 0) - (held[5] ?? 0)) / 2 ** 20;
    assert.ok(grown < 10, `${grown.toFixed(1)} MiB more are kept after 24 edits of a file of 1 MB`);
  });

test('detects another namespace, or other labels', () => {
  const load = newLoader();
  const namespaces = (text: string): LoadedFolder['resources']['namespaces'] =>
    load([{ path: 'all.yaml', text }]).resources.namespaces;
  const first = namespaces(key('a') + namespace('team-b', 'b'));
  assert.equal(namespaces(namespace('team-b', 'b') + key('a')), first);
  assert.deepEqual(
    [...namespaces(key('a') + namespace('team-b', 'c'))],
    [
      ['team-b', { team: 'c' }],
      ['team-a', {}],
    ],
  );
  assert.deepEqual([...namespaces(key('a') + namespace('team-a', 'a'))], [['team-a', { team: 'a' }]]);
  assert.deepEqual(
    [...namespaces(key('a') + key('a', true, 'team-c'))],
    [
      ['team-a', {}],
      ['team-c', {}],
    ],
  );
});
