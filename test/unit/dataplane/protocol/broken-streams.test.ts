/**
 * Streams with false usage, broken or endless: no converter throws, none sends half an event, and usage stays
 * plausible.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import { readChatFacts as readAnthropicFacts } from '../../../../dataplane/protocol/anthropic/facts.ts';
import { readChatFacts as readOpenAiFacts } from '../../../../dataplane/protocol/openai/facts.ts';
import { MAX_EVENT_BYTES } from '../../../../dataplane/protocol/event-stream.ts';
import { parseBody } from '../../../../dataplane/protocol/parse-body.ts';
import { openStream, recording, recordings, replay, splitAt } from './replay.ts';
import type { Protocol } from './replay.ts';
import type { Replay } from './replay.ts';

const DIALECTS: readonly Protocol[] = ['OpenAI', 'Anthropic'];
const chunk = (fields: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...fields })}\n\n`;
const delta = (value: object, finish: string | null = null): string =>
  chunk({ choices: [{ index: 0, delta: value, finish_reason: finish }] });
const run = (client: Protocol, upstream: Protocol, text: string, wantsStreamUsage = false): Replay =>
  replay(openStream(client, upstream, { wantsStreamUsage }), [Buffer.from(text)]);

test('a client that asks for usage gets a stream of its own protocol byte for byte', () => {
  for (const { name, upstream, bytes } of recordings()) {
    const { outcome, sent, last } = replay(openStream(upstream, upstream, { wantsStreamUsage: true }), [bytes]);
    if (outcome !== 'Complete' || name.includes('no-')) continue;
    assert.equal(sent + last, bytes.toString('utf8'), name);
  }
});

test('the terminal event is held back, and what follows it is dropped', () => {
  const text = `${delta({ content: 'a' }, 'stop')}data: [DONE]\n\n${delta({ content: 'too late' })}`;
  const stream = openStream('OpenAI', 'OpenAI');
  assert.equal(Buffer.from(stream.push(Buffer.from(text))).toString(), delta({ content: 'a' }, 'stop'));
  assert.equal(stream.terminal, true);
  assert.equal(stream.push(Buffer.from(delta({ content: 'later still' }))).length, 0);
  const end = stream.end();
  assert.ok(end.outcome === 'Complete');
  assert.equal(Buffer.from(end.last).toString(), 'data: [DONE]\n\n');
  assert.equal(stream.meter.outputBytes, 1);
});

test('an end marker with spaces around it is recognised', () => {
  for (const end of ['data:  [DONE]\n\n', 'data: [DONE] \n\n', 'data: [DONE]\ndata:\n\n']) {
    const { last, outcome } = run('OpenAI', 'OpenAI', delta({ content: 'a' }, 'stop') + end);
    assert.deepEqual([outcome, last], ['Complete', 'data: [DONE]\n\n']);
  }
  for (const end of ['data:[DONE]\n\n', 'id: 7\r\ndata: [DONE]\r\n\r\n'])
    assert.equal(run('OpenAI', 'OpenAI', delta({}, 'stop') + end).last, end, 'as it came');
});

test('a stream cut at any byte is Cut, or Complete if nothing is missing, and sends no half event', () => {
  for (const { name, upstream, bytes } of recordings().filter(({ name }) =>
    ['openai/text', 'openai/parallel-tools', 'anthropic/text', 'anthropic/tools', 'azure/filters'].includes(name),
  )) {
    for (const client of DIALECTS) {
      const whole = replay(openStream(client, upstream), [bytes]);
      for (let at = 0; at < bytes.length; at++) {
        const cut = replay(openStream(client, upstream), [bytes.subarray(0, at)]);
        assert.ok(cut.outcome === 'Cut' || cut.outcome === 'Complete', `${name} at ${at}: ${cut.outcome}`);
        assert.ok(cut.sent === '' || /\n\r?\n$/.test(cut.sent), `${name} at ${at}`);
        assert.ok((whole.sent + whole.last).startsWith(cut.sent), `${name} at ${at}`);
      }
    }
  }
});

test('only a finish reason completes a stream without [DONE]', () => {
  assert.equal(run('OpenAI', 'OpenAI', delta({ content: 'a' })).outcome, 'Cut');
  assert.equal(run('OpenAI', 'OpenAI', '').outcome, 'Cut');
  assert.equal(run('OpenAI', 'OpenAI', ': hi\n\n').outcome, 'Cut');
  assert.equal(run('OpenAI', 'OpenAI', delta({}, 'stop')).last, 'data: [DONE]\n\n');
  const second = chunk({ choices: [{ index: 1, delta: {}, finish_reason: null }] });
  assert.equal(run('OpenAI', 'OpenAI', second + delta({}, 'stop')).outcome, 'Cut');
});

test('an event beyond the size limit fails the stream', () => {
  for (const [client, upstream] of [
    ['OpenAI', 'OpenAI'],
    ['Anthropic', 'OpenAI'],
    ['OpenAI', 'Anthropic'],
    ['Anthropic', 'Anthropic'],
  ] as const) {
    const stream = openStream(client, upstream);
    stream.push(Buffer.from('data: '));
    stream.push(Buffer.alloc(MAX_EVENT_BYTES, 'x'));
    assert.equal(stream.terminal, true);
    const end = stream.end();
    assert.ok(end.outcome === 'Failed');
    assert.match(Buffer.from(end.last).toString(), /too large/);
  }
});

test('events that nest too deeply break nothing, and pass through if nothing is converted', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const start =
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,' +
    `"content_block":{"type":"tool_use","id":"t","name":"n","input":{"a":${deep}}}}\n\n`;
  const stop = 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n';
  const converted = run('OpenAI', 'Anthropic', start + stop);
  assert.ok(converted.outcome === 'Failed' || converted.sent.includes(deep));
  assert.equal(run('Anthropic', 'Anthropic', start + stop).sent, start + stop);
  for (const usage of ['"choices":[],"usage":null', '"choices":[{}],"usage":{}']) {
    const chunkText = `data: {${usage},"x":${deep}}\n\n`;
    assert.equal(run('OpenAI', 'OpenAI', chunkText).sent, chunkText);
  }
});

test('implausible usage is ignored, and earlier usage stays', () => {
  const usage = (value: unknown): string => chunk({ choices: [], usage: value });
  const body = delta({ content: 'abcdefgh' }, 'stop');
  for (const lie of [
    {},
    { prompt_tokens: -5, completion_tokens: 1e300 },
    { prompt_tokens: '10', completion_tokens: null },
    [],
    'x',
    5,
  ]) {
    const { meter, outcome } = run('OpenAI', 'OpenAI', `${body}${usage(lie)}data: [DONE]\n\n`);
    assert.deepEqual(
      [outcome, meter.final, meter.reported.output, meter.outputBytes],
      ['Complete', false, undefined, 8],
    );
  }
  const { meter } = run(
    'OpenAI',
    'OpenAI',
    `${body}${usage({ prompt_tokens: 3, completion_tokens: 2 })}${usage({ completion_tokens: 'many' })}data: [DONE]\n\n`,
  );
  assert.deepEqual([meter.final, meter.reported.input, meter.reported.output], [true, 3, 2]);
});

test('usage from the middle of an answer is not final', () => {
  const stream = openStream('OpenAI', 'OpenAI');
  stream.push(
    Buffer.from(
      chunk({
        choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }],
        usage: {
          prompt_tokens: 3,
          completion_tokens: 1,
        },
      }),
    ),
  );
  assert.deepEqual([stream.meter.final, stream.meter.reported.output], [false, 1]);
  stream.push(Buffer.from(chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } })));
  stream.push(Buffer.from(delta({ content: 'more' })));
  assert.equal(stream.meter.final, false);
});

test('data that is not JSON passes through, and is left out of a conversion', () => {
  const text = `data: not json\n\ndata: [1]\n\n${delta({ content: 'a' }, 'stop')}data: [DONE]\n\n`;
  assert.equal(run('OpenAI', 'OpenAI', text).sent, `data: not json\n\ndata: [1]\n\n${delta({ content: 'a' }, 'stop')}`);
  assert.equal(run('Anthropic', 'OpenAI', text).outcome, 'Complete');
});

test('usage beside choices is removed from a chunk of any form, and nothing else is', () => {
  const text =
    'id: 4\r\nevent: chunk\r\ndata: { "choices" : [ {"index":0,"delta":{"content":"\\u0041"},"x":1.10} ] ' +
    ', "usage" : {"a":1e400}, "big":12345678901234567890 }\r\n\r\n';
  assert.equal(run('OpenAI', 'OpenAI', text).sent, text.replace(' , "usage" : {"a":1e400}', ''));
  const two = 'data: {"choices":[{"index":0,\ndata: "delta":{}}],"usage":{}}\n\n';
  assert.equal(run('OpenAI', 'OpenAI', two).sent, 'data: {"choices":[{"index":0,\ndata: "delta":{}}]}\n\n');
});

test('a chunk whose usage is null passes unchanged', () => {
  const text =
    'id: 4\r\ndata: { "choices" : [ {"index":0,"delta":{"content":"\\u0041"}} ] , "usage" : null, ' +
    '"big":12345678901234567890 }\r\n\r\n';
  assert.equal(run('OpenAI', 'OpenAI', text).sent, text);
});

/** Anthropic's clients throw on anything else. */
function assertBlocks(sent: string): void {
  let open: number | undefined;
  let next = 0;
  for (const line of sent.split('\n').filter((text) => text.startsWith('data: '))) {
    const event = JSON.parse(line.slice(6)) as { type: string; index?: number };
    if (event.type === 'content_block_start') {
      assert.deepEqual([open, event.index], [undefined, next++]);
      open = event.index;
    } else if (event.type === 'content_block_delta' || event.type === 'content_block_stop') {
      assert.equal(event.index, open);
      if (event.type === 'content_block_stop') open = undefined;
    } else if (event.type === 'message_delta') assert.equal(open, undefined);
  }
}

