/** What plain-yaml reads is what the whole parser reads, on every manifest of the repository and on mutations of them. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LineCounter, parseAllDocuments } from 'yaml';
import { parsePlainYaml } from '../../../operator/files/plain-yaml.ts';
import type { PlainDocument } from '../../../operator/files/plain-yaml.ts';
import { splitDocuments } from '../../../operator/files/split-documents.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const DOCUMENTS = globSync(['docs/examples/**/*.yaml', 'test/**/testdata/**/*.yaml', 'operator/**/testdata/**/*.yaml', 'crds/*.yaml'], { cwd: ROOT })
  .sort().flatMap((path) => splitDocuments(readFileSync(join(ROOT, path), 'utf8')).map(({ text }) => ({ path, text })));

/** As parse-document asks it. */
function parseWhole(text: string): PlainDocument | 'refused' {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false, merge: true, stringKeys: true, logLevel: 'silent' });
  const [document, ...more] = Array.isArray(parsed) ? parsed : [];
  if (!document || more.length > 0 || document.errors.length > 0) return 'refused';
  return { object: document.toJS({ maxAliasCount: 100 }) as PlainDocument['object'], line: lines.linePos(document.contents?.range?.[0] ?? 0).line };
}

/** JSON's text, so that the order of fields counts, and -0 and 0 differ from text. */
function assertSame(text: string): boolean {
  const plain = parsePlainYaml(text);
  if (plain) assert.equal(JSON.stringify(plain), JSON.stringify(parseWhole(text)), `of this text:\n${text}`);
  return plain !== undefined;
}

describe('plain YAML', () => {
  it('reads every manifest as the whole parser does, and most of them', () => {
    const read = DOCUMENTS.filter(({ text }) => assertSame(text));
    assert.ok(DOCUMENTS.length > 300, `${DOCUMENTS.length} documents`);
    assert.ok(read.length / DOCUMENTS.length > 0.7, `${read.length} of ${DOCUMENTS.length}`);
  });

  it('reads what people write', () => {
    const text = `--- # the first key\n\n# a comment\nkind: ApiKey # its kind\nmetadata: {name: ci-bot, labels: {a/b.c: "x y", "d": e}}\nspec:\n  models:\n  - claude-sonnet-4-5\n  - 'it'\n  quota:\n    limitUsd: "25.00"\n    n: 8\n  channels:\n    - name: direct\n      baseUrl: http://127.0.0.1:8080/v1\n\n      auth: {}\n    - {name: b, list: [1, two, true]}\n  enabled: false\n`;
    assert.ok(assertSame(text));
    assert.deepEqual(parsePlainYaml(text), { line: 4, object: {
      kind: 'ApiKey', metadata: { name: 'ci-bot', labels: { 'a/b.c': 'x y', d: 'e' } },
      spec: {
        models: ['claude-sonnet-4-5', 'it'], quota: { limitUsd: '25.00', n: 8 },
        channels: [{ name: 'direct', baseUrl: 'http://127.0.0.1:8080/v1', auth: {} }, { name: 'b', list: [1, 'two', true] }], enabled: false,
      },
    } });
    assert.ok(assertSame('{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"apiKey":"b c"}}\n'));
    assert.ok(assertSame('a: b'));
  });

  for (const [what, text] of Object.entries({
    'a key that is there twice': 'a: 1\na: 2\n', 'a scalar over two lines': 'a: b\n  c\n', 'a block of text': 'a: |\n  b\n', 'an anchor': 'a: &x b\n', 'an alias': 'a: *x\n',
    'a tag': 'a: !!str b\n', 'an escape': 'a: "\\n"\n', 'a doubled quote': 'a: \'it\'\'s\'\n', 'a tab': 'a:\tb\n', 'a line break of Windows': 'a: b\r\n', 'a fraction': 'a: 1.5\n',
    'an octal': 'a: 0o7\n', 'a large number': 'a: 12345678901234567890\n', 'null': 'a: null\n', 'nothing': 'a:\nb: 1\n', 'a key that is no text': 'true: a\n', 'a merge': '<<: {a: b}\n',
    'a prototype': '__proto__: {a: b}\n', 'a mapping in a scalar': 'a: b: c\n', 'a comment without a space': 'a: "b"#c\n', 'less indentation than before': 'a:\n    b: c\n  d: e\n',
    'more indentation than before': 'a: b\n  c: d\n', 'a list below a scalar': 'a: b\n- c\n', 'a list': '- a\n', 'a scalar': 'a\n', 'an empty text': '', 'only a comment': '# a\n', 'a flow over lines': 'a: {b: c,\n  d: e}\n',
    'a directive': '%YAML 1.2\n---\na: b\n', 'an end': 'a: b\n...\n', 'a byte order mark': '\ufeffa: b\n', 'a date': 'a: 2026-11-01\n', 'great depth': `a: ${'['.repeat(5000)}`, 'a long key': `${'a'.repeat(2000)}: b\n`,
    'a list in a list': 'a:\n- - b\n', 'an item on a line of its own': 'a:\n-\n  b: c\n', 'a set': '{a, b}\n', 'a word beside a bracket': 'a: [b]c\n',
  })) {
    it(`leaves ${what} to the whole parser`, () => assert.equal(parsePlainYaml(text), undefined));
  }

  it('never reads something else than the whole parser, whatever is changed in a manifest', () => {
    const snippet = fc.constantFrom(...Array.from(' :-#"\'{}[],&*!|>%@`?~<\\\t\r\n=/.0x_'), '\n  ', '\n- ', ': ', ' #', '- ', '---\n', '...\n', 'null', 'true', '0', '1e3', '\u00e9', '\u2028', '\u0085', '\u0000', '\ufeff', '<<: ', '__proto__: ', '"a": ', '{}', '[]', '  ');
    const edit = fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), remove: fc.integer({ min: 0, max: 6 }), insert: fc.oneof(snippet, fc.string({ maxLength: 3 })) });
    const seeds = DOCUMENTS.filter(({ text }) => text.length < 2000 && parsePlainYaml(text));
    let read = 0;
    fc.assert(fc.property(fc.constantFrom(...seeds), fc.array(edit, { minLength: 1, maxLength: 3 }), ({ text }, edits) => {
      const edited = edits.reduce((now, { at, remove, insert }) => {
        const place = Math.floor(at * now.length);
        return now.slice(0, place) + insert + now.slice(place + remove);
      }, text);
      if (assertSame(edited)) read++;
    }), { numRuns: Number(process.env['FUZZ_RUNS'] ?? 3000) });
    assert.ok(read > 100, `${read} were read`);
  });

  it('never reads something else than the whole parser in texts made of its words', () => {
    const word = fc.constantFrom('a', 'b', 'key', ':', ': ', ' ', '  ', '\n', '\n  ', '\n    ', '- ', '-', '"', '\'', '{', '}', '[', ']', ', ', ',', '#', ' # c', '1', '0', '"x"', '\'y\'', 'true', 'a: b\n', '/', '.', '---\n');
    let read = 0;
    fc.assert(fc.property(fc.array(word, { maxLength: 14 }), (words) => {
      if (assertSame(words.join(''))) read++;
    }), { numRuns: Number(process.env['FUZZ_RUNS'] ?? 10000) });
    assert.ok(read > 10, `${read} were read`);
  });
});
