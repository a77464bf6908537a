/** Events that pass unread: whatever a stream holds, its client and the meter see what they see where every event is read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Dialect } from '../../../dataplane/protocol/call-facts.ts';
import { patternOf } from '../../../dataplane/protocol/event-pattern.ts';
import type { Hole } from '../../../dataplane/protocol/event-pattern.ts';
import { chunkPattern } from '../../../dataplane/protocol/openai/chunk-pattern.ts';
import { SseFramer } from '../../../dataplane/protocol/sse.ts';
import { changed, changes, DIALECTS, places, streams } from './odd-streams.ts';
import { assertReadAlike, byEvent, openStream, recordings, replay } from './replay.ts';

function assertSame(dialect: Dialect, bytes: Buffer, cuts: readonly number[], wantsStreamUsage = false): void {
  assertReadAlike(() => openStream(dialect, dialect, { wantsStreamUsage }), bytes, cuts);
}

for (const dialect of DIALECTS) {
  test(`${dialect}: odd streams, cut anywhere, are what they are when every event is read`, () => {
    fc.assert(fc.property(streams[dialect], places, fc.boolean(), fc.option(fc.nat(4000)), (events, cuts, wantsStreamUsage, end) => {
      const bytes = Buffer.from(events.join(''));
      assertSame(dialect, end === null ? bytes : bytes.subarray(0, end), cuts, wantsStreamUsage);
    }), { numRuns: 400 });
  });

  test(`${dialect}: and with bytes changed, left out or put in`, () => {
    fc.assert(fc.property(streams[dialect].filter((events) => events.length > 0), places, changes, (events, cuts, edits) => {
      assertSame(dialect, changed(Buffer.from(events.join('')), edits), cuts);
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

test('events that end in CR, or hold nothing that counts, are no patterns; nor are two texts that became one event', () => {
  const hole = (kind: Hole['kind']): Hole => ({ from: 7, to: 8, kind });
  const sample = { outputBytes: 1, cut: undefined };
  assert.ok(patternOf({ ...sample, raw: Buffer.from('data: "a"\n\n').fill('x', 7, 8), holes: [hole('Counted')] }));
  assert.equal(patternOf({ ...sample, raw: Buffer.from('data: "a"\r\r'), holes: [hole('Counted')] }), undefined);
  assert.equal(patternOf({ ...sample, raw: Buffer.from('data: "a"\n\n'), holes: [hole('Text')] }), undefined);
  assert.equal(patternOf({ ...sample, raw: Buffer.from('data: "a"\n\n'), holes: [hole('Counted')], cut: { from: 6, to: 9 } }), undefined);
  const converted = { written: Buffer.from('data: x"\n\n'), after: '"\n\n', heed: undefined };
  const pair = { raw: Buffer.from('data: "x" "y"\n\n'), outputBytes: 2, cut: undefined, holes: [hole('Counted'), { ...hole('Counted'), from: 11, to: 12 }] };
  assert.ok(patternOf({ ...pair, converted, holes: pair.holes.slice(0, 1) }));
  assert.equal(patternOf({ ...pair, converted }), undefined);
});

test('a stream of thousands of events leaves in one piece, and its usage is found at its end', () => {
  const events = Array.from({ length: 5000 }, (_none, index) => chunk(`word ${index}`, ',"usage":null'));
  const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n';
  const { sent, outcome, meter } = replay(openStream('OpenAI', 'OpenAI'), [Buffer.from(events.join('') + end)]);
  assert.equal(outcome, 'Complete');
  assert.equal(sent, `${events.join('').replaceAll(',"usage":null', '')}${end.split('\n\n')[0] ?? ''}\n\n`);
  assert.deepEqual([meter.final, meter.reported.output, meter.outputBytes], [true, 2, events.reduce((sum, _event, index) => sum + `word ${index}`.length, 0)]);
});
