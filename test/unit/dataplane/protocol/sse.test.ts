/** Framing of server-sent events. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { SseFramer } from '../../../../dataplane/protocol/sse.ts';
import type { SseEvent } from '../../../../dataplane/protocol/sse.ts';
import { byteByByte, splitAt } from './replay.ts';

function push(framer: SseFramer, piece: Uint8Array): SseEvent[] {
  framer.append(piece);
  const events: SseEvent[] = [];
  for (let event = framer.next(); event; event = framer.next())
    events.push({ raw: event.raw, event: event.event, data: event.data });
  return events;
}

function frame(pieces: readonly Uint8Array[], max = 1000): SseEvent[] {
  const framer = new SseFramer(max);
  const events = pieces.flatMap((piece) => push(framer, piece));
  const left = framer.end();
  return left ? [...events, left] : events;
}

const read = (text: string): (readonly [string | undefined, string | undefined])[] =>
  frame([Buffer.from(text)]).map(({ event, data }) => [event, data] as const);

test('parses fields with and without the space', () => {
  assert.deepEqual(read('event: a\ndata: 1\n\nevent:b\ndata:2\n\ndata:  3\n\ndata\n\n'), [
    ['a', '1'],
    ['b', '2'],
    [undefined, ' 3'],
    [undefined, ''],
  ]);
});

test('joins several data lines into one text', () => {
  assert.deepEqual(read('data: {\ndata: "a":1\ndata: }\n\n'), [[undefined, '{\n"a":1\n}']]);
});

test('ignores comments, ids and unknown fields', () => {
  assert.deepEqual(read(': ping\n\nid: 1\nretry: 5\nfoo: bar\n\n'), [
    [undefined, undefined],
    [undefined, undefined],
  ]);
});

test('parses all line ends, mixed', () => {
  assert.deepEqual(read('data: 1\r\n\r\ndata: 2\r\rdata: 3\n\ndata: 4\r\n\n'), [
    [undefined, '1'],
    [undefined, '2'],
    [undefined, '3'],
    [undefined, '4'],
  ]);
});

test('ignores a byte order mark at the beginning', () => {
  assert.deepEqual(read('\ufeffdata: 1\n\n\ufeffdata: 2\n\n'), [
    [undefined, '1'],
    [undefined, undefined],
  ]);
});

test('completes the last event with a blank line', () => {
  for (const [text, raw] of [
    ['data: 1', 'data: 1\n\n'],
    ['data: 1\n', 'data: 1\n\n'],
    ['data: 1\r', 'data: 1\r\n\n'],
    ['data: 1\r\r', 'data: 1\r\r\n\n'],
  ] as const) {
    const [event] = frame([Buffer.from(text)]);
    assert.equal(event?.data, '1');
    assert.equal(Buffer.from(event.raw).toString(), raw);
  }
});

test('keeps all bytes, and finds the same events in chunks of any size', () => {
  const line = fc.oneof(
    fc.constantFrom('data: ü🗼', 'data:', 'event: x', ': c', '', ''),
    fc.string({ unit: 'binary', maxLength: 5 }),
  );
  const stream = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 20 })
    .map((lines) => `${lines.flat().join('')}data: end\n\n`);
  fc.assert(
    fc.property(stream, fc.array(fc.nat(200), { maxLength: 8 }), (text, places) => {
      const bytes = Buffer.from(text);
      const whole = frame([bytes]);
      assert.deepEqual(Buffer.concat(whole.map(({ raw }) => raw)), bytes);
      assert.deepEqual(frame(splitAt(bytes, places)), whole);
      assert.deepEqual(frame(byteByByte(bytes)), whole);
    }),
  );
});

test('fails at an event beyond the limit', () => {
  const framer = new SseFramer(20);
  assert.equal(push(framer, Buffer.from('data: 1\n\ndata: 2')).length, 1);
  assert.equal(framer.overflowed, false);
  assert.deepEqual(push(framer, Buffer.from('2'.repeat(20))), []);
  assert.equal(framer.overflowed, true);
  assert.deepEqual(push(framer, Buffer.from('\n\ndata: 3\n\n')), []);
  assert.equal(framer.end(), undefined);
});

test('reads a large event in small chunks in linear time', () => {
  const framer = new SseFramer(8_000_000);
  push(framer, Buffer.from('data: '));
  // quadratic copying would be 60 GB here
  for (let piece = 0; piece < 30_000; piece++) push(framer, Buffer.from('x'.repeat(128)));
  assert.equal(push(framer, Buffer.from('\n\n'))[0]?.data?.length, 30_000 * 128);
});
