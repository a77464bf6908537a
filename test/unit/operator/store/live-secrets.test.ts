/** Secrets merged from watches and writes; earlier results never change. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { openLiveSecrets } from '../../../../operator/store/live-secrets.ts';
import type { LiveSecrets } from '../../../../operator/store/live-secrets.ts';
import { namespacedName } from '#objects/resources.ts';
import type { SecretObject, Secrets } from '#objects/resources.ts';

type Known = Map<string, Map<string, SecretObject>>;
type Step = (secrets: LiveSecrets, known: Known) => void;

const idOf = ({ namespace, name }: SecretObject): string => `${namespace}/${name}`;
const versionOf = (secret: SecretObject | undefined): number => Number(secret?.live?.resourceVersion ?? 0);

const source = fc.constantFrom('keys ', 'credential a', 'taken a');
const secret = fc
  .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 9 }))
  .map(([name, version]): SecretObject => ({
    namespace: 'team-a',
    name,
    labels: {},
    annotations: {},
    data: new Map([['apiKey', `${name}${version}`]]),
    live: { uid: name, resourceVersion: String(version) },
  }));

const applied = fc.tuple(source, secret).map(([from, one]): Step => (secrets, known) => {
  secrets.apply(from, one);
  const those = known.get(from) ?? new Map<string, SecretObject>();
  known.set(from, those);
  if (versionOf(one) > versionOf(those.get(idOf(one)))) those.set(idOf(one), one);
});
const removed = fc.tuple(source, secret).map(([from, one]): Step => (secrets, known) => {
  secrets.remove(from, one);
  const those = known.get(from);
  if (versionOf(one) > versionOf(those?.get(idOf(one)))) those?.delete(idOf(one));
});
const replaced = fc
  .tuple(source, fc.uniqueArray(secret, { selector: idOf }))
  .map(([from, all]): Step => (secrets, known) => {
    secrets.replace(from, all);
    known.set(from, new Map(all.map((one) => [idOf(one), one])));
  });
const dropped = source.map((from): Step => (secrets, known) => {
  secrets.drop(from);
  known.delete(from);
});

/** The newest version of each from any source. */
function together(known: Known): Map<string, number> {
  const newest = new Map<string, number>();
  for (const those of known.values())
    for (const [id, one] of those) newest.set(id, Math.max(versionOf(one), newest.get(id) ?? 0));
  return newest;
}

function shown(secrets: Secrets): Map<string, number> {
  assert.ok(secrets.values().every(({ size }) => size > 0));
  return new Map(
    [...secrets.values()].flatMap((ofNamespace) =>
      [...ofNamespace.values()].map((one) => [namespacedName(one), versionOf(one)]),
    ),
  );
}

test('equals a fresh computation after any sequence of events and reads', () => {
  const steps = fc.array(
    fc.tuple(
      fc.oneof({ weight: 4, arbitrary: applied }, { weight: 2, arbitrary: removed }, replaced, dropped),
      fc.boolean(),
    ),
    { maxLength: 25 },
  );
  fc.assert(
    fc.property(steps, (told) => {
      const secrets = openLiveSecrets(() => undefined);
      const known: Known = new Map();
      const views: { readonly view: Secrets; readonly was: Map<string, number> }[] = [];
      for (const [step, looks] of told) {
        step(secrets, known);
        if (!looks) continue;
        const view = secrets.all();
        assert.equal(secrets.all(), view);
        assert.deepEqual(shown(view), together(known));
        views.push({ view, was: together(known) });
      }
      for (const { view, was } of views) assert.deepEqual(shown(view), was);
    }),
    { numRuns: 500 },
  );
});

test('reports each change, and nothing else, to each reader', () => {
  let changes = 0;
  const secrets = openLiveSecrets(() => {
    changes += 1;
  });
  const [one] = fc.sample(secret, 1);
  assert.ok(one);
  secrets.apply('keys ', one);
  secrets.apply('keys ', one);
  secrets.replace('keys ', [one]);
  secrets.drop('credential a');
  assert.equal(changes, 1);
  secrets.replace('keys ', []);
  secrets.apply('keys ', one);
  secrets.drop('keys ');
  assert.equal(changes, 4);
  assert.equal(secrets.all().size, 0);
});
