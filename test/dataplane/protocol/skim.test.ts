/** Events that pass unread: whatever a stream holds, its client and the meter see what they see where every event is read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Dialect } from '../../../dataplane/protocol/call-facts.ts';
import { patternOf } from '../../../dataplane/protocol/event-pattern.ts';
import type { Hole } from '../../../dataplane/protocol/event-pattern.ts';
import { chunkPattern } from '../../../dataplane/protocol/openai/chunk-pattern.ts';
import { SseFramer } from '../../../dataplane/protocol/sse.ts';
import { byEvent, byteByByte, openStream, recordings, replay, splitAt } from './replay.ts';

const DIALECTS: readonly Dialect[] = ['OpenAI', 'Anthropic'];

/** Bytes that come one by one are never there whole: every event is read. */
function assertSame(dialect: Dialect, bytes: Buffer, places: readonly number[], wantsStreamUsage = false): void {
  const run = (pieces: readonly Buffer[]): ReturnType<typeof replay> => replay(openStream(dialect, dialect, { wantsStreamUsage }), pieces);
  const read = run(byteByByte(bytes));
  assert.deepEqual(run([bytes]), read);
  assert.deepEqual(run(splitAt(bytes, places)), read);
  assert.deepEqual(run(byEvent(bytes)), read);
}

/** The text of a JSON string as providers write it, and as they should not. */
const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', ' the', 'ü', '東京', '🗼', ' ', '') },
  { weight: 2, arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\t\\r\\b\\f', '\\u0041', '\\u00e9', '\\ud83d\\ude00', '\\ud800', 'x\\') },
  { weight: 2, arbitrary: fc.constantFrom('\\"usage\\":{\\"completion_tokens\\":9}', 'data: [DONE]', '\\n\\ndata: [DONE]\\n\\n', '"usage":{"completion_tokens":7}', '","finish_reason":"stop', '"}', '}]}') },
  { weight: 1, arbitrary: fc.constantFrom('\0', '\u0001', '\u007f', '\ufeff', '\u2028', '\n', '\r', '\r\n', '\n\n', '\xff') },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }).map((value) => JSON.stringify(value).slice(1, -1)) },
  { weight: 1, arbitrary: fc.nat(4000).map((size) => 'long '.repeat(size)) },
);

const lineEnd = fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r', '\n\r\n');

