/** What only providers of OpenAI's chat completions do: histories as their models want them, and odd responses. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { fold } from '../../../../../dataplane/protocol/conversation/response.ts';
import type { ConversationEvent } from '../../../../../dataplane/protocol/conversation/events.ts';
import { FailedResponse } from '../../../../../dataplane/protocol/failed-response.ts';
import { converterFor } from '../../../../../dataplane/protocol/providers.ts';
import { openaiChat } from '../../../../../dataplane/protocol/providers/openai-chat/chat.ts';
import type { ChannelSeal } from '../../../../../dataplane/protocol/sealed-values.ts';
import { createChannelSeal } from '../../../../../dataplane/sealing/channel-seal.ts';
import { replay, STREAM_REQUEST } from '../replay.ts';
import { sealFor } from '../seal.ts';

type Fields = Record<string, unknown>;

interface Sent extends Fields {
  readonly messages: readonly Fields[];
}

/** A messages request as it is sent. */
function send(upstreamModel: string, messages: readonly Fields[], rest: Fields = {}): Sent {
  const request = { model: 'm', max_tokens: 99, messages, ...rest };
  const body = Buffer.from(JSON.stringify(request));
  const plan = { upstreamModel, maxOutputTokens: undefined, outputLimitField: 'max_tokens' } as const;
  const { body: sent } = converterFor('Anthropic', 'OpenAI').request(body, request, plan);
  return JSON.parse(Buffer.from(sent).toString('utf8')) as Sent;
}

const CALL = { type: 'tool_use', id: 'toolu_1x', name: 'f', input: {} };
const RESULT = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1x', content: 'r' }] };
const thinking = (text: string, signature = ''): Fields => ({ type: 'thinking', thinking: text, signature });

describe('reasoning of earlier turns', () => {
  const history = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [thinking('t1'), CALL] },
    RESULT,
    { role: 'assistant', content: [thinking('t2'), { type: 'text', text: 'b' }] },
    { role: 'user', content: 'next' },
  ];
  const reasoning = (model: string, messages = history, rest: Fields = {}): readonly unknown[] =>
    send(model, messages, rest)
      .messages.filter(({ role }) => role === 'assistant')
      .map((message) => message['reasoning_content']);

  it('goes back to models that want it, of all turns', () => {
    for (const model of ['deepseek-v4', 'moonshotai/kimi-k2.5', 'glm-5'])
      assert.deepEqual(reasoning(model), ['t1', 't2'], model);
    assert.deepEqual(reasoning('gpt-5.4'), [undefined, undefined]);
  });

  it("goes back from Google's dialect, whose clients keep it sealed", () => {
    const converter = converterFor('Gemini', 'OpenAI');
    const seal = sealFor('c');
    const convert = (upstreamModel: string, contents: readonly Fields[]): ReturnType<typeof converter.request> => {
      const plan = { upstreamModel, maxOutputTokens: 9, outputLimitField: 'max_tokens', seal } as const;
      return converter.request(Buffer.from(JSON.stringify({ contents })), { contents }, plan);
    };
    const question = { role: 'user', parts: [{ text: 'a' }] };
    const partsFrom = (upstreamModel: string): readonly Fields[] => {
      const { notes } = convert(upstreamModel, [question]);
      const message = { role: 'assistant', reasoning_content: 't1', content: 'b' };
      const body = Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
      const context = {
        id: 'r',
        createdSeconds: 0,
        nowSeconds: () => 0,
        estimatedInputTokens: 0,
        seal,
        ...(notes && { notes }),
      };
      const response = JSON.parse(Buffer.from(converter.response(body, context).body).toString()) as {
        candidates: [{ content: { parts: readonly Fields[] } }];
      };
      return response.candidates[0].content.parts;
    };
    assert.deepEqual(partsFrom('gpt-5.4'), [{ text: 'b' }]);
    const parts = partsFrom('deepseek-v4');
    const { body } = convert('deepseek-v4', [question, { role: 'model', parts }, question]);
    assert.match(Buffer.from(body).toString(), /"content":"b","reasoning_content":"t1"/);
  });

  it('has a placeholder for calls of other models, unless thinking is off', () => {
    const foreign = [history[0], { role: 'assistant', content: [CALL] }, RESULT] as typeof history;
    assert.match(String(reasoning('deepseek-v4', foreign)[0]), /not known/);
    assert.deepEqual(reasoning('deepseek-v4', foreign, { thinking: { type: 'disabled' } }), [undefined]);
    assert.deepEqual(reasoning('glm-5', foreign), [undefined]);
  });

  it('is switched off where the model has a switch', () => {
    const off = { thinking: { type: 'disabled' } };
    assert.deepEqual(send('deepseek-v4', history, off)['thinking'], { type: 'disabled' });
    assert.equal(send('gpt-5.4', history, off)['thinking'], undefined);
  });
});

