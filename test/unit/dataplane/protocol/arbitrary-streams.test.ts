/** A stream's client and its meter see the same, whatever the stream contains and however it is chunked. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import type { ConversionNotes, StreamConverter } from '../../../../dataplane/protocol/converter.ts';
import { changed, changes, DIALECTS, lineEnd, places, streams, text } from './arbitrary-streams.ts';
import { assertResponse, wholeResponse } from './response-events.ts';
import { assertCutAlike, byEvent, openStream, recordings, replay } from './replay.ts';
import type { Protocol } from './replay.ts';

const clientOf = (upstream: Protocol): Protocol => (upstream === 'OpenAI' ? 'Anthropic' : 'OpenAI');

/** The texts of a run of events, most of which are equal. */
const run = (write: (value: string) => string): fc.Arbitrary<string> =>
  fc.array(text, { minLength: 1, maxLength: 6 }).map((texts) => texts.map(write).join(''));

const anthropicEvent = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const indexOfBlock = fc.constantFrom(0, 0, 0, 1, 2);
const opened = fc.constantFrom(
  { type: 'text', text: '' },
  { type: 'text', text: 'begun' },
  {
    type: 'thinking',
    thinking: '',
    signature: '',
  },
  { type: 'thinking', thinking: 'begun' },
  { type: 'redacted_thinking', data: 'd' },
  { type: 'tool_use', id: 't1', name: 'plain', input: {} },
  { type: 'tool_use', id: 't2', name: 'custom', input: {} },
  {
    type: 'tool_use',
    id: 't3',
    name: 'renamed',
    input: { a: 1 },
  },
  { type: 'server_tool_use', id: 's', name: 'search', input: {} },
);
const smallDelta = fc.constantFrom(
  {
    type: 'citations_delta',
    citation: { type: 'web_search_result_location', url: 'https://example.com', title: 'T' },
  },
  { type: 'citations_delta', text: 'odd' },
  { type: 'signature_delta', signature: 'sig' },
  { type: 'text_delta', text: 'a', citation: 'x' },
  { type: 'text_delta', text: '' },
);
/** Type, and the name of the text. */
const deltaNames = fc.constantFrom(
  'text_delta","text',
  'text_delta","text',
  'thinking_delta","thinking',
  'thinking_delta","thinking',
  'thinking_delta","signature":"s","thinking',
  'input_json_delta","partial_json',
  'input_json_delta","partial_json',
  'citations_delta","text',
);
const blockStop = (index: number): string => anthropicEvent({ type: 'content_block_stop', index });
const deltasOf = (index: number): fc.Arbitrary<string> =>
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(deltaNames, lineEnd)
        .chain(([names, end]) =>
          run(
            (value) =>
              `event: content_block_delta\ndata: ` +
              `{"type":"content_block_delta","index":${index},"delta":{"type":"${names}":"${value}"}}${end}`,
          ),
        ),
    },
    { weight: 1, arbitrary: smallDelta.map((delta) => anthropicEvent({ type: 'content_block_delta', index, delta })) },
  );
const block = indexOfBlock.chain((index) =>
  fc
    .tuple(opened, fc.array(deltasOf(index), { maxLength: 4 }), fc.constantFrom(blockStop(index), blockStop(index), ''))
    .map(
      ([content, inner, stop]) =>
        anthropicEvent({ type: 'content_block_start', index, content_block: content }) + inner.join('') + stop,
    ),
);
/** Consecutive blocks, all with the same index. */
const plainBlock = fc
  .constantFrom(
    [{ type: 'text', text: '' }, 'text_delta","text'],
    [{ type: 'thinking', thinking: '' }, 'thinking_delta","thinking'],
    [{ type: 'tool_use', id: 't', name: 'plain', input: {} }, 'input_json_delta","partial_json'],
  )
  .chain(([content, names]) =>
    run((value) => `data: {"type":"content_block_delta","index":0,"delta":{"type":"${names}":"${value}"}}\n\n`).map(
      (inner) =>
        anthropicEvent({ type: 'content_block_start', index: 0, content_block: content }) + inner + blockStop(0),
    ),
  );