const openaiShape = fc.record({
  delta: fc.constantFrom(
    (t: string) => `{"content":"${t}"}`, (t: string) => `{"content":"${t}"}`, (t: string) => `{"role":"assistant","content":"${t}","refusal":null}`,
    (t: string) => `{"refusal":"${t}"}`, (t: string) => `{"content":null,"reasoning_content":"${t}"}`,
    (t: string) => `{"reasoning":"${t}","reasoning_content":"${t}"}`, (t: string) => `{"reasoning":"b","reasoning_content":"${t}","content":"c"}`,
    (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}]}`,
    (t: string) => `{"tool_calls":[{"index":0,"id":"i","function":{"name":"n","arguments":"${t}"}},{"index":1,"function":{"arguments":"x"}}],"content":"${t}"}`,
    (t: string) => `{"c\\u006fntent":"${t}"}`, (t: string) => `{"content":"first","content":"${t}"}`, (t: string) => `{"content":[{"type":"text","text":"${t}"}]}`,
  ),
  tail: fc.constantFrom('', '', ',"usage":null', ',"usage":null,"obfuscation":"ab"', ',"obfuscation":"abcd"', ',"\\u0075sage":null', ',"usage":{"prompt_tokens":3,"completion_tokens":2}', ',"x_groq":{"usage":{"completion_tokens":4}}', ',"usage":"none"', ',"error":null', ',"error":{"message":"m"}'),
  head: fc.constantFrom('', '', '"usage":null,', '"created":1,', '"created":22,', '"created":1.5,', '"p":"zz",', '"p":"",'),
  finish: fc.constantFrom('', ',"finish_reason":null', ',"finish_reason":null', ',"finish_reason":""', ',"finish_reason":"stop"'),
  before: fc.constantFrom('', '', '', ': hello\n', 'event: chunk\n', 'id: 7\n', 'event: error\n', ': data: {}\n'),
  colon: fc.constantFrom('data: ', 'data:', 'data:  '),
});

const openaiEvent = fc.tuple(openaiShape, fc.array(text, { minLength: 1, maxLength: 6 }), lineEnd, fc.constantFrom(0, 0, 0, 1)).map(([shape, texts, end, index]) => {
  const { delta, tail, head, finish, before, colon } = shape;
  // most of a stream is one kind of event
  return texts.map((value) => `${before}${colon}{${head}"id":"c","choices":[{"index":${index},"delta":${delta(value)}${finish}}]${tail}}${end}`).join('');
});
const openaiOther = fc.constantFrom(': ping\n\n', 'data: [DONE]\n\n', 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n', 'data: nothing\n\n', '\n', '\ufeff', 'data: {"error":{"message":"broken"}}\n\n', 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n');

const anthropicDelta = fc.tuple(
  fc.constantFrom((t: string) => `{"type":"text_delta","text":"${t}"}`, (t: string) => `{"type": "text_delta", "text": "${t}"}`, (t: string) => `{"type":"thinking_delta","thinking":"${t}"}`, (t: string) => `{"type":"input_json_delta","partial_json":"${t}"}`, (t: string) => `{"type":"signature_delta","signature":"${t}"}`, (t: string) => `{"type":"x","text":"a","other":"${t}","text":"b"}`, (t: string) => `{"type":"x","other":"o","text":"${t}","thinking":"${t}"}`),
  fc.array(text, { minLength: 1, maxLength: 6 }), lineEnd, fc.constantFrom('', '', ',"usage":{"output_tokens":3}', ',"message":{"usage":{"input_tokens":1}}', ',"usage":null', ',"p":"abc"'),
).map(([delta, texts, end, tail]) => texts.map((value) => `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":${delta(value)}${tail}}${end}`).join(''));
const anthropicOther = fc.constantFrom('event: ping\ndata: {"type":"ping"}\n\n', 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":4,"output_tokens":1}}}\n\n', 'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n', 'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}\n\n', 'event: message_stop\ndata: {"type":"message_stop"}\n\n', 'event: error\ndata: {"type":"error","error":{"message":"m"}}\n\n');

const streams = {
  OpenAI: fc.array(fc.oneof({ weight: 5, arbitrary: openaiEvent }, { weight: 1, arbitrary: openaiOther }), { maxLength: 8 }),
  Anthropic: fc.array(fc.oneof({ weight: 5, arbitrary: anthropicDelta }, { weight: 1, arbitrary: anthropicOther }), { maxLength: 8 }),
};
const places = fc.array(fc.nat(3000), { maxLength: 8 });

for (const dialect of DIALECTS) {
  test(`${dialect}: odd streams, cut anywhere, are what they are when every event is read`, () => {
    fc.assert(fc.property(streams[dialect], places, fc.boolean(), fc.option(fc.nat(4000)), (events, cuts, wantsStreamUsage, end) => {
      const bytes = Buffer.from(events.join(''));
      assertSame(dialect, end === null ? bytes : bytes.subarray(0, end), cuts, wantsStreamUsage);
    }), { numRuns: 400 });
  });

  test(`${dialect}: and with bytes changed, left out or put in`, () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 0x0a, 0x0d, 0x22, 0x5c, 0x20, 0x7b, 0x7d, 0x80, 0xc3, 0xed, 0xff, 0x30), fc.constantFrom('change', 'remove', 'insert')), { minLength: 1, maxLength: 4 });
    fc.assert(fc.property(streams[dialect].filter((events) => events.length > 0), places, changes, (events, cuts, edits) => {
      let bytes = Buffer.from(events.join(''));
      for (const [place, byte, edit] of edits) {
        const at = place % bytes.length;
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(edit === 'remove' ? [] : [byte]), bytes.subarray(edit === 'insert' ? at : at + 1)]);
        if (bytes.length === 0) return;
      }
      assertSame(dialect, bytes, cuts);
    }), { numRuns: 400 });
  });
}

test('recordings whose events are repeated, with bytes changed', () => {
  const mangled = fc.tuple(fc.constantFrom(...recordings()), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }), places);
  fc.assert(fc.property(mangled, ([{ bytes, upstream }, changes, cuts]) => {
    const repeated = Buffer.concat(byEvent(bytes).flatMap((event) => (event.includes('delta') ? [event, event, event] : [event])));
    for (const [at, byte] of changes) repeated[at % repeated.length] = byte;
    assertSame(upstream, repeated, cuts);
  }), { numRuns: 100 });
});