describe('the cache key', () => {
  it("is the agent's session, as one of the account, for OpenAI's models", () => {
    const request = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
    const body = Buffer.from(JSON.stringify(request));
    const keyFor = (upstreamModel: string): unknown => {
      const plan = { upstreamModel, maxOutputTokens: 9, outputLimitField: 'max_tokens', session: 's1' } as const;
      const sent = converterFor('Anthropic', 'OpenAI').request(body, request, { ...plan, seal: sealFor('c') });
      return (JSON.parse(Buffer.from(sent.body).toString()) as Fields)['prompt_cache_key'];
    };
    assert.equal(keyFor('gpt-5.6'), 'own:s1');
    assert.equal(keyFor('deepseek-v4'), undefined);
  });
});

describe('turns', () => {
  it('have system text in its place for the makers who take it, and as text of the user for others', () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'system', content: 'note' },
      { role: 'user', content: 'c' },
    ];
    const roles = (model: string): readonly unknown[] => send(model, messages).messages.map(({ role }) => role);
    assert.deepEqual(roles('gpt-5.4'), ['user', 'assistant', 'system', 'user']);
    for (const model of ['qwen3-max', 'openai/gpt-oss-120b', 'llama-4'])
      assert.deepEqual(roles(model), ['user', 'assistant', 'user', 'user'], model);
  });

  it('have results directly after their calls, and a filler for a missing one', () => {
    const two = { role: 'assistant', content: [CALL, { ...CALL, id: 'toolu_2x' }] };
    const { messages } = send('m', [{ role: 'user', content: 'a' }, two, { role: 'user', content: 'b' }, RESULT]);
    assert.deepEqual(
      messages.map(({ role, content }) => [role, content]),
      [
        ['user', 'a'],
        ['assistant', null],
        ['tool', 'r'],
        ['tool', 'Error: The tool call was not completed.'],
        ['user', 'b'],
      ],
    );
  });

  it("have Gemini's signatures on the calls that they belong to", () => {
    const signed = { role: 'assistant', content: [thinking('', 'gemini.call.toolu_1x.c2ln'), CALL] };
    const extra = (model: string, turn: Fields): unknown => {
      const [, called] = send(model, [{ role: 'user', content: 'a' }, turn, RESULT]).messages;
      const [first] = (called?.['tool_calls'] ?? []) as Fields[];
      return first?.['extra_content'];
    };
    assert.deepEqual(extra('gemini-3-pro', signed), { google: { thought_signature: 'c2ln' } });
    assert.deepEqual(extra('gemini-3-pro', { role: 'assistant', content: [CALL] }), {
      google: { thought_signature: 'skip_thought_signature_validator' },
    });
    assert.equal(extra('gpt-5.4', signed), undefined);
  });
});

