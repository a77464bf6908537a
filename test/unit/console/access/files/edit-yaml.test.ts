/** Edits of manifests: one value or line changes; comments, order and all other values stay. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { parse } from 'yaml';
import type { Json, JsonObject } from '#crds/json.ts';
import { UneditableError, editYaml } from '../../../../../console/access/files/edit-yaml.ts';
import { mergePatch } from '../../../../../console/access/files/merge-patch.ts';

/** The removed (-) and added (+) lines, in order. */
function edited(text: string, patch: Json): string[] {
  const merged = mergePatch(parse(text, { merge: true }), patch);
  const result = editYaml(text, merged as JsonObject);
  assert.deepEqual(parse(result, { merge: true }), merged);
  return difference(linesOf(text), linesOf(result));
}

/** Removes empty lines, and the spaces before comments. */
function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/ +#/, ' #'));
}

/** By the longest common lines. */
function difference(before: readonly string[], after: readonly string[]): string[] {
  const lengths = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--)
      (lengths[i] ?? [])[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: string[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      i++;
      j++;
    } else if (i < before.length && at(i + 1, j) >= at(i, j + 1)) lines.push(`-${before[i++]}`);
    else lines.push(`+${after[j++]}`);
  }
  return lines;
}

const KEY = `# The key of the pipeline.
apiVersion: modelgateway.dev/v1alpha1
kind: ApiKey
metadata: {name: ci, namespace: team-a}   # one line
spec:
  # who pays
  accountRef: {name: team-a}
  groupRef:
    name: auto-a          # the cheap one

  quota:
    limitUsd: "25.00"     # per month
    period: Monthly
  models:
  # the large one
  - claude-sonnet-4-5
  - 'gpt-5'   # quoted
  # comments at the end
  enabled: yes-not-really
  key: {rotation: 1, overlapSeconds: 60}
# the end
`;

