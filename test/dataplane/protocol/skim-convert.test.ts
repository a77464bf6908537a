/** Events that are converted unread: whatever a stream holds, its client and the meter see what they see where every event is read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EventsFromChunks } from '../../../dataplane/protocol/anthropic-openai/stream.ts';
import type { Dialect } from '../../../dataplane/protocol/call-facts.ts';
import type { AnswerNotes } from '../../../dataplane/protocol/converter.ts';
import { openEventStream } from '../../../dataplane/protocol/event-stream.ts';
import type { EventHandler } from '../../../dataplane/protocol/event-stream.ts';
import { findRewrite } from '../../../dataplane/protocol/event-rewrite.ts';
import { ChunksFromEvents } from '../../../dataplane/protocol/openai-anthropic/stream.ts';
import { changed, changes, DIALECTS, lineEnd, places, streams, text } from './odd-streams.ts';
import { assertReadAlike, byEvent, openStream, recordings, replay, STREAM_REQUEST } from './replay.ts';

const clientOf = (upstream: Dialect): Dialect => (upstream === 'OpenAI' ? 'Anthropic' : 'OpenAI');

/** The texts of one run of events, most of which are alike. */
const run = (write: (value: string) => string): fc.Arbitrary<string> => fc.array(text, { minLength: 1, maxLength: 6 }).map((texts) => texts.map(write).join(''));

const anthropicEvent = (data: { readonly type: string; readonly [field: string]: unknown }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const indexOfBlock = fc.constantFrom(0, 0, 0, 1, 2);
const opened = fc.constantFrom(
  { type: 'text', text: '' }, { type: 'text', text: 'begun' }, { type: 'thinking', thinking: '', signature: '' }, { type: 'thinking', thinking: 'begun' }, { type: 'redacted_thinking', data: 'd' },
  { type: 'tool_use', id: 't1', name: 'plain', input: {} }, { type: 'tool_use', id: 't2', name: 'custom', input: {} }, { type: 'tool_use', id: 't3', name: 'renamed', input: { a: 1 } }, { type: 'server_tool_use', id: 's', name: 'search', input: {} },
);
const smallDelta = fc.constantFrom(
  { type: 'citations_delta', citation: { type: 'web_search_result_location', url: 'https://example.com', title: 'T' } }, { type: 'citations_delta', text: 'odd' }, { type: 'signature_delta', signature: 'sig' },
  { type: 'text_delta', text: 'a', citation: 'x' }, { type: 'text_delta', text: '' },
);
/** Type, and the name of the text. */
const deltaNames = fc.constantFrom('text_delta","text', 'text_delta","text', 'thinking_delta","thinking', 'thinking_delta","thinking', 'thinking_delta","signature":"s","thinking', 'input_json_delta","partial_json', 'input_json_delta","partial_json', 'citations_delta","text');
const blockStop = (index: number): string => anthropicEvent({ type: 'content_block_stop', index });
const deltasOf = (index: number): fc.Arbitrary<string> => fc.oneof(
  { weight: 3, arbitrary: fc.tuple(deltaNames, lineEnd).chain(([names, end]) => run((value) => `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"${names}":"${value}"}}${end}`)) },
  { weight: 1, arbitrary: smallDelta.map((delta) => anthropicEvent({ type: 'content_block_delta', index, delta })) },
);
const block = indexOfBlock.chain((index) => fc.tuple(opened, fc.array(deltasOf(index), { maxLength: 4 }), fc.constantFrom(blockStop(index), blockStop(index), ''))
  .map(([content, inner, stop]) => anthropicEvent({ type: 'content_block_start', index, content_block: content }) + inner.join('') + stop));
/** As providers do it, one block after the other, all of the same number: what was learnt of one must not be used for the next. */
const plainBlock = fc.constantFrom(
  [{ type: 'text', text: '' }, 'text_delta","text'], [{ type: 'thinking', thinking: '' }, 'thinking_delta","thinking'], [{ type: 'tool_use', id: 't', name: 'plain', input: {} }, 'input_json_delta","partial_json'],
).chain(([content, names]) => run((value) => `data: {"type":"content_block_delta","index":0,"delta":{"type":"${names}":"${value}"}}\n\n`)
  .map((inner) => anthropicEvent({ type: 'content_block_start', index: 0, content_block: content }) + inner + blockStop(0)));
const anthropicRest = fc.constantFrom(blockStop(0), blockStop(1), 'event: ping\ndata: {"type":"ping"}\n\n', ': alive\n\n', anthropicEvent({ type: 'unknown' }), anthropicEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }));

const openaiChunk = (delta: string, more = ''): string => `data: {"id":"c","created":1700000000,"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":null}]${more}}\n\n`;
const callStart = fc.tuple(fc.constantFrom('"index":0,', '"index":1,', ''), fc.constantFrom('"id":"call_1",', '"id":"call_2",', ''), fc.constantFrom('"name":"plain",', '"name":"renamed",', ''), fc.constantFrom('', '{', '{}'))
  .map(([index, id, name, value]) => openaiChunk(`{"tool_calls":[{${index}${id}"type":"function","function":{${name}"arguments":"${value}"}}]}`));