const call = fc.record({
  index: fc.option(fc.nat(3), { nil: undefined }),
  id: fc.constantFrom(undefined, null, '', 'a', 'b'),
  function: fc.record({
    name: fc.constantFrom(undefined, null, '', 'f', 'g'),
    arguments: fc.constantFrom(undefined, '', '{', '"x":1', '}'),
  }),
});
const anyDelta = fc.record(
  {
    content: fc.constantFrom(undefined, null, '', 'text'),
    reasoning_content: fc.constantFrom(undefined, null, 'hm'),
    refusal: fc.constantFrom(undefined, 'no'),
    tool_calls: fc.option(fc.array(call, { maxLength: 3 }), { nil: undefined }),
  },
  { requiredKeys: [] },
);

test('blocks are numbered without a gap and one is open at a time, for any order of deltas', () => {
  fc.assert(
    fc.property(fc.array(anyDelta, { maxLength: 12 }), (deltas) => {
      const { sent, last, outcome } = run(
        'Anthropic',
        'OpenAI',
        `${deltas.map((value) => delta(value)).join('')}${delta({}, 'stop')}data: [DONE]\n\n`,
      );
      assert.equal(outcome, 'Complete');
      assertBlocks(sent + last);
      const expected = deltas
        .flatMap(({ content, refusal }) => [content, refusal])
        .filter(Boolean)
        .join('');
      const texts = (sent + last)
        .split('\n')
        .filter((line) => line.includes('"text_delta"'))
        .map((line) => (JSON.parse(line.slice(6)) as { delta: { text: string } }).delta.text);
      assert.equal(texts.join('').length, expected.length);
    }),
    { numRuns: 300 },
  );
});