describe('an edit', () => {
  const cases: [name: string, patch: Json, difference: string[]][] = [
    [
      'replaces a text in its quotes',
      { spec: { quota: { limitUsd: '30' } } },
      ['-    limitUsd: "25.00" # per month', '+    limitUsd: "30" # per month'],
    ],
    [
      'replaces a plain word',
      { spec: { groupRef: { name: 'smart' } } },
      ['-    name: auto-a # the cheap one', '+    name: smart # the cheap one'],
    ],
    [
      'quotes what would be no text',
      { spec: { groupRef: { name: 'on' } } },
      ['-    name: auto-a # the cheap one', '+    name: "on" # the cheap one'],
    ],
    [
      'replaces within brackets',
      { spec: { key: { rotation: 2 } } },
      ['-  key: {rotation: 1, overlapSeconds: 60}', '+  key: {rotation: 2, overlapSeconds: 60}'],
    ],
    [
      'adds within brackets',
      { spec: { key: { type: 'Generated' } } },
      ['-  key: {rotation: 1, overlapSeconds: 60}', '+  key: {rotation: 1, overlapSeconds: 60, type: Generated}'],
    ],
    [
      'removes within brackets',
      { spec: { key: { rotation: null } } },
      ['-  key: {rotation: 1, overlapSeconds: 60}', '+  key: {overlapSeconds: 60}'],
    ],
    [
      'removes the last within brackets',
      { spec: { key: { overlapSeconds: null } } },
      ['-  key: {rotation: 1, overlapSeconds: 60}', '+  key: {rotation: 1}'],
    ],
    [
      'empties brackets',
      { spec: { key: { rotation: null, overlapSeconds: null } } },
      ['-  key: {rotation: 1, overlapSeconds: 60}', '+  key: {}'],
    ],
    ['adds a line after the last of its map', { spec: { maxConcurrency: 4 } }, ['+  maxConcurrency: 4']],
    [
      'adds a map',
      { spec: { nested: { a: 'b', c: ['d'], e: [] } } },
      ['+  nested:', '+    a: b', '+    c:', '+    - d', '+    e: []'],
    ],
    ['adds to an inner map', { spec: { quota: { whenShort: 'Refuse' } } }, ['+    whenShort: Refuse']],
    [
      'takes a line away with the comment behind it',
      { spec: { quota: { limitUsd: null } } },
      ['-    limitUsd: "25.00" # per month'],
    ],
    [
      'takes a map away',
      { spec: { quota: null } },
      ['-  quota:', '-    limitUsd: "25.00" # per month', '-    period: Monthly'],
    ],
    [
      'writes an emptied map as such',
      { spec: { quota: { limitUsd: null, period: null } } },
      ['-  quota:', '-    limitUsd: "25.00" # per month', '-    period: Monthly', '+  quota: {}'],
    ],
    ['adds to a list', { spec: { models: ['claude-sonnet-4-5', 'gpt-5', 'o3'] } }, ['+  - o3']],
    ["adds to a list's beginning", { spec: { models: ['o3', 'claude-sonnet-4-5', 'gpt-5'] } }, ['+  - o3']],
    ['takes from a list', { spec: { models: ['gpt-5'] } }, ['-  - claude-sonnet-4-5']],
    [
      'replaces in a list',
      { spec: { models: ['claude-sonnet-4-5', 'gpt-6'] } },
      ["-  - 'gpt-5' # quoted", "+  - 'gpt-6' # quoted"],
    ],
    [
      'writes a list anew where it becomes another sort',
      { spec: { models: 'all' } },
      ['-  - claude-sonnet-4-5', "-  - 'gpt-5' # quoted", '+    all'],
    ],
    [
      'makes a map of a word',
      { spec: { enabled: { a: 1 } } },
      ['-  enabled: yes-not-really', '+  enabled:', '+    a: 1'],
    ],
    [
      'does several things at once',
      {
        spec: {
          quota: { period: null, limitUsd: '1' },
          enabled: false,
          expirationTime: '2027-01-01T00:00:00Z',
        },
        metadata: { labels: { a: 'b' } },
      },
      [
        '-metadata: {name: ci, namespace: team-a} # one line',
        '+metadata: {name: ci, namespace: team-a, labels: {a: b}} # one line',
        '-    limitUsd: "25.00" # per month',
        '-    period: Monthly',
        '+    limitUsd: "1" # per month',
        '-  enabled: yes-not-really',
        '+  enabled: false',
        '+  expirationTime: "2027-01-01T00:00:00Z"',
      ],
    ],
  ];
  for (const [name, patch, expected] of cases) {
    it(name, () => assert.deepEqual(edited(KEY, patch).toSorted(), expected.toSorted()));
  }

  it('changes no line without a difference', () => assert.deepEqual(edited(KEY, {}), []));

  it('keeps the line ends and the indentation of a text', () => {
    const text = 'kind: A\r\nspec:\r\n    a: 1 # one\r\n    b:\r\n        - x\r\n    x: { o: 1 }\r\n';
    assert.equal(
      editYaml(text, { kind: 'A', spec: { a: 2, b: ['x', 'z'], x: { o: 1 }, c: { d: 1 } } }),
      text.replace('1 # one', '2 # one').replace('- x\r\n', '- x\r\n        - z\r\n') + '    c:\r\n        d: 1\r\n',
    );
    assert.equal(editYaml('a:\n- b\nc: {d: 1}\n', { a: ['b', 'e'], c: { d: 2 } }), 'a:\n- b\n- e\nc: {d: 2}\n');
  });

  it('adds a missing line end to the last line', () => {
    assert.equal(editYaml('a: 1\nb:\n  c: 2', { a: 1, b: { c: 2, d: 3 } }), 'a: 1\nb:\n  c: 2\n  d: 3\n');
  });

  it('keeps a separator with a comment beside it', () => {
    assert.deepEqual(edited('--- # first\n# second\na: 1 # third\n', { a: 2 }), [
      '---- # first',
      '+---',
      '+# first',
      '-a: 1 # third',
      '+a: 2 # third',
    ]);
  });

  it('never wraps a long line', () => {
    const long = 'long words '.repeat(30).trim();
    assert.deepEqual(edited(`a: ${long}\nb: [${long}, ${long}]\nc: 1\n`, { c: 2 }), ['-c: 1', '+c: 2']);
  });

  it('edits JSON as JSON', () => {
    const text = '{\n  "kind": "A",\n  "spec": {\n    "a": "1",\n    "b": ["x", "y"]\n  }\n}\n';
    const value = { kind: 'A', spec: { a: '2', b: ['x', 'z', 'y'], c: 'new' } };
    assert.equal(editYaml(text, value), `${JSON.stringify(value, undefined, 2)}\n`);
    assert.equal(editYaml('{"a": 1}', { a: 2 }), '{"a":2}\n');
  });

  it('edits lists of maps', () => {
    const text =
      'spec:\n  grants:\n  - name: a # first\n    usd: "1"\n  - {name: b, usd: "2"}\n\n  # then\n  - usd: ' +
      '"3"\n    name: c\n  x: 1\n';
    const value = (grants: Json): JsonObject => ({ spec: { grants, x: 1 } });
    const [a, b, c, d] = [
      {
        name: 'a',
        usd: '1',
      },
      { name: 'b', usd: '2' },
      { name: 'c', usd: '3' },
      { name: 'd', usd: '-4.5', reason: 'yes: no' },
    ];
    assert.equal(
      editYaml(text, value([a, b, c, d])),
      text.replace('    name: c\n', '    name: c\n  - name: d\n    usd: "-4.5"\n    reason: "yes: no"\n'),
    );
    assert.equal(editYaml(text, value([a, c])), text.replace('  - {name: b, usd: "2"}\n', ''));
    assert.equal(editYaml(text, value([{ name: 'a' }, b, c])), text.replace('    usd: "1"\n', ''));
    assert.equal(editYaml(text, value([{ usd: '1' }, b, c])), text.replace('name: a # first\n    usd', 'usd'));
    assert.equal(editYaml(text, value([])), 'spec:\n  grants: []\n  x: 1\n');
  });

  it('replaces text of several lines', () => {
    const text = 'a: |\n  one\n  two\nb: >-\n  three\n# end\n';
    assert.deepEqual(edited(text, { a: 'x' }), ['-a: |', '-  one', '-  two', '+a: x']);
    assert.deepEqual(edited(text, { b: 'z' }), ['-b: >-', '-  three', '+b: z']);
  });

  it('gives a value to a key that has none', () => {
    assert.equal(editYaml('a:\nb: 1\n', { a: 'x', b: 1 }), 'a: x\nb: 1\n');
    assert.equal(editYaml('a: # none\nb: 1\n', { a: { c: 'x' }, b: 1 }), 'a:\n  c: x\n# none\nb: 1\n');
  });
});