const anthropicRest = fc.constantFrom(
  blockStop(0),
  blockStop(1),
  'event: ping\ndata: {"type":"ping"}\n\n',
  ': alive\n\n',
  anthropicEvent({ type: 'unknown' }),
  anthropicEvent({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }),
);

const openaiChunk = (delta: string, more = ''): string =>
  `data: {"id":"c","created":1700000000,"model":"m","choices":[{"index":0,"delta":${delta},"finish_reason":null}]` +
  `${more}}\n\n`;
const callStart = fc
  .tuple(
    fc.constantFrom('"index":0,', '"index":1,', ''),
    fc.constantFrom('"id":"call_1",', '"id":"call_2",', ''),
    fc.constantFrom('"name":"plain",', '"name":"renamed",', ''),
    fc.constantFrom('', '{', '{}'),
  )
  .map(([index, id, name, value]) =>
    openaiChunk(`{"tool_calls":[{${index}${id}"type":"function","function":{${name}"arguments":"${value}"}}]}`),
  );
const callPieces = fc.constantFrom(
  (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}]}`,
  (t: string) =>
    `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}},{"index":1,"function":{"arguments":"w"}}]}`,
  (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}],"function_call":{"arguments":"w"}}`,
  (t: string) => `{"content":"${t}"}`,
);
const pieces = fc.constantFrom(
  (t: string) => `{"content":"${t}"}`,
  (t: string) => `{"content":"${t}","role":"assistant","tool_calls":[]}`,
  (t: string) => `{"reasoning_content":"${t}"}`,
  (t: string) => `{"reasoning":"${t}","reasoning_content":"${t}"}`,
  (t: string) => `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}}]}`,
  (t: string) => `{"tool_calls":[{"index":1,"function":{"arguments":"${t}"}}]}`,
  (t: string) => `{"tool_calls":[{"function":{"arguments":"${t}"}}]}`,
  (t: string) => `{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"plain","arguments":"${t}"}}]}`,
  (t: string) =>
    `{"tool_calls":[{"index":0,"function":{"arguments":"${t}"}},{"index":1,"function":{"arguments":"w"}}]}`,
  (t: string) => `{"content":"${t}","function_call":{"arguments":"f"}}`,
  (t: string) => `{"function_call":{"name":"n","arguments":"${t}"}}`,
  (t: string) => `{"refusal":"${t}"}`,
  (t: string) => `{"content":"${t}","refusal":"no"}`,
  (t: string) => `{"content":[{"type":"text","text":"part"}],"refusal":"${t}"}`,
  (t: string) => `{"content":"${t}","audio":{"transcript":"said"}}`,
);
const chunks = fc
  .tuple(pieces, fc.constantFrom('', '', ',"usage":null', ',"obfuscation":"x"', ',"usage":{"completion_tokens":3}'))
  .chain(([write, more]) => run((value) => openaiChunk(write(value), more)));
const timed = fc
  .tuple(pieces, fc.nat(3))
  .chain(([write, step]) =>
    fc
      .array(text, { maxLength: 6 })
      .map((texts) =>
        texts
          .map((value, index) => openaiChunk(write(value)).replace('1700000000', String(1_700_000_000 + index * step)))
          .join(''),
      ),
  );
const turns = fc
  .array(fc.tuple(fc.constantFrom('content', 'content', 'reasoning_content'), text), { minLength: 3, maxLength: 8 })
  .map((said) => said.map(([name, value]) => openaiChunk(`{"${name}":"${value}"}`)).join(''));
const openaiRest = fc.constantFrom(
  ': alive\n\n',
  openaiChunk('{}'),
  openaiChunk('{}').replace('null', '"stop"'),
  openaiChunk('{"content":"other"}').replace('"index":0', '"index":1'),
  'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n',
);

