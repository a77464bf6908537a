/** JSON at byte level: scanning, editing, refusing, and numbers that a double cannot represent. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { readChatFacts as readAnthropic } from '../../../../dataplane/protocol/anthropic/facts.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import { editObject, memberBytes } from '../../../../dataplane/protocol/json-edit.ts';
import { parseLossless, parseObject, writeJson } from '../../../../dataplane/protocol/json-value.ts';
import { findSyntaxFault, MAX_DEPTH, MAX_VALUES, scanObject } from '../../../../dataplane/protocol/json-scan.ts';
import { readChatFacts as readOpenAi } from '../../../../dataplane/protocol/openai/facts.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { parseJson } from '../../../../dataplane/protocol/parse-json.ts';
import { refusalOf } from './refusal.ts';

const edit = (text: string, edits: Record<string, string | undefined>): string =>
  Buffer.from(editObject(Buffer.from(text), new Map(Object.entries(edits)))).toString('utf8');

const fault = (text: string | Buffer): RequestFault => refusalOf(() => parseBody(Buffer.from(text)));

/** JSON text with white space of any kind, and escapes where none are needed. */
const spaced = fc
  .tuple(
    fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }), { maxKeys: 8 }),
    fc.integer({ min: 0, max: 3 }),
  )
  .map(([value, indent]) => JSON.stringify(value, undefined, indent === 3 ? '\t\r\n ' : indent));

test('parts that an edit does not name stay byte for byte', () => {
  const body =
    '\r\n{ "model" : "a" ,\n\t"big":12345678901234567890, ' +
    '"small":1.0e-400,"escaped":"\\u0041\\/\\ud83d\\ude00","n":1.10 , "nested":{"model":"a","x":[1,{"model":"b"}]} } ' +
    '\n';
  assert.equal(edit(body, { model: '"b"' }), body.replace('"model" : "a"', '"model" : "b"'));
  assert.equal(edit(body, { n: undefined }), body.replace(',"n":1.10', ''));
  assert.equal(edit(body, { max_tokens: '5' }), body.replace(']} }', ']},"max_tokens":5 }'));
  assert.equal(
    edit(body, { model: undefined, nested: undefined, add: 'true' }),
    '\r\n{ "big":12345678901234567890, "small":1.0e-400,"escaped":"\\u0041\\/\\ud83d\\ude00","n":1.10,"add":true } \n',
  );
});

test('numbers and names that begin alike are not confused', () => {
  const within = new Uint8Array(Buffer.from('[{"a":1}]').subarray(1, 8));
  const view = new Uint8Array(Uint8Array.from([0x5b, ...within]).buffer, 1);
  assert.deepEqual(parseObject(view), { a: 1 });
  assert.equal(scanObject(view)?.end, 7);
  assert.equal(Buffer.from(editObject(view, new Map([['b', '2']]))).toString(), '{"a":1,"b":2}');
});

test('members are found by their name in any escaping', () => {
  assert.equal(edit('{"mod\\u0065l":1}', { model: '2' }), '{"mod\\u0065l":2}');
  assert.equal(Buffer.from(memberBytes(Buffer.from('{"a":{"b":"}"},"c":[1 , 2]}'), 'c') ?? []).toString(), '[1 , 2]');
});

test('an empty object can gain members, and one that loses all is empty', () => {
  assert.equal(edit('{}', { a: '1', b: '2' }), '{"a":1,"b":2}');
  assert.equal(edit('{ }', { a: '1' }), '{"a":1 }');
  assert.equal(edit('{"a":1,"b":2}', { a: undefined, b: undefined }), '{}');
  assert.equal(edit('{"a":1,"b":2}', { a: undefined, b: undefined, c: '3' }), '{"c":3}');
});

test('an edit equals the same change to the parsed value', () => {
  fc.assert(
    fc.property(
      spaced,
      fc.dictionary(fc.string(), fc.option(fc.jsonValue(), { nil: undefined }), { maxKeys: 4 }),
      (text, changes) => {
        const parsed = Object.entries(parseJson(text) as Record<string, unknown>);
        const edits = new Map([
          ...parsed.slice(0, 2).map(([name]) => [name, changes[name]] as const),
          ...Object.entries(changes),
        ]);
        const expected = new Map(parsed);
        for (const [name, value] of edits)
          if (value === undefined) expected.delete(name);
          else expected.set(name, value);
        const edited = Buffer.from(
          editObject(
            Buffer.from(text),
            new Map([...edits].map(([name, value]) => [name, value === undefined ? undefined : JSON.stringify(value)])),
          ),
        ).toString('utf8');
        assert.deepEqual(
          new Map(Object.entries(parseJson(edited) as object)),
          new Map(Object.entries(parseJson(JSON.stringify(Object.fromEntries(expected))) as object)),
        );
      },
    ),
  );
});