it('an effort is the closest that the model knows', () => {
  const effort = (model: string, given: string): unknown =>
    send(model, [{ role: 'user', content: 'a' }], { output_config: { effort: given } })['reasoning_effort'];
  assert.equal(effort('some-model', 'max'), 'high');
  assert.equal(effort('gpt-5.1', 'xhigh'), 'high');
  assert.equal(effort('gpt-5.4', 'max'), 'xhigh');
  assert.equal(effort('gpt-5.6', 'max'), 'max');
  assert.equal(effort('gpt-5', 'low'), 'low');
  assert.deepEqual([effort('gpt-5.4', 'none'), effort('gpt-5.4', 'minimal')], ['none', 'low']);
  assert.deepEqual([effort('gpt-5-mini', 'none'), effort('gpt-5-mini', 'minimal')], ['minimal', 'minimal']);
  assert.deepEqual([effort('gpt-5-codex', 'none'), effort('gpt-5-codex', 'minimal')], [undefined, 'low']);
});

const CONTEXT = { id: 'req-1', notes: undefined };

/** The events of a stream of these deltas. */
function stream(deltas: readonly Fields[], finish: string): readonly ConversationEvent[] {
  const reader = openaiChat.stream(CONTEXT);
  const chunks = [...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason: finish }];
  const events = chunks.flatMap((choice) => {
    const data = JSON.stringify({ model: 'x', choices: [{ index: 0, ...choice }] });
    return reader.read({ raw: Buffer.from(''), event: undefined, data });
  });
  return [...events, ...(reader.end() ?? [])];
}

const call = (index: number, id: string | undefined, called: Fields, extra: Fields = {}): Fields => ({
  tool_calls: [{ index, ...(id !== undefined && { id }), function: called, ...extra }],
});

describe('calls of a stream', () => {
  const partsOf = (deltas: readonly Fields[], finish = 'tool_calls'): unknown => {
    const [candidate] = fold(stream(deltas, finish)).candidates;
    return [candidate?.parts, candidate?.finish?.reason];
  };
  const toolCall = (id: string, name: string, text: string): Fields => ({
    type: 'ToolCall',
    id,
    name,
    arguments: text,
  });

  it('come one after the other, and what comes meanwhile waits', () => {
    const events = stream(
      [
        call(0, 'a1x', { name: 'f', arguments: '{' }),
        call(1, 'b1x', { name: 'g', arguments: '{}' }),
        { content: 'x' },
        call(0, undefined, { arguments: '}' }),
      ],
      'tool_calls',
    );
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'start',
        'call-start',
        'call-delta',
        'call-delta',
        'call-end',
        'call-start',
        'call-delta',
        'call-end',
        'text-delta',
        'finish',
      ],
    );
  });

  it('have names that come in pieces, repeated or as far as they have come', () => {
    for (const names of [
      ['get_', 'time'],
      ['get_time', 'get_time'],
      ['get_', 'get_time'],
    ])
      assert.deepEqual(
        partsOf([...names.map((name) => call(0, 'a1x', { name })), call(0, undefined, { arguments: '{}' })]),
        [[toolCall('a1x', 'get_time', '{}')], 'ToolCalls'],
        names.join(' '),
      );
  });

  it('have arguments that are an object, or encoded twice', () => {
    assert.deepEqual(partsOf([call(0, 'a1x', { name: 'f', arguments: { a: 1 } })]), [
      [toolCall('a1x', 'f', '{"a":1}')],
      'ToolCalls',
    ]);
    const twice = JSON.stringify('{"a":1}');
    assert.deepEqual(
      partsOf([
        call(0, 'a1x', { name: 'f', arguments: twice.slice(0, 4) }),
        call(0, undefined, { arguments: twice.slice(4) }),
      ]),
      [[toolCall('a1x', 'f', '{"a":1}')], 'ToolCalls'],
    );
  });

  it('are none without a name, and a reason of calls without one is the end of a turn', () => {
    assert.deepEqual(partsOf([{ content: 'x' }, { function_call: { name: '', arguments: '' } }]), [
      [{ type: 'Text', text: 'x' }],
      'Stop',
    ]);
    assert.deepEqual(partsOf([{ content: 'x' }, { tool_calls: [] }]), [[{ type: 'Text', text: 'x' }], 'Stop']);
  });

  it('have ids of their own where the provider repeats them or numbers them', () => {
    assert.deepEqual(
      partsOf([
        call(0, 'call_0', { name: 'f', arguments: '{}' }),
        call(1, 'same', { name: 'g', arguments: '{}' }),
        call(2, 'same', { name: 'h', arguments: '{}' }),
      ]),
      [[toolCall('call_1_0', 'f', '{}'), toolCall('same', 'g', '{}'), toolCall('call_1_2', 'h', '{}')], 'ToolCalls'],
    );
  });

  it("bring Gemini's signatures", () => {
    const extra = { extra_content: { google: { thought_signature: 'c2ln' } } };
    assert.deepEqual(partsOf([call(0, 'a1x', { name: 'f', arguments: '{}' }, extra)]), [
      [
        { type: 'Reasoning', text: '', proof: { maker: 'Gemini', signature: 'c2ln', callId: 'a1x' } },
        toolCall('a1x', 'f', '{}'),
      ],
      'ToolCalls',
    ]);
  });
});