const anyEvent = fc
  .oneof(
    fc.jsonValue(),
    fc.record(
      {
        type: fc.constantFrom(
          'message_start',
          'content_block_start',
          'content_block_delta',
          'content_block_stop',
          'message_delta',
          'message_stop',
          'ping',
          'error',
          5,
        ),
        index: fc.jsonValue(),
        message: fc.jsonValue(),
        delta: fc.jsonValue(),
        content_block: fc.jsonValue(),
        usage: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        choices: fc.oneof(
          fc.jsonValue(),
          fc.array(
            fc.record(
              {
                index: fc.jsonValue(),
                delta: fc.oneof(fc.jsonValue(), anyDelta),
                finish_reason: fc.jsonValue(),
                usage: fc.jsonValue(),
              },
              { requiredKeys: [] },
            ),
          ),
        ),
        usage: fc.jsonValue(),
        error: fc.jsonValue(),
      },
      { requiredKeys: [] },
    ),
  )
  .map((value) => `data: ${JSON.stringify(value)}\n\n`);

test('no stream makes a converter throw', () => {
  const streams = fc.array(
    fc.oneof(anyEvent, fc.constantFrom('data: [DONE]\n\n', '\r\r', ': c\n\n', 'event: error\n')),
    { maxLength: 8 },
  );
  fc.assert(
    fc.property(streams, fc.boolean(), fc.array(fc.nat(300), { maxLength: 4 }), (events, wantsStreamUsage, places) => {
      const bytes = Buffer.from(events.join(''));
      for (const client of DIALECTS)
        for (const upstream of DIALECTS) {
          const first = replay(openStream(client, upstream, { wantsStreamUsage }), [bytes]);
          assert.deepEqual(replay(openStream(client, upstream, { wantsStreamUsage }), splitAt(bytes, places)), first);
          for (const count of [...Object.values(first.meter.reported), first.meter.outputBytes])
            assert.ok(count === undefined || (Number.isSafeInteger(count) && count >= 0));
        }
    }),
    { numRuns: 150 },
  );
});

test('mangled recordings make no converter throw', () => {
  const mangle = fc.tuple(
    fc.constantFrom(...recordings()),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 10 }),
  );
  fc.assert(
    fc.property(mangle, ([{ bytes, upstream }, changes]) => {
      const mangled = Buffer.from(bytes);
      for (const [at, byte] of changes) mangled[at % mangled.length] = byte;
      for (const client of DIALECTS) replay(openStream(client, upstream), [mangled]);
    }),
    { numRuns: 150 },
  );
});