test('the scanner finds exactly the members that parsing finds', () => {
  fc.assert(
    fc.property(spaced, (text) => {
      const bytes = Buffer.from(text);
      const found = scanObject(bytes)?.members.map(({ name, valueStart, valueEnd }) => [
        name,
        parseJson(bytes.toString('utf8', valueStart, valueEnd)),
      ]);
      const parsed = Object.entries(parseJson(text) as object).map(([name, value]) => [name, value]);
      // JavaScript puts names that are numbers first
      const byName = ([a]: unknown[], [b]: unknown[]): number => (String(a) < String(b) ? -1 : 1);
      assert.deepEqual(found?.sort(byName), parsed.sort(byName));
    }),
  );
});

test('the scanner and the search for an error terminate on any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      scanObject(bytes);
      findSyntaxFault(bytes);
    }),
  );
});

test('an error is found exactly where JSON.parse finds one', () => {
  const mangled = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom(...'{}[]",:\\0e-+.ntf \u0001'.split('')))
    .map(([text, at, byte]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + byte + text.slice(place + (at % 2));
    });
  fc.assert(
    fc.property(mangled, (text) => {
      let parses = true;
      try {
        JSON.parse(text);
      } catch {
        parses = false;
      }
      assert.equal(findSyntaxFault(Buffer.from(text)) === undefined, parses);
    }),
    { numRuns: 2000 },
  );
});

test('a body that is not JSON is refused with the position and without its text', () => {
  const secret = '{"model":"m",\n "messages": [{"content": "my secret" oops}]}';
  const { code, message } = fault(secret);
  assert.equal(code, 'invalid_json');
  assert.equal(message, 'The body is not valid JSON: unexpected byte 53 (line 2, column 39).');
  assert.match(fault('{"model":"m"').message, /ends too early, at byte 13 \(line 1, column 13\)/);
  for (const [text, at] of [
    ['{"a":01}', 7],
    ['{"a":tru}', 9],
    ['{"a":"\\x"}', 8],
    ['{"a":"\\u12g4"}', 11],
    ['{"a":1.}', 8],
    ['{"a":-}', 7],
    ['{"a":1e}', 8],
    ['{,}', 2],
    ['[1,]', 4],
    ['{} x', 4],
    ['{"a":"\n"}', 7],
  ] as const)
    assert.match(fault(text).message, new RegExp(`byte ${at} `), text);
});

test('a body must be an object in UTF-8', () => {
  for (const text of ['[]', '"x"', '1', 'null', 'true']) assert.match(fault(text).message, /must be a JSON object/);
  assert.match(fault('').message, /empty/);
  assert.match(fault('\ufeff{}').message, /byte order mark/);
  assert.match(fault(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])).message, /UTF-8/);
});

test('input that two parsers could read differently is refused', () => {
  assert.deepEqual(
    [fault('{"model":"a","model":"b"}').code, fault('{"model":"a","model":"b"}').param],
    ['invalid_request', 'model'],
  );
  assert.equal(fault('{"max_tokens":1,"max_tok\\u0065ns":100000}').param, 'max_tokens');
  assert.equal(fault('{"x":1,"x":1}').param, 'x');
  assert.equal(fault('{"Max_Tokens":1}').param, 'Max_Tokens');
  assert.equal(fault('{"\u212aodel":1, "max_to\u212aens":1}').param, 'max_to\u212aens');
  assert.equal(fault('{"me\u017f\u017fages":[]}').param, 'me\u017f\u017fages');
  for (const name of [
    'Size',
    '\u017fize',
    '\uff33\uff49\uff5a\uff45',
    'QUALITY',
    'Seconds',
    '\u017feconds',
    'Max_Tool_Calls',
  ])
    assert.equal(fault(JSON.stringify({ size: '256x256', [name]: '4096x4096' })).param, name);
  assert.equal(fault('{"reasoning":{"Max_Tokens":1}}').param, 'reasoning.Max_Tokens');
  assert.ok(parseBody(Buffer.from('{"metadata":{"Size":1,"Model":2},"extra_body":{"maxTokens":1}}')));
  assert.equal(
    fault('{"stream_options":{"include_usage":true,"include_usage":false}}').param,
    'stream_options.include_usage',
  );
  assert.deepEqual(parseBody(Buffer.from('{"Seed":1,"seed":2,"a":{"B":1,"b":2}}')), {
    Seed: 1,
    seed: 2,
    a: { B: 1, b: 2 },
  });
});

test('__proto__ is a name like any other', () => {
  const parsed = parseBody(Buffer.from('{"__proto__":{"model":"evil"},"constructor":1}'));
  assert.equal(parsed['model'], undefined);
  assert.equal(Object.getPrototypeOf(parsed), Object.prototype);
  assert.equal(({} as Record<string, unknown>)['model'], undefined);
});

test('deep nesting and too many values are refused early', () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  assert.ok(parseBody(Buffer.from(nested(MAX_DEPTH - 1))));
  assert.match(fault(nested(MAX_DEPTH)).message, /deeper/);
  assert.match(fault('['.repeat(1_000_000)).message, /deeper/);
  assert.match(fault('{"a":{"b":'.repeat(100_000)).message, /deeper/);
  assert.match(fault(`{"a":[${'[],'.repeat(MAX_VALUES)}1]}`).message, /values/);
});