describe('what cannot be edited', () => {
  const obstacles: [name: string, text: string, value: JsonObject, words: RegExp][] = [
    ['an alias', 'a: &x {b: 1}\nc: *x\n', { a: { b: 1 }, c: { b: 2 } }, /alias/],
    ['an anchored part', 'a: &x {b: 1}\nc: *x\n', { a: { b: 2 }, c: { b: 1 } }, /anchor \(&x\)/],
    ['a merged field', 'a: &x {b: 1}\nc: {<<: *x, d: 2}\n', { a: { b: 1 }, c: { d: 2 } }, /merged/],
    ['several documents', 'a: 1\n---\nb: 1\n', { a: 2 }, /YAML/],
    ['a list', '- a\n', { a: 2 }, /object/],
  ];
  for (const [name, text, value, words] of obstacles) {
    it(`is ${name}`, () =>
      assert.throws(
        () => editYaml(text, value),
        (error) => error instanceof UneditableError && words.test(error.message),
      ));
  }

  it('does not prevent other edits', () => {
    assert.equal(
      editYaml('a: &x {b: 1}\nc: *x\nd: 1\n', { a: { b: 1 }, c: { b: 1 }, d: 2 }),
      'a: &x {b: 1}\nc: *x\nd: 2\n',
    );
    assert.equal(
      editYaml('a: &x {b: 1}\nc: {<<: *x, d: 2}\n', { a: { b: 1 }, c: { b: 3, d: 2 } }),
      'a: &x {b: 1}\nc: {<<: *x, d: 2, b: 3}\n',
    );
  });
});
