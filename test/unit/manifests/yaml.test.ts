/** YAML in manifests, read as by other tools. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { LineCounter, parseAllDocuments } from 'yaml';
import { YamlError, readYaml } from '#manifests/yaml.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PATHS = globSync(
  ['docs/examples/**/*.yaml', 'test/**/testdata/**/*.yaml', 'operator/**/testdata/**/*.yaml', 'crds/*.yaml'],
  { cwd: ROOT },
).sort();

function valueOf(text: string): unknown {
  const [document, ...more] = readYaml(text);
  assert.equal(more.length, 0);
  return document?.value;
}

/** As parsed by the package that locates mistakes and edits files. */
function readByYaml(text: string): unknown[] {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, merge: true, stringKeys: true, logLevel: 'silent' });
  const documents = Array.isArray(parsed) ? parsed : [];
  return documents.flatMap((document) => {
    const value: unknown = document.toJS();
    return value === null ? [] : [{ line: lines.linePos(document.contents?.range?.[0] ?? 0).line, value }];
  });
}

describe('YAML', () => {
  it('is parsed alike by both packages, in every manifest of the repository', () => {
    let documents = 0;
    for (const path of PATHS) {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const read = readYaml(text);
      assert.deepEqual(read, readByYaml(text), path);
      documents += read.length;
    }
    assert.ok(documents > 300, `${documents} documents`);
  });

  for (const [text, value] of Object.entries({
    'a: yes\nb: on\nc: n': {
      a: 'yes',
      b: 'on',
      c: 'n',
    },
    'a: true\nb: False\nc: ~\nd:': { a: true, b: false, c: null, d: null },
    'a: 2026-11-01\nb: 2026-11-01T00:00:00Z': { a: '2026-11-01', b: '2026-11-01T00:00:00Z' },
    'a: 1.5\nb: 0o17\nc: 0x1f\nd: 017\ne: 1_000\nf: 12:30\ng: "1.5"': {
      a: 1.5,
      b: 15,
      c: 31,
      d: 17,
      e: '1_000',
      f: '12:30',
      g: '1.5',
    },
    'a: &x {b: 1}\nc: {<<: *x, d: 2}\ne: *x': { a: { b: 1 }, c: { b: 1, d: 2 }, e: { b: 1 } },
    'a: |\n  one\n  two\nb: >-\n  three\n  four\n': { a: 'one\ntwo\n', b: 'three four' },
    '\ufeffa: 1\r\nb:\r\n- c\r\n': {
      a: 1,
      b: ['c'],
    },
    '1: a\ntrue: b': { 1: 'a', true: 'b' },
    '{"a": [1, "b", {"c": null}]}': { a: [1, 'b', { c: null }] },
    '? a\n: b': { a: 'b' },
    'a: !!str 5': { a: '5' },
  })) {
    it(`parses ${JSON.stringify(text)} correctly`, () => assert.deepEqual(valueOf(text), value));
  }

  it('keeps a key that is special in an assignment', () => {
    const value = valueOf('__proto__: {a: 1}');
    assert.deepEqual(JSON.stringify(value), '{"__proto__":{"a":1}}');
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  });

  it('returns the line of each document, and skips empty ones', () => {
    assert.deepEqual(readYaml('# a\n---\n# b\na: 1\n---\n---\n# c\n...\n\n- x\n--- {c: 1}\n'), [
      { line: 4, value: { a: 1 } },
      { line: 10, value: ['x'] },
      { line: 11, value: { c: 1 } },
    ]);
    assert.deepEqual(readYaml('# nothing\n'), []);
    assert.deepEqual(readYaml(''), []);
  });

  for (const [what, text, line] of [
    ['a key twice', 'a: 1\nb:\n  c: 1\n  c: 2\n', 4],
    ['a tab as indentation', 'a:\n\tb: 1\n', 2],
    ['an alias to nothing', 'a: 1\nb: *x\n', 2],
    ['a bracket that stays open', 'a: [1\nb: 2\n', 2],
    ['a tag that nobody knows', 'a: !thing 5\n', 1],
    ['a key that is a map', '? {a: 1}\n: b\n', 1],
    ['depth without end', `a: ${'['.repeat(200)}`, 1],
    ['an alias to what is around it', 'a: &x\n  b: *x\n', 1],
  ] as const) {
    it(`refuses ${what}`, () =>
      assert.throws(
        () => readYaml(text),
        (error) => error instanceof YamlError && error.line === line,
      ));
  }

  it('allows aliases to repeat a part, but not to multiply', () => {
    const many = `a: &a {b: 1, c: 2}\nd: [${Array.from({ length: 1000 }, () => '*a').join(', ')}]`;
    assert.equal(JSON.stringify(valueOf(many)).match(/"b"/g)?.length, 1001);
    const levels = Array.from(
      { length: 9 },
      (_, index) => `l${index + 1}: &l${index + 1} [${Array.from({ length: 9 }, () => `*l${index}`).join(', ')}]`,
    );
    assert.throws(() => readYaml(`l0: &l0 [x]\n${levels.join('\n')}\n`), /too many aliases/);
  });

  it('repeats none of the text in errors', () => {
    for (const text of [
      'a: *secret',
      'a: !secret b',
      'a: !secret!x b',
      '%TAG !a! secret\n%TAG !a! secret\n---\na: 1',
      'secret: 1\nsecret: 2',
      'a: !<secret> b',
      'a: !a{secret} b',
    ])
      assert.throws(
        () => readYaml(text),
        (error) => error instanceof YamlError && !error.message.includes('secret'),
        text,
      );
  });
});