describe('an error', () => {
  const ERRORS: readonly Fields[] = [
    { choices: [], error: { message: 'Provider overloaded', code: 502 } },
    { choices: [{ index: 0, delta: { content: '' } }], error: { message: 'Provider overloaded' } },
    { choices: [], error: 'Provider overloaded' },
    { object: 'error', message: 'Provider overloaded', code: 50_000 },
  ];
  for (const client of ['OpenAI', 'Anthropic', 'Responses', 'Gemini'] as const)
    it(`in a chunk fails the stream of a client of ${client}, whatever stands beside it`, () => {
      for (const error of ERRORS) {
        const begun = { choices: [{ index: 0, delta: { role: 'assistant' } }] };
        const text = [begun, error].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + 'data: [DONE]\n\n';
        const { outcome, last } = replay(converterFor(client, 'OpenAI').stream(STREAM_REQUEST), [Buffer.from(text)]);
        assert.equal(outcome, 'Failed', JSON.stringify(error));
        assert.match(last, /Provider overloaded/);
      }
    });

  it('in a body keeps its text and its code', () => {
    for (const error of ERRORS)
      assert.throws(
        () => converterFor('Anthropic', 'OpenAI').response(Buffer.from(JSON.stringify(error))),
        (thrown) => thrown instanceof FailedResponse && thrown.error.message === 'Provider overloaded',
      );
  });
});