const callPieces = fc.constantFrom(
  (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}]}`, (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}},{"index":1,"function":{"arguments":"w"}}]}`,
  (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}],"function_call":{"arguments":"w"}}`, (t: string) => `{"content":"${t}"}`,
);
const pieces = fc.constantFrom(
  (t: string) => `{"content":"${t}"}`, (t: string) => `{"content":"${t}","role":"assistant","tool_calls":[]}`, (t: string) => `{"reasoning_content":"${t}"}`, (t: string) => `{"reasoning":"${t}","reasoning_content":"${t}"}`,
  (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}]}`, (t: string) => `{"tool_calls":[{"index":1,"function":{"arguments":"${t}"}}]}`, (t: string) => `{"tool_calls":[{"function":{"arguments":"${t}"}}]}`,
  (t: string) => `{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"plain","arguments":"${t}"}}]}`, (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}},{"index":1,"function":{"arguments":"w"}}]}`,
  (t: string) => `{"content":"${t}","function_call":{"arguments":"f"}}`, (t: string) => `{"function_call":{"name":"n","arguments":"${t}"}}`, (t: string) => `{"refusal":"${t}"}`, (t: string) => `{"content":"${t}","refusal":"no"}`,
  (t: string) => `{"content":[{"type":"text","text":"part"}],"refusal":"${t}"}`, (t: string) => `{"content":"${t}","audio":{"transcript":"said"}}`,
);
const chunks = fc.tuple(pieces, fc.constantFrom('', '', ',"usage":null', ',"obfuscation":"x"', ',"usage":{"completion_tokens":3}')).chain(([write, more]) => run((value) => openaiChunk(write(value), more)));
const timed = fc.tuple(pieces, fc.nat(3)).chain(([write, step]) => fc.array(text, { maxLength: 6 }).map((texts) => texts.map((value, index) => openaiChunk(write(value)).replace('1700000000', String(1_700_000_000 + index * step))).join('')));
/** What was learnt of a block must not be used once another was opened. */
const turns = fc.array(fc.tuple(fc.constantFrom('content', 'content', 'reasoning_content'), text), { minLength: 3, maxLength: 8 }).map((said) => said.map(([name, value]) => openaiChunk(`{"${name}":"${value}"}`)).join(''));
const openaiRest = fc.constantFrom(': alive\n\n', openaiChunk('{}'), openaiChunk('{}').replace('null', '"stop"'), openaiChunk('{"content":"other"}').replace('"index":0', '"index":1'), 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n');

const call = fc.tuple(callStart, fc.array(callPieces.chain((write) => run((value) => openaiChunk(write(value)))), { maxLength: 3 })).map(([start, inner]) => start + inner.join(''));

const conversations = {
  Anthropic: fc.oneof({ weight: 3, arbitrary: block }, { weight: 2, arbitrary: plainBlock }, { weight: 2, arbitrary: indexOfBlock.chain(deltasOf) }, { weight: 1, arbitrary: anthropicRest }),
  OpenAI: fc.oneof({ weight: 2, arbitrary: chunks }, { weight: 1, arbitrary: timed }, { weight: 1, arbitrary: turns }, { weight: 2, arbitrary: call }, { weight: 1, arbitrary: openaiRest }),
};
/** What was held back until then comes out. */
const ENDS = { Anthropic: anthropicEvent({ type: 'message_stop' }), OpenAI: 'data: [DONE]\n\n' };
const notes = fc.constantFrom<AnswerNotes>({}, { customTools: new Set(['custom']) }, { legacyFunctions: true }, { toolNames: new Map([['renamed', 'of the client']]) });
const cutOff = fc.option(fc.nat(4000));

for (const upstream of DIALECTS) {
  const assertSame = (bytes: Buffer, cuts: readonly number[], request: { wantsStreamUsage?: boolean; notes?: AnswerNotes } = {}): void =>
    assertReadAlike(() => openStream(clientOf(upstream), upstream, request), bytes, cuts);

  test(`from ${upstream}: blocks, calls and thoughts in any order, cut anywhere, are what they are when every event is read`, () => {
    fc.assert(fc.property(fc.array(conversations[upstream], { maxLength: 8 }), places, notes, fc.boolean(), cutOff, (...[events, cuts, answerNotes, wantsStreamUsage, end]) => {
      const bytes = Buffer.from(events.join('') + ENDS[upstream]);
      assertSame(end === null ? bytes : bytes.subarray(0, end), cuts, { wantsStreamUsage, notes: answerNotes });
    }), { numRuns: 500 });
  });

  test(`from ${upstream}: odd streams, with bytes changed, left out or put in, too`, () => {
    fc.assert(fc.property(fc.array(fc.oneof(conversations[upstream], streams[upstream].map((events) => events.join(''))), { maxLength: 6 }), places, fc.option(changes), (events, cuts, edits) => {
      const bytes = Buffer.from(events.join(''));
      assertSame(edits === null ? bytes : changed(bytes, edits), cuts);
    }), { numRuns: 400 });
  });
}

test('recordings whose events are repeated, with bytes changed', () => {
  const mangled = fc.tuple(fc.constantFrom(...recordings()), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }), places);
  fc.assert(fc.property(mangled, ([{ bytes, upstream }, bytesChanged, cuts]) => {
    const repeated = Buffer.concat(byEvent(bytes).flatMap((event) => (event.includes('delta') ? [event, event, event] : [event])));
    for (const [at, byte] of bytesChanged) repeated[at % repeated.length] = byte;
    assertReadAlike(() => openStream(clientOf(upstream), upstream), repeated, cuts);
  }), { numRuns: 100 });
});

/** How many events of a stream were read. */
function countRead(handler: EventHandler, bytes: string): number {
  let read = 0;
  const counting: EventHandler = {
    take: (event) => {
      read++;
      return handler.take(event);
    },
    get terminal() { return handler.terminal; },
    get meter() { return handler.meter; },
    ...(handler.skimming && { skimming: handler.skimming }),
    finish: () => handler.finish(),
  };
  replay(openEventStream(counting, { client: 'OpenAI', requestId: 'r' }), [Buffer.from(bytes)]);
  return read;
}

test('of the deltas of a block, one is read; an escape that would be written otherwise is, too', () => {
  const delta = (index: number, names: string, value: string): string => `data: {"type":"content_block_delta","index":${index},"delta":{"type":"${names}":"${value}"}}\n\n`;
  const blockOf = (index: number, type: object, names: string): string => anthropicEvent({ type: 'content_block_start', index, content_block: type })
    + Array.from({ length: 100 }, (_none, place) => delta(index, names, place === 50 ? '\\/ \\u0041' : `ü\\n\\"${place}`)).join('') + anthropicEvent({ type: 'content_block_stop', index });
  const answer = blockOf(0, { type: 'thinking', thinking: '' }, 'thinking_delta","thinking') + blockOf(1, { type: 'text', text: '' }, 'text_delta","text') + blockOf(2, { type: 'tool_use', id: 't', name: 'n', input: {} }, 'input_json_delta","partial_json');
  assert.equal(countRead(new ChunksFromEvents(STREAM_REQUEST), answer), 3 * 4);

  const hundred = (write: (value: string) => string): string => Array.from({ length: 100 }, (_none, place) => openaiChunk(write(place === 50 ? '\\/ \\u0041' : `ü\\n\\"${place}`))).join('');
  const chunked = hundred((value) => `{"reasoning_content":"${value}"}`) + hundred((value) => `{"content":"${value}"}`)
    + openaiChunk('{"tool_calls":[{"index":0,"id":"i","function":{"name":"n","arguments":""}}]}') + hundred((value) => `{"tool_calls":[{"index":0,"function":{"arguments":"${value}"}}]}`);
  // the first chunk of text or thinking opens its block, and the next one is the lesson
  assert.equal(countRead(new EventsFromChunks(STREAM_REQUEST), chunked), 3 * 3);
});