test('numbers of any precision survive a conversion', () => {
  const text =
    '{"id":12345678901234567890,"f":0.12345678901234567890123,"big":1e400,"tiny":1e-400,"plain":[1,2.5,-3,' +
    '1000],"s":"1234567890123456789"}';
  assert.equal(writeJson(parseLossless(text)), text);
  assert.deepEqual(parseLossless('{"a":1.0,"b":1e3,"c":9007199254740991}'), { a: 1, b: 1000, c: 9007199254740991 });
  fc.assert(
    fc.property(fc.bigInt(), (id) => {
      assert.equal(writeJson(parseLossless(`[${id}]`)), `[${id}]`);
    }),
  );
  assert.throws(() => parseLossless('{"a":1234567890123456789'), SyntaxError);
});

test('a duplicate member is refused at any depth, by its path', () => {
  for (const [text, param] of [
    ['{"a":1,"a":1}', 'a'],
    ['{"m":[{"role":"user"},{"role":"user","content":[{"type":"text","type":"image_url"}]}]}', 'm[1].content[0].type'],
    ['{"tools":[{"function":{"name":"f","n\\u0061me":"g"}}]}', 'tools[0].function.name'],
    ['{"x":{"__proto__":1,"__proto__":2}}', 'x.__proto__'],
    ['{"a":[[{"b":1 , "c":[] , "b" : 2}]]}', 'a[0][0].b'],
    ['{"stream_options":{"include_usage":true,"include_usage":false}}', 'stream_options.include_usage'],
    [`{"${'x'.repeat(200)}":{"b":1,"b":2}}`, `${'x'.repeat(100)}…`],
  ] as const) {
    assert.throws(
      () => parseBody(Buffer.from(text)),
      (error) => error instanceof RequestFault && error.code === 'invalid_request' && error.param === param,
      text,
    );
  }
});

test('duplicate members are detected exactly', () => {
  const odd = fc.oneof(
    fc.json({ stringUnit: 'binary' }),
    fc.json({ stringUnit: fc.constantFrom('"', ':', '{', '}', '\\', ',', 'a', '[', ']') }),
  );
  // the client's own data, whose names may be anything
  fc.assert(
    fc.property(odd, odd, fc.string({ unit: fc.constantFrom('"', ':', '\\', '{', 'a', 'é') }), (one, two, name) => {
      parseBody(Buffer.from(`{"metadata":${one},"two":[${two},{"three":${one}}]}`));
      const twice = `{"metadata":${one},"two":[${two},{${JSON.stringify(name)}:${one}, ${JSON.stringify(name)} :${two}}]}`;
      assert.throws(
        () => parseBody(Buffer.from(twice)),
        (error) => error instanceof RequestFault && error.param === `two[1].${name}`,
      );
    }),
    { numRuns: 300 },
  );
});

test("a protocol field that differs only by case is refused; names in the client's own data are not", () => {
  const read = (
    read: (body: Buffer, parsed: Readonly<Record<string, unknown>>) => unknown,
    fields: object,
  ): string | undefined => {
    const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields }));
    try {
      read(body, parseBody(body));
      return undefined;
    } catch (error) {
      assert.ok(error instanceof RequestFault);
      return error.param;
    }
  };
  const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] });
  assert.equal(read(readOpenAi, { messages: [{ role: 'user', Content: [] }] }), 'messages[0].Content');
  assert.equal(
    read(readOpenAi, user([{ type: 'text', text: 'a', Image_URL: { url: 'https://x' } }])),
    'messages[0].content[0].Image_URL',
  );
  assert.equal(read(readOpenAi, user([{ type: 'text', TYPE: 'image_url' }])), 'messages[0].content[0].TYPE');
  assert.equal(
    read(readOpenAi, user([{ type: 'image_url', image_url: { URL: 'https://x' } }])),
    'messages[0].content[0].image_url.URL',
  );
  assert.equal(read(readOpenAi, { tools: [{ Type: 'web_search' }] }), 'tools[0].Type');
  assert.equal(
    read(readOpenAi, {
      tools: [
        {
          type: 'function',
          function: { name: 'f', parameters: { properties: { Type: {}, URL: {} } } },
        },
      ],
    }),
    undefined,
  );
  assert.equal(read(readAnthropic, { messages: [{ role: 'user', CONTENT: [] }] }), 'messages[0].CONTENT');
  assert.equal(
    read(readAnthropic, user([{ type: 'tool_result', content: [{ type: 'text', Source: {} }] }])),
    'messages[0].content[0].content[0].Source',
  );
  assert.equal(
    read(readAnthropic, user([{ type: 'image', source: { type: 'base64', Type: 'url' } }])),
    'messages[0].content[0].source.Type',
  );
  assert.equal(read(readAnthropic, user([{ type: 'tool_use', input: { Type: 1, CONTENT: 2 } }])), undefined);
});