const loosely = (make: () => unknown): void => {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof RequestFault || error instanceof SyntaxError, String(error));
  }
};

test('no response makes a converter throw anything but SyntaxError', () => {
  const answers = fc.oneof(
    fc.jsonValue(),
    fc.record({
      choices: fc.array(
        fc.record({
          message: fc.oneof(fc.jsonValue(), anyDelta),
          finish_reason: fc.jsonValue(),
        }),
      ),
      content: fc.array(
        fc.record(
          {
            type: fc.constantFrom('text', 'tool_use', 'thinking', 5),
            text: fc.jsonValue(),
            input: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
      usage: fc.jsonValue(),
    }),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        answers.map((value) => Buffer.from(JSON.stringify(value))),
        fc.uint8Array(),
      ),
      (body) => {
        for (const client of DIALECTS)
          for (const upstream of DIALECTS) loosely(() => converterFor(client, upstream).response(body));
      },
    ),
    { numRuns: 200 },
  );
});

test('no request makes a reader or a converter throw anything but RequestFault', () => {
  const part = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        type: fc.constantFrom(
          'text',
          'image',
          'image_url',
          'file',
          'document',
          'tool_use',
          'tool_result',
          'refusal',
          'thinking',
          5,
        ),
        text: fc.jsonValue(),
        source: fc.jsonValue(),
        content: fc.jsonValue(),
        image_url: fc.jsonValue(),
        file: fc.jsonValue(),
        tool_use_id: fc.jsonValue(),
        input: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    ),
  );
  const message = fc.record(
    {
      role: fc.constantFrom('system', 'user', 'assistant', 'tool', 'developer', 'function', 5),
      content: fc.oneof(fc.jsonValue(), fc.array(part, { maxLength: 3 })),
      tool_calls: fc.oneof(fc.jsonValue(), fc.array(call, { maxLength: 2 })),
      tool_call_id: fc.jsonValue(),
    },
    { requiredKeys: ['role'] },
  );
  const request = fc.record(
    {
      messages: fc.oneof(fc.jsonValue(), fc.array(message, { maxLength: 4 })),
      system: fc.jsonValue(),
      tools: fc.oneof(
        fc.jsonValue(),
        fc.array(
          fc.record({ type: fc.jsonValue(), function: fc.jsonValue(), name: fc.jsonValue() }, { requiredKeys: [] }),
          { maxLength: 2 },
        ),
      ),
      tool_choice: fc.jsonValue(),
      stop: fc.jsonValue(),
      stop_sequences: fc.jsonValue(),
      stream: fc.constantFrom(true, false),
      stream_options: fc.jsonValue(),
      response_format: fc.jsonValue(),
      output_config: fc.jsonValue(),
      thinking: fc.jsonValue(),
      prediction: fc.jsonValue(),
      metadata: fc.jsonValue(),
      context_management: fc.jsonValue(),
      modalities: fc.jsonValue(),
      cache_control: fc.jsonValue(),
    },
    { requiredKeys: ['messages'] },
  );
  const plan = { upstreamModel: 'u', maxOutputTokens: 5, outputLimitField: 'max_tokens' } as const;
  fc.assert(
    fc.property(request, (fields) => {
      const body = Buffer.from(JSON.stringify({ model: 'm', ...fields }));
      for (const client of DIALECTS)
        loosely(() => {
          const parsed = parseBody(body);
          const facts = (client === 'OpenAI' ? readOpenAiFacts : readAnthropicFacts)(body, parsed);
          for (const count of [facts.textBytes, facts.units, facts.images, facts.files, facts.predictionTokens])
            assert.ok(Number.isSafeInteger(count) && count >= 0);
          for (const upstream of DIALECTS)
            loosely(() =>
              JSON.parse(Buffer.from(converterFor(client, upstream).request(body, parsed, plan).body).toString()),
            );
        });
    }),
    { numRuns: 300 },
  );
});

test('an earlier state of a meter does not change', () => {
  const stream = openStream('Anthropic', 'Anthropic');
  const before = stream.meter;
  stream.push(recording('anthropic/text').bytes);
  assert.equal(before.outputBytes, 0);
  assert.equal(stream.meter.outputBytes, 24);
});

test('a usage chunk that only the gateway asked for is left out in whatever shape it comes', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 1 };
  const text = 'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n';
  for (const shape of [{ choices: [], usage }, { usage }, { choices: null, usage }])
    assert.equal(run('OpenAI', 'OpenAI', `${text}data: ${JSON.stringify(shape)}\n\ndata: [DONE]\n\n`).sent, text);
});
