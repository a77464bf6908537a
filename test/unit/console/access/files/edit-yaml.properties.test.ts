/** Random sequences of edits: the text has the wanted values, and every other comment, in the same order. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { it } from 'vitest';
import { parse } from 'yaml';
import type { Json, JsonObject } from '#crds/json.ts';
import { isJsonObject } from '#crds/json.ts';
import { UneditableError, editYaml } from '../../../../../console/access/files/edit-yaml.ts';
import { mergePatch } from '../../../../../console/access/files/merge-patch.ts';
import { readYaml } from '#manifests/yaml.ts';

/** A field with its lines; its comments identify it. */
interface Field {
  readonly name: string;
  readonly lines: readonly string[];
}

const scalar = fc.oneof(
  fc.constantFrom(
    'a',
    'yes',
    'two words',
    '25.00',
    '1e3',
    ': #',
    '',
    '- x',
    '~',
    'null',
    'ä\u0301 😀',
    '"quoted"',
    "it's",
    'line\nbreak',
    '@at',
    '0x1f',
    '2027-01-01',
  ),
  fc.integer({ min: -5, max: 1_000_000 }),
  fc.boolean(),
);
const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('x', 'y', 'z'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

/** The ways in which a person may write a field of a spec. */
function fieldOf(name: string): fc.Arbitrary<Field> {
  const mark = (at: string): string => `# ${name} ${at}`;
  return fc
    .constantFrom<readonly string[]>(
      [`  ${name}: plain`],
      [`  ${name}: "quoted"   ${mark('beside')}`],
      [`  ${name}: 'single'`],
      [`  ${mark('above')}`, `  ${name}: 12`],
      [`  ${name}: {x: 1, y: "2"}  ${mark('beside')}`],
      [`  ${name}: [a, "b", 3]`],
      [`  ${name}: {}`],
      [`  ${name}: []`],
      [`  ${name}:`],
      [`  ${name}:`, '    x: 1', `    ${mark('within')}`, '    y: [a]'],
      [`  ${name}:`, '  - a', `  - b ${mark('item')}`, '  - c'],
      [`  ${name}:`, '    - x: 1', '      y: 2', '    - {x: 3}'],
      [`  ${name}: |`, '    text', '    text', ''],
      [`  ${name}: {`, '    x: 1,', '    y: 2', '  }'],
    )
    .map((lines) => ({ name, lines }));
}

const manifest = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { minLength: 1 })
  .chain((names) => fc.tuple(...names.map(fieldOf)));
const patches = fc.array(
  fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'g'), fc.oneof(value, fc.constant(null)), {
    minKeys: 1,
    maxKeys: 2,
    noNullPrototype: true,
  }),
  { minLength: 1, maxLength: 5 },
);

function textOf(fields: readonly Field[], eol: string): string {
  return [
    '# the beginning',
    'kind: Thing  # a kind',
    'spec:',
    ...fields.flatMap(({ lines }) => lines),
    '# between',
    'last: [1, 2]  # the end',
    '',
  ].join(eol);
}

function specOf(text: string): object {
  const { spec }: { readonly spec: object } = parse(text);
  return spec;
}

it('a sequence of edits makes its changes and keeps the rest', () => {
  let edits = 0;
  let obstacles = 0;
  fc.assert(
    fc.property(manifest, patches, fc.constantFrom('\n', '\r\n'), (fields, sequence, eol) => {
      let text = textOf(fields, eol);
      const touched = new Set<string>();
      for (const spec of sequence) {
        const before: JsonObject = parse(text);
        const wanted = mergePatch(before, { spec });
        assert.ok(isJsonObject(wanted));
        // a map without fields is not a spec
        if (!isJsonObject(wanted['spec']) || Object.keys(wanted['spec']).length === 0) continue;
        edits++;
        try {
          const next = editYaml(text, wanted);
          assert.deepEqual(
            parse(next),
            wanted,
            `${JSON.stringify(text)} with ${JSON.stringify(spec)} became ${JSON.stringify(next)}`,
          );
          assert.deepEqual(
            readYaml(next).map((document) => document.value),
            [wanted],
          );
          assert.deepEqual(Object.keys(specOf(next)), Object.keys(wanted['spec']), 'the order of fields');
          text = next;
          for (const name of Object.keys(spec)) touched.add(name);
        } catch (error) {
          if (!(error instanceof UneditableError)) throw error;
          obstacles++;
        }
      }
      const kept = fields
        .filter(({ name }) => !touched.has(name))
        .flatMap(({ lines }) => lines.flatMap((line) => /# .*/.exec(line) ?? []));
      let at = 0;
      for (const comment of ['# the beginning', '# a kind', ...kept, '# between', '# the end']) {
        const found = text.indexOf(comment + eol, at);
        assert.ok(found >= 0, `${JSON.stringify(comment)} is lost in ${JSON.stringify(text)}`);
        at = found + comment.length;
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(obstacles < edits / 20, `${obstacles} of ${edits} edits could not be made`);
});
