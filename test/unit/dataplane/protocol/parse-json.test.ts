/** JSON from untrusted senders: parsing one text never changes how another is parsed. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { parseEventData, parseLossless, parseObject } from '../../../../dataplane/protocol/json-value.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { parseJson } from '../../../../dataplane/protocol/parse-json.ts';
import { readProviderError } from '../../../../dataplane/protocol/provider-errors.ts';
import { refusalOf } from './refusal.ts';

const NAMES = ['n', 'model', 'size', 'seconds', 'max_tokens', 'é', '"', '\\', '\t', 'a\\u006', ''];

/** The ways to write a name: each character as it is or as an escape. */
function forms(name: string): readonly string[] {
  const hex = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const plain = JSON.stringify(name).slice(1, -1);
  const escaped = Array.from(name, (_, at) => {
    const rest = (part: string): string => JSON.stringify(part).slice(1, -1);
    return rest(name.slice(0, at)) + hex(name[at] ?? '') + rest(name.slice(at + 1));
  });
  return [...new Set([plain, ...escaped])];
}

/** Names that are spelled like the beginning of an escaped one, as JSON. */
function baits(form: string, name: string): readonly string[] {
  return [form.slice(0, name.length), form.slice(0, name.length - 1), form.slice(0, name.length + 1)].map((text) =>
    JSON.stringify(text),
  );
}

let count = 0;

test('a text reads the same, whatever was read before it', () => {
  for (const name of NAMES)
    for (const form of forms(name))
      for (const bait of baits(form, name)) {
        // names of their own, so that the engine has nothing in mind yet
        const [first, own] = [`first${count++}`, JSON.stringify(name)];
        for (const before of [`{"${first}":1,${bait}:2}`, `{"${first}":1,${own}:1,${bait}:2}`]) JSON.parse(before);
        const text = `{"${first}":1,"${form}":2}`;
        const expected = { [first]: 1, [name]: 2 };
        assert.deepEqual(parseJson(text), expected, text);
        assert.deepEqual(parseBody(Buffer.from(text)), expected, text);
        assert.deepEqual(parseObject(Buffer.from(text)), expected, text);
        assert.deepEqual(parseEventData(text), expected, text);
        assert.deepEqual(parseLossless(text), expected, text);
        if (name === '') continue;
        const twice = `{"${first}":1,${own}:1,"${form}":2}`;
        assert.match(refusalOf(() => parseBody(Buffer.from(twice))).message, /given twice/, twice);
      }
});

test("a provider's error is the one that it sent", () => {
  JSON.parse('{"code-of":1,"messag\\\\":2}');
  const body = Buffer.from('{"error":{"code-of":1,"messag\\u0065":"words"}}');
  assert.equal(readProviderError(400, body).message, 'words');
});

test('values are those of JSON.parse where nothing was read before', () => {
  const text = '[{"\\u0061":{"\\"":[{"\\\\":"\\"x\\":1"}],"b":null},"a":1e3,"\\u0031":"\\u0032"}, "\\n"]';
  const value = [{ 1: '2', a: 1000 }, '\n'];
  assert.deepEqual(parseJson(text), value);
  const deep = parseJson('{"x":{"\\u0061":{"\\"":[{"\\\\" \n: "\\"x\\":1"}],"b":null}}}');
  assert.deepEqual(deep, { x: { a: { '"': [{ '\\': '"x":1' }], b: null } } });
  assert.equal(JSON.stringify(parseLossless('{"\\u0061":12345678901234567890}')), '{"a":12345678901234567890}');
  const proto = parseJson('{"__prot\\u006f__":{"\\u0061":1}}') as object;
  assert.deepEqual(Object.entries(proto), [['__proto__', { a: 1 }]]);
  for (const broken of ['{"\\x":1}', '{"\\u00":1}', '{"\\n":', '{"a\\":1}', '{"\\n":1', '{"\\n\n":1}', '"\\":'])
    assert.throws(() => parseJson(broken), SyntaxError, broken);
});

test('a name may look like the mark of another', () => {
  for (const mark of ['\ud8000', '\ud8001', '\ud800'])
    assert.deepEqual(parseJson(`{"${mark}":1,"\\u0061":{"${mark}":2,"\\u0062":3}}`), {
      [mark]: 1,
      a: { [mark]: 2, b: 3 },
    });
});

test('any value is read as it was written, with its names escaped', () => {
  const escapeNames = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(escapeNames).join()}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const members = Object.entries(value).map(([name, inner]) => {
      const written = forms(name).at(-1) ?? '';
      return `"${written}" :${escapeNames(inner)}`;
    });
    return `{${members.join(',')}}`;
  };
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = escapeNames(value);
      assert.deepEqual(JSON.stringify(parseJson(text)), JSON.stringify(value));
    }),
  );
});