const call = fc
  .tuple(
    callStart,
    fc.array(
      callPieces.chain((write) => run((value) => openaiChunk(write(value)))),
      { maxLength: 3 },
    ),
  )
  .map(([start, inner]) => start + inner.join(''));

const conversations = {
  Anthropic: fc.oneof(
    { weight: 3, arbitrary: block },
    {
      weight: 2,
      arbitrary: plainBlock,
    },
    { weight: 2, arbitrary: indexOfBlock.chain(deltasOf) },
    { weight: 1, arbitrary: anthropicRest },
  ),
  OpenAI: fc.oneof(
    { weight: 2, arbitrary: chunks },
    {
      weight: 1,
      arbitrary: timed,
    },
    { weight: 1, arbitrary: turns },
    { weight: 2, arbitrary: call },
    { weight: 1, arbitrary: openaiRest },
  ),
};
/** The output that was held back until then. */
const ENDS = { Anthropic: anthropicEvent({ type: 'message_stop' }), OpenAI: 'data: [DONE]\n\n' };
const notes = fc.constantFrom<ConversionNotes>(
  {},
  { customTools: new Set(['custom']) },
  { legacyFunctions: true },
  { toolNames: new Map([['renamed', 'of the client']]) },
);
/** Tools as clients of the Responses dialect declare them. */
const toolNotes = fc.constantFrom<ConversionNotes>(
  {},
  {
    responseTools: new Map([
      ['plain', { kind: 'Custom', name: 'apply_patch' }],
      ['custom', { kind: 'Search', name: 'tool_search' }],
      ['renamed', { kind: 'Function', name: 'of the client', namespace: 'n' }],
    ]),
    keepsReasoning: true,
  },
);
const cutOff = fc.option(fc.nat(4000));

for (const dialect of DIALECTS) {
  test(`${dialect} passed through: arbitrary streams in chunks of any size`, () => {
    fc.assert(
      fc.property(streams[dialect], places, fc.boolean(), cutOff, (events, cuts, wantsStreamUsage, end) => {
        const bytes = Buffer.from(events.join(''));
        assertCutAlike(
          () => openStream(dialect, dialect, { wantsStreamUsage }),
          end === null ? bytes : bytes.subarray(0, end),
          cuts,
        );
      }),
      { numRuns: 100 },
    );
  });

  test(`${dialect} passed through: arbitrary streams with bytes changed, removed or inserted`, () => {
    fc.assert(
      fc.property(
        streams[dialect].filter((events) => events.length > 0),
        places,
        changes,
        (events, cuts, edits) => {
          assertCutAlike(() => openStream(dialect, dialect), changed(Buffer.from(events.join('')), edits), cuts);
        },
      ),
      { numRuns: 100 },
    );
  });
}

for (const upstream of DIALECTS) {
  const assertSame = (
    bytes: Buffer,
    cuts: readonly number[],
    request: { wantsStreamUsage?: boolean; notes?: ConversionNotes } = {},
  ): void => assertCutAlike(() => openStream(clientOf(upstream), upstream, request), bytes, cuts);

  test(`converted from ${upstream}: blocks, tool calls and thinking in any order and chunk size`, () => {
    fc.assert(
      fc.property(
        fc.array(conversations[upstream], { maxLength: 8 }),
        places,
        notes,
        fc.boolean(),
        cutOff,
        (...[events, cuts, answerNotes, wantsStreamUsage, end]) => {
          const bytes = Buffer.from(events.join('') + ENDS[upstream]);
          assertSame(end === null ? bytes : bytes.subarray(0, end), cuts, { wantsStreamUsage, notes: answerNotes });
        },
      ),
      { numRuns: 100 },
    );
  });

  test(`converted from ${upstream}: arbitrary streams with bytes changed, removed or inserted`, () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            conversations[upstream],
            streams[upstream].map((events) => events.join('')),
          ),
          { maxLength: 6 },
        ),
        places,
        fc.option(changes),
        (events, cuts, edits) => {
          const bytes = Buffer.from(events.join(''));
          assertSame(edits === null ? bytes : changed(bytes, edits), cuts);
        },
      ),
      { numRuns: 100 },
    );
  });
}

