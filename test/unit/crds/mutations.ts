/**
 * Random changes of a manifest, like people's mistakes: fields missing, misspelt, duplicated, of another type, at and
 * over a bound.
 */
import * as fc from 'fast-check';
import { isJsonObject, type Json, type JsonObject } from '#crds/json.ts';
import type { SchemaNode } from '#crds/kind-schema.ts';

type Path = readonly (string | number)[];

const SCALARS: readonly Json[] = [
  null,
  true,
  false,
  0,
  1,
  -1,
  2,
  1.5,
  10,
  11,
  256,
  1000,
  100_000_001,
  2_147_483_648,
  '',
  ' ',
  'a',
  'A',
  '1',
  '0.5',
  '-1',
  '1.0000000001',
  '9000000001',
  'Unlimited',
  'Direct',
  'Automatic',
  'Token',
  'Request',
  'Text',
  'Image',
  'Chat',
  'Images',
  'All',
  'Selector',
  'Provided',
  'Generated',
  'Anthropic',
  'OpenAI',
  'In',
  'Exists',
  'https://a',
  'https://a/v1',
  'https://a/v1/',
  'https://a?b',
  'http://u@a',
  'a.b',
  'a_b',
  'a-',
  '2027-01-01T00:00:00Z',
  '2027-13-01T00:00:00Z',
  '2027-01-01T00:00:00.5z',
  'ü',
  'a\nb',
];
const CONTAINERS: readonly Json[] = [{}, [], [{}], [[]], { name: 'a' }, [{ name: 'a' }], ['a'], ['a', 'a'], { a: 'b' }];

/** The manifest with one to three changes to its spec. */
export function arbitraryMutation(object: JsonObject, root: SchemaNode): fc.Arbitrary<JsonObject> {
  const once = (value: JsonObject): fc.Arbitrary<JsonObject> => oneChange(value, root);
  return fc.integer({ min: 1, max: 3 }).chain((count) => {
    let mutated = fc.constant(object);
    for (let done = 0; done < count; done++) mutated = mutated.chain(once);
    return mutated;
  });
}

function oneChange(object: JsonObject, root: SchemaNode): fc.Arbitrary<JsonObject> {
  const paths = pathsOf(object['spec'] ?? null, ['spec']);
  const value = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...SCALARS) },
    { weight: 1, arbitrary: fc.constantFrom(...CONTAINERS) },
  );
  const replaced = fc.tuple(fc.constantFrom(...paths), value).map(([path, json]) => changed(object, path, () => json));
  const removed = fc.constantFrom(...paths).map((path) => changed(object, path, () => undefined));
  const doubled = fc
    .constantFrom(...paths)
    .map((path) => changed(object, path, (old) => (Array.isArray(old) ? [...old, ...old] : old)));
  const added = fc.constantFrom(...paths).chain((path) => {
    const fields = [...Object.keys(nodeAt(root, path)?.properties ?? {}), 'unheardOf'];
    return fc
      .tuple(fc.constantFrom(...fields), value)
      .map(([field, json]) => changed(object, path, (old) => (isJsonObject(old) ? { ...old, [field]: json } : old)));
  });
  return fc.oneof(
    {
      weight: 4,
      arbitrary: replaced,
    },
    { weight: 2, arbitrary: removed },
    { weight: 1, arbitrary: doubled },
    { weight: 3, arbitrary: added },
  );
}

function pathsOf(value: Json, path: Path): Path[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item: Json, index) => pathsOf(item, [...path, index]))];
  if (isJsonObject(value))
    return [path, ...Object.entries(value).flatMap(([field, child]) => pathsOf(child, [...path, field]))];
  return [path];
}

function nodeAt(root: SchemaNode, path: Path): SchemaNode | undefined {
  return path.reduce<SchemaNode | undefined>(
    (node, segment) => (typeof segment === 'number' ? node?.items : node?.properties?.[segment]),
    root,
  );
}

function changed(object: JsonObject, path: Path, change: (old: Json) => Json | undefined): JsonObject {
  return changedAt(object, path, change) as JsonObject;
}

function changedAt(value: Json, [segment, ...rest]: Path, change: (old: Json) => Json | undefined): Json | undefined {
  if (segment === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.flatMap((item: Json, index) => (index === segment ? present(changedAt(item, rest, change)) : [item]));
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, child]) =>
      field === segment ? present(changedAt(child, rest, change)).map((now) => [field, now]) : [[field, child]],
    ),
  );
}

function present(value: Json | undefined): Json[] {
  return value === undefined ? [] : [value];
}