describe('a response that passes through', () => {
  const converter = converterFor('OpenAI', 'OpenAI');
  const whole = (choices: string): string =>
    Buffer.from(
      converter.response(Buffer.from(`{"id":"x", "choices":${choices},"n":12345678901234567890}`)).body,
    ).toString();

  it('that ends with a call of tools and has none is an end of turn', () => {
    for (const reason of ['tool_calls', 'function_call'])
      assert.equal(
        whole(
          `[{"index":0,"message":{"content":"hi","tool_calls":[]},"logprobs":{"x":0.10},"finish_reason":"${reason}"}]`,
        ),
        '{"id":"x", "choices":[{"index":0,"message":{"content":"hi","tool_calls":[]},"logprobs":{"x":0.1},' +
          '"finish_reason":"stop"}],"n":12345678901234567890}',
      );
  });
  it('stays as it is where it nests too deeply to be edited', () => {
    const choices = `[{"index":0,"message":{"x":${'['.repeat(1500)}${']'.repeat(1500)}},"finish_reason":"tool_calls"}]`;
    assert.match(whole(choices), /"finish_reason":"tool_calls"/);
  });
  it('keeps its bytes where it has a call', () => {
    for (const message of [
      '{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}',
      '{"tool_calls":[{"id":"a","type":"custom","custom":{"name":"f","input":""}}]}',
      '{"function_call":{"name":"f","arguments":""}}',
    ]) {
      const choices = `[ {"index":0,"message":${message},"finish_reason":"tool_calls"}]`;
      assert.equal(whole(choices), `{"id":"x", "choices":${choices},"n":12345678901234567890}`);
    }
  });
  it('in a stream, choice by choice', () => {
    const call = '{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}';
    const chunks = [
      `{"choices":[{"index":0,"delta":${call}},{"index":1,"delta":{"content":"hi"}}]}`,
      '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"},{"index":1,"delta":{},"finish_reason":"tool_calls"}]}',
    ];
    const bytes = Buffer.from([...chunks, '[DONE]'].map((data) => `data: ${data}\n\n`).join(''));
    const { sent, last } = replay(converter.stream(STREAM_REQUEST), [bytes]);
    assert.equal(
      sent + last,
      `data: ${chunks[0]}\n\n` +
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"},{"index":1,"delta":{},"finish_reason":"stop"}]}' +
        '\n\ndata: [DONE]\n\n',
    );
  });
});