for (const upstream of DIALECTS) {
  const checked = (bytes: Buffer, cuts: readonly number[], answerNotes: ConversionNotes = {}): void => {
    const open = (): StreamConverter => openStream('Responses', upstream, { notes: answerNotes });
    const stream = open();
    assertResponse(wholeResponse(stream, replay(stream, [bytes])));
    assertCutAlike(open, bytes, cuts);
  };

  test(`responses converted from ${upstream}: every item is whole, with one end`, () => {
    fc.assert(
      fc.property(
        fc.array(conversations[upstream], { maxLength: 8 }),
        places,
        toolNotes,
        cutOff,
        (events, cuts, answerNotes, end) => {
          const bytes = Buffer.from(events.join('') + ENDS[upstream]);
          checked(end === null ? bytes : bytes.subarray(0, end), cuts, answerNotes);
        },
      ),
      { numRuns: 100 },
    );
  });

  test(`responses converted from ${upstream}: arbitrary streams with bytes changed, removed or inserted`, () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            conversations[upstream],
            streams[upstream].map((events) => events.join('')),
          ),
          { maxLength: 6 },
        ),
        places,
        fc.option(changes),
        (events, cuts, edits) => {
          const bytes = Buffer.from(events.join(''));
          checked(edits === null ? bytes : changed(bytes, edits), cuts);
        },
      ),
      { numRuns: 100 },
    );
  });
}

test('recordings with repeated events and changed bytes', () => {
  const mangled = fc.tuple(
    fc.constantFrom(...recordings()),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
    places,
  );
  fc.assert(
    fc.property(mangled, ([{ bytes, upstream }, bytesChanged, cuts]) => {
      const repeated = Buffer.concat(
        byEvent(bytes).flatMap((event) => (event.includes('delta') ? [event, event, event] : [event])),
      );
      for (const [at, byte] of bytesChanged) repeated[at % repeated.length] = byte;
      for (const client of DIALECTS) assertCutAlike(() => openStream(client, upstream), repeated, cuts);
    }),
    { numRuns: 100 },
  );
});

test('a position within the content is counted in UTF-16 units', () => {
  const start = anthropicEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
  const texts = ['a', 'ü', '東京', '🗼', '\\n', 'é🗼\\"']
    .map(
      (value) =>
        `event: content_block_delta\ndata: ` +
        `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${value}"}}\n\n`,
    )
    .join('');
  const cited = anthropicEvent({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'citations_delta', citation: { url: 'https://example.com' } },
  });
  const end = anthropicEvent({ type: 'content_block_stop', index: 0 }) + anthropicEvent({ type: 'message_stop' });
  const { last } = replay(openStream('OpenAI', 'Anthropic'), [Buffer.from(start + texts + cited + end)]);
  assert.match(last, /"start_index":0,"end_index":11\b/);
});

test('thousands of events in one chunk are sent as one, without the usage chunk, and all are metered', () => {
  const events = Array.from({ length: 5000 }, (_none, index) =>
    openaiChunk(`{"content":"word ${index}"}`, ',"usage":null'),
  );
  const stop = openaiChunk('{}').replace('null', '"stop"');
  const end = `${stop}data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\ndata: [DONE]\n\n`;
  const { sent, outcome, meter } = replay(openStream('OpenAI', 'OpenAI'), [Buffer.from(events.join('') + end)]);
  assert.equal(outcome, 'Complete');
  assert.equal(sent, events.join('') + stop);
  const outputBytes = events.reduce((sum, _event, index) => sum + `word ${index}`.length, 0);
  assert.deepEqual([meter.final, meter.reported.output, meter.outputBytes], [true, 2, outputBytes]);
});