test('a place within the content is counted in UTF-16 units, read or not', () => {
  const start = anthropicEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  const texts = ['a', 'ü', '東京', '🗼', '\\n', 'é🗼\\"'].map((value) => `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${value}"}}\n\n`).join('');
  const cited = anthropicEvent({ type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: { url: 'https://example.com' } } });
  const { sent } = replay(openStream('OpenAI', 'Anthropic'), [Buffer.from(start + texts + cited + anthropicEvent({ type: 'content_block_stop', index: 0 }))]);
  assert.match(sent, /"start_index":0,"end_index":11\b/);
});

test('what was written is taken apart only where it is one event around the text as it came', () => {
  const raw = Buffer.from('data: {"t":"tail"}\n\n');
  const hole = { from: raw.indexOf('tail'), to: raw.indexOf('tail') + 4 };
  const rewrite = (written: string, after = '"}\n\n'): ReturnType<typeof findRewrite> => findRewrite(raw, hole, { written: Buffer.from(written), after, heed: undefined });
  assert.equal(Buffer.from(rewrite('data: {"tail":"tail"}\n\n')?.before ?? '').toString(), 'data: {"tail":"');
  assert.equal(Buffer.from(rewrite('data: {"x":"tail"}\n\n')?.between ?? '').toString(), '"}\n\ndata: {"x":"');
  for (const written of ['data: {"x":"other"}\n\n', 'data: 1\n\ndata: {"x":"tail"}\n\n', 'data: {"x":"tail","y":1}\n\n', '"}\n\n', 'tail"}\n\n', '']) assert.equal(rewrite(written), undefined, written);
});