const chunk = (content: string, more = ''): string => `data: {"id":"c","created":1700000000,"choices":[{"index":0,"delta":{"content":"${content}"}}]${more}}\n\n`;

function learn(event: string, passed = event): ReturnType<typeof chunkPattern> {
  const framer = new SseFramer(10_000);
  framer.append(Buffer.from(event));
  const framed = framer.next() ?? assert.fail();
  const parsed = JSON.parse(framed.data ?? '') as { choices: [{ delta: { content: string } }] };
  return chunkPattern(framed, { chunk: parsed, outputBytes: Buffer.byteLength(parsed.choices[0].delta.content), passed: Buffer.from(passed), timed: false });
}

test('a pattern matches what differs in its text alone, and counts it', () => {
  const pattern = learn(chunk('abc')) ?? assert.fail('nothing was learnt');
  const matched = (event: string): number | undefined => (pattern.match(Buffer.from(event), 0, Buffer.byteLength(event)) === Buffer.byteLength(event) ? pattern.outputBytes : undefined);
  for (const [content, bytes] of [['x', 1], ['東京', 6], ['\\n\\"', 2], ['"usage\\":'.slice(1), 7], ['[DONE]', 6]] as const) assert.equal(matched(chunk(content)), bytes, content);
  for (const content of ['', '\\u0041', '\n', '\0', 'a"', '\\', '\\x']) assert.equal(matched(chunk(content)), undefined, content);
  assert.equal(matched(chunk('x', ',"usage":{"completion_tokens":1}')), undefined);
  assert.equal(matched(chunk('x').replace('"index":0', '"index":1')), undefined);
  const broken = Buffer.concat([Buffer.from(chunk('')).subarray(0, -8), Buffer.from([0xc3]), Buffer.from(chunk('')).subarray(-8)]);
  assert.equal(pattern.match(broken, 0, broken.length), -1);
  const whole = Buffer.from(chunk('x'));
  for (let end = 0; end < whole.length; end++) assert.equal(pattern.match(whole, 0, end), -1);
  assert.equal(pattern.match(Buffer.concat([Buffer.from('??'), whole]), 2, whole.length + 2), whole.length + 2);
});

test('what was taken out of the first is taken out of all', () => {
  const pattern = learn(chunk('abc', ',"usage":null,"obfuscation":"x"'), chunk('abc', ',"obfuscation":"x"')) ?? assert.fail('nothing was learnt');
  const event = Buffer.from(chunk('some text', ',"usage":null,"obfuscation":"yyyyy"'));
  assert.equal(pattern.match(event, 0, event.length), event.length);
  const left = Buffer.concat([event.subarray(0, pattern.cutAt), event.subarray(pattern.cutAt + pattern.cutBytes)]);
  assert.equal(left.toString(), chunk('some text', ',"obfuscation":"yyyyy"'));
});

test('events that end in CR, or hold nothing that counts, are no patterns', () => {
  const hole = (kind: Hole['kind']): Hole => ({ from: 7, to: 8, kind });
  const sample = { outputBytes: 1, cut: undefined };
  assert.ok(patternOf({ ...sample, raw: Buffer.from('data: "a"\n\n').fill('x', 7, 8), holes: [hole('Counted')] }));
  assert.equal(patternOf({ ...sample, raw: Buffer.from('data: "a"\r\r'), holes: [hole('Counted')] }), undefined);
  assert.equal(patternOf({ ...sample, raw: Buffer.from('data: "a"\n\n'), holes: [hole('Text')] }), undefined);
  assert.equal(patternOf({ ...sample, raw: Buffer.from('data: "a"\n\n'), holes: [hole('Counted')], cut: { from: 6, to: 9 } }), undefined);
});

test('a stream of thousands of events leaves in one piece, and its usage is found at its end', () => {
  const events = Array.from({ length: 5000 }, (_none, index) => chunk(`word ${index}`, ',"usage":null'));
  const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n';
  const { sent, outcome, meter } = replay(openStream('OpenAI', 'OpenAI'), [Buffer.from(events.join('') + end)]);
  assert.equal(outcome, 'Complete');
  assert.equal(sent, `${events.join('').replaceAll(',"usage":null', '')}${end.split('\n\n')[0] ?? ''}\n\n`);
  assert.deepEqual([meter.final, meter.reported.output, meter.outputBytes], [true, 2, events.reduce((sum, _event, index) => sum + `word ${index}`.length, 0)]);
});