describe('reasoning_details', () => {
  const sealOf = (channel: string): ChannelSeal =>
    createChannelSeal({ keys: [Buffer.alloc(32, 1)], channel, account: 'team/a' });
  const claude = 'anthropic-claude-v1';
  const google = 'google-gemini-v1';
  const openai = 'openai-responses-v1';
  const seal = sealFor('c');
  const context = { id: 'req-1', notes: undefined, seal };
  const events = (deltas: readonly Fields[]): readonly ConversationEvent[] => {
    const reader = openaiChat.stream(context);
    const read = deltas.flatMap((delta) => {
      const data = JSON.stringify({ choices: [{ index: 0, delta }] });
      return reader.read({ event: undefined, data, raw: Buffer.from(data) });
    });
    reader.read({ event: undefined, data: '[DONE]', raw: Buffer.from('') });
    return [...read, ...(reader.end() ?? [])];
  };
  const call = { index: 0, id: 'tool_f', type: 'function', function: { name: 'f', arguments: '{}' } };
  const partsOf = (deltas: readonly Fields[]): readonly object[] => fold(events(deltas)).candidates[0]?.parts ?? [];

  it('of a stream are read piece by piece, each with its proof, and their text once', () => {
    const text = (piece: string, index: number, rest: Fields = {}): Fields => ({
      reasoning: piece,
      reasoning_details: [{ type: 'reasoning.text', text: piece, format: claude, index, ...rest }],
    });
    const signed = (index: number, signature: string): Fields => ({
      reasoning_details: [{ type: 'reasoning.text', signature, format: claude, index }],
    });
    const hidden = { reasoning_details: [{ type: 'reasoning.encrypted', data: 'aGlk', format: claude, index: 2 }] };
    assert.deepEqual(
      partsOf([
        text('a', 0, { signature: null }),
        text('b', 0),
        signed(0, 'c2ln'),
        text('c', 1),
        signed(1, 's'),
        hidden,
      ]),
      [
        { type: 'Reasoning', text: 'ab', proof: { maker: 'Anthropic', signature: 'c2ln' } },
        { type: 'Reasoning', text: 'c', proof: { maker: 'Anthropic', signature: 's' } },
        { type: 'Reasoning', text: '', proof: { maker: 'Anthropic', redacted: 'aGlk' } },
      ],
    );
  });

  it("bring Gemini's signature to its call, before it, with it or after it", () => {
    const detail = { type: 'reasoning.encrypted', data: 'c2ln', id: 'tool_f', format: google, index: 0 };
    const called = { tool_calls: [call] };
    const signed = { reasoning_details: [detail] };
    for (const deltas of [[signed, called], [{ ...signed, ...called }], [called, signed]])
      assert.deepEqual(
        partsOf(deltas).find((part) => 'proof' in part),
        { type: 'Reasoning', text: '', proof: { maker: 'Gemini', signature: 'c2ln', callId: 'tool_f' } },
      );
  });

  it('without a proof of a known maker are text', () => {
    const details = [{ type: 'reasoning.summary', summary: 'hm', signature: 's', format: 'xai-responses-v1' }];
    assert.deepEqual(partsOf([{ reasoning_details: details }]), [{ type: 'Reasoning', text: 'hm', proof: undefined }]);
  });

  it('go back to models that are named with their maker', () => {
    const history = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [thinking('t1', 'c2ln'), { type: 'redacted_thinking', data: 'aGlk' }, CALL] },
      RESULT,
    ];
    const assistant = (model: string): Fields | undefined => send(model, history).messages[1];
    const details = [
      { type: 'reasoning.text', text: 't1', signature: 'c2ln', format: claude, index: 0 },
      { type: 'reasoning.encrypted', data: 'aGlk', format: claude, index: 1 },
    ];
    assert.deepEqual(assistant('anthropic/claude-sonnet-4.5')?.['reasoning_details'], details);
    for (const model of ['openai/gpt-5.4', 'openai/gpt-oss-120b', 'google/gemma-3', 'claude-sonnet-4-5']) {
      assert.equal(assistant(model)?.['reasoning_details'], undefined, model);
      assert.equal(assistant(model)?.['reasoning_content'], undefined, model);
    }
  });

  it('come back as the provider wrote them, and what only one account can read to that account', () => {
    const details: Readonly<Record<string, readonly Fields[]>> = {
      'anthropic/claude-opus-4.5': [
        { type: 'reasoning.text', text: 'hm', signature: 'c2ln', format: claude, index: 0 },
        { type: 'reasoning.encrypted', data: 'aGlk', format: claude, index: 1 },
      ],
      'google/gemini-3-pro': [{ type: 'reasoning.encrypted', data: 'c2ln', id: 'tool_f', format: google, index: 0 }],
      'openai/gpt-5.4': [
        { type: 'reasoning.summary', summary: 'hm', id: 'rs_1', format: openai, index: 0 },
        { type: 'reasoning.encrypted', data: 'ZW5j', id: 'rs_1', format: openai, index: 0 },
      ],
    };
    for (const [upstreamModel, given] of Object.entries(details)) {
      const converter = converterFor('Anthropic', 'OpenAI');
      const message = { role: 'assistant', content: null, reasoning_details: given, tool_calls: [call] };
      const body = Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }));
      const { body: written } = converter.response(body, {
        id: 'r',
        createdSeconds: 0,
        nowSeconds: () => 0,
        estimatedInputTokens: 0,
        seal: sealOf('c'),
      });
      const { content } = JSON.parse(Buffer.from(written).toString()) as { content: readonly Fields[] };
      const result = { type: 'tool_result', tool_use_id: content.at(-1)?.['id'], content: 'r' };
      const request = {
        model: 'm',
        max_tokens: 9,
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content },
          { role: 'user', content: [result] },
        ],
      };
      const plan = { upstreamModel, maxOutputTokens: 9, outputLimitField: 'max_tokens' } as const;
      const convert = (channel: string): Sent => {
        const sent = converter.request(Buffer.from(JSON.stringify(request)), request, {
          ...plan,
          seal: sealOf(channel),
        });
        return JSON.parse(Buffer.from(sent.body).toString()) as Sent;
      };
      assert.deepEqual(convert('c').messages[1]?.['reasoning_details'], given, upstreamModel);
      if (upstreamModel.startsWith('openai/')) {
        assert.equal(convert('other').messages[1]?.['reasoning_details'], undefined);
        assert.equal(convert('other').messages[1]?.['reasoning_content'], undefined);
      }
    }
  });
});
