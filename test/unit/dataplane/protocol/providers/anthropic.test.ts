/** What only providers of Anthropic's protocol do: histories and settings as its API takes them, and odd responses. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'vitest';
import { RequestFault } from '../../../../../dataplane/protocol/call-facts.ts';
import type { ChatDialect } from '../../../../../dataplane/protocol/call-facts.ts';
import { fold } from '../../../../../dataplane/protocol/conversation/response.ts';
import type { ConversationResponse } from '../../../../../dataplane/protocol/conversation/response.ts';
import { FailedResponse } from '../../../../../dataplane/protocol/failed-response.ts';
import { converterFor, providerOf } from '../../../../../dataplane/protocol/providers.ts';
import { anthropicChat } from '../../../../../dataplane/protocol/providers/anthropic/chat.ts';
import { replay, STREAM_REQUEST } from '../replay.ts';
import { sealFor } from '../seal.ts';

type Fields = Record<string, unknown>;

interface Sent {
  readonly body: Fields;
  readonly messages: readonly Fields[];
  readonly dropped: readonly string[] | undefined;
}

const MODEL = 'claude-opus-4-6';

function convert(client: ChatDialect, request: Fields, upstreamModel = MODEL, maxOutputTokens = 900): Sent {
  const bytes = Buffer.from(JSON.stringify(request));
  const plan = { upstreamModel, maxOutputTokens, outputLimitField: 'max_tokens', seal: sealFor('c') } as const;
  const { body: sent, dropped } = converterFor(client, 'Anthropic').request(bytes, request, plan);
  const body = JSON.parse(Buffer.from(sent).toString('utf8')) as Fields;
  return { body, messages: body['messages'] as readonly Fields[], dropped };
}

const chat = (messages: readonly Fields[], rest: Fields = {}, model?: string): Sent =>
  convert('OpenAI', { model: 'm', messages, ...rest }, model);
const HI = { role: 'user', content: 'hi' };
const call = (id: string): Fields => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1}' } });
const asks = (...ids: readonly string[]): Fields => ({ role: 'assistant', content: null, tool_calls: ids.map(call) });
const result = (id: string, content: unknown = `of ${id}`): Fields => ({ role: 'tool', tool_call_id: id, content });
const rolesOf = ({ messages }: Sent): string => messages.map(({ role }) => String(role)[0]).join('');
const contentOf = ({ messages }: Sent, index: number): readonly Fields[] => messages[index]?.['content'] as Fields[];

describe('thinking of earlier turns', () => {
  const history = (kept: Fields): readonly Fields[] => [HI, { role: 'assistant', content: 'hello', ...kept }, HI];
  const detail = (signature: string, format: string): Fields => ({
    reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature, format, index: 0 }],
  });

  it('goes back if Anthropic signed it', () => {
    for (const kept of [
      detail('c2ln', 'anthropic-claude-v1'),
      { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }] },
    ])
      assert.deepEqual(contentOf(chat(history(kept)), 1)[0], { type: 'thinking', thinking: 'hm', signature: 'c2ln' });
    const redacted = { thinking_blocks: [{ type: 'redacted_thinking', data: 'xx' }] };
    assert.deepEqual(contentOf(chat(history(redacted)), 1)[0], { type: 'redacted_thinking', data: 'xx' });
  });

  it('is left out if it is signed by another, or by nobody, whoever kept it', () => {
    for (const kept of [
      detail('gemini.text.c2ln', 'google-gemini-v1'),
      detail('gemini.text.c2ln', 'anthropic-claude-v1'),
      detail('', 'anthropic-claude-v1'),
      { reasoning_content: 'hm' },
      { thinking_blocks: [{ type: 'thinking', thinking: 'hm', signature: '' }] },
    ])
      assert.deepEqual(chat(history(kept)).messages[1], { role: 'assistant', content: 'hello' }, JSON.stringify(kept));
  });

  it("is left out of Google's dialect and of Responses too, with a turn that has nothing else", () => {
    const seal = sealFor('c');
    const sealed = (signature: string): string =>
      seal.seal('thinking', JSON.stringify({ type: 'thinking', thinking: 'hm', signature }));
    const google = (signature: string): Sent =>
      convert('Gemini', {
        contents: [
          { role: 'user', parts: [{ text: 'a' }] },
          { role: 'model', parts: [{ text: '', thoughtSignature: Buffer.from(sealed(signature)).toString('base64') }] },
          { role: 'user', parts: [{ text: 'b' }] },
        ],
      });
    assert.equal(rolesOf(google('c2ln')), 'uau');
    assert.equal(rolesOf(google('gemini.text.c2ln')), 'u');
    const responses = (signature: string): Sent =>
      convert('Responses', {
        model: 'm',
        input: [
          HI,
          { type: 'reasoning', summary: [], encrypted_content: sealed(signature) },
          { role: 'assistant', content: 'hello' },
          HI,
        ],
      });
    assert.deepEqual(contentOf(responses('c2ln'), 1)[0], { type: 'thinking', thinking: 'hm', signature: 'c2ln' });
    assert.deepEqual(responses('gemini.text.c2ln').messages[1], { role: 'assistant', content: 'hello' });
  });
});

describe('turns', () => {
  it('have results directly after their calls, a filler for a missing one, and text of one without a call', () => {
    const sent = chat([HI, asks('c1', 'c2'), { role: 'user', content: 'wait' }, result('c2'), result('c9')]);
    assert.equal(rolesOf(sent), 'uau');
    assert.deepEqual(
      contentOf(sent, 2).map(({ type, tool_use_id: id, text, is_error: failed }) => [type, id ?? text, failed]),
      [
        ['tool_result', 'c1', true],
        ['tool_result', 'c2', undefined],
        ['text', 'wait', undefined],
        ['text', 'Result of an earlier tool call:\nof c9', undefined],
      ],
    );
  });

  it('of calls that follow each other are one, with their results after it', () => {
    const sent = chat([HI, asks('c1'), asks('c2'), result('c2'), result('c1')]);
    assert.equal(rolesOf(sent), 'uau');
    assert.deepEqual(
      contentOf(sent, 2).map(({ tool_use_id: id }) => id),
      ['c1', 'c2'],
    );
    assert.equal(rolesOf(chat([HI, asks('c1'), { role: 'assistant', content: 'Done.' }])), 'uauau');
  });

  it('have unique ids in the letters and within the length of the API', () => {
    const long = 'x'.repeat(300);
    const sent = chat([HI, asks('call 1', 'call 1', long), result('call 1'), result('call 1', 'b'), result(long)]);
    const ids = contentOf(sent, 1).map(({ id }) => String(id));
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.match(id, /^[a-zA-Z0-9_-]{1,256}$/);
    assert.deepEqual(
      contentOf(sent, 2).map(({ tool_use_id: id, content }) => [id, content]),
      [
        [ids[0], 'of call 1'],
        [ids[1], 'b'],
        [ids[2], `of ${long}`],
      ],
    );
  });

  it('have system text between turns as text of the user, and a prompt without turns as one', () => {
    const sent = chat([{ role: 'system', content: 's' }, HI, { role: 'developer', content: 'note' }]);
    assert.equal(sent.body['system'], 's');
    assert.deepEqual(
      contentOf(sent, 0).map(({ text }) => text),
      ['hi', 'note'],
    );
    const alone = chat([{ role: 'system', content: 'Write a poem.' }]);
    assert.deepEqual(alone.body['system'], undefined);
    assert.deepEqual(alone.messages, [{ role: 'user', content: 'Write a poem.' }]);
  });

  it('have no texts without words, and no turn of nothing else', () => {
    const blank = [{ type: 'text', text: ' \n' }];
    const sent = chat([HI, { role: 'assistant', content: ' ' }, { role: 'user', content: [...blank, ...blank] }, HI]);
    assert.deepEqual(sent.messages, [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'text', text: 'hi' },
        ],
      },
    ]);
    assert.throws(
      () => chat([{ role: 'user', content: ' ' }]),
      (error) => error instanceof RequestFault && error.param === 'messages[0]',
    );
  });

  it('begin with the user, and end with the user where the model does not go on with a response', () => {
    const history = [{ role: 'assistant', content: 'hello ' }];
    assert.deepEqual(rolesOf(chat(history)), 'uau');
    assert.deepEqual(chat(history, {}, 'claude-opus-4-5').messages[1], { role: 'assistant', content: 'hello' });
    const thinks = { thinking: { type: 'enabled', budget_tokens: 100 } };
    assert.equal(rolesOf(chat(history, thinks, 'claude-opus-4-5')), 'uau');
  });

  it('have at most four cache marks, the last ones, and those inside a result on the result', () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const part = { type: 'text', text: 'a', cache_control };
    const sent = chat([
      { role: 'system', content: [part] },
      { role: 'user', content: [part, part] },
      asks('c1'),
      result('c1', [part]),
      { role: 'user', content: [part] },
    ]);
    assert.deepEqual(sent.dropped, ['cache_control']);
    assert.equal(sent.body['system'], 'a');
    assert.deepEqual(contentOf(sent, 2)[0], { type: 'tool_result', tool_use_id: 'c1', content: 'a', cache_control });
    assert.equal(JSON.stringify(sent.body).split('cache_control').length - 1, 4);
  });

  it('of Google, each piece of a streamed response, are one turn with one text', () => {
    const sent = convert('Gemini', {
      contents: [
        { role: 'user', parts: [{ text: 'a' }] },
        { role: 'model', parts: [{ text: 'Let me ' }] },
        { role: 'model', parts: [{ text: 'see.' }, { functionCall: { name: 'f' } }] },
        { role: 'model', parts: [{ functionCall: { name: 'g' } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'x' } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'g', response: { error: 'y' } } }] },
      ],
    });
    assert.deepEqual(sent.messages[1], {
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'call_0', name: 'f', input: {} },
        { type: 'tool_use', id: 'call_1', name: 'g', input: {} },
      ],
    });
    assert.deepEqual(
      contentOf(sent, 2).map(({ content, is_error: failed }) => [content, failed]),
      [
        ['x', undefined],
        ['y', true],
      ],
    );
  });
});

describe('settings', () => {
  const setting = (rest: Fields, model?: string): Sent => chat([HI], rest, model);

  it('tell nothing of who the user is, and no id that is too long', () => {
    const digest = (user: string): string => createHash('sha256').update(user).digest('hex');
    for (const user of ['ann@example.com', '+47 22 33 44 55', 'x'.repeat(257)])
      assert.deepEqual(setting({ user }).body['metadata'], { user_id: digest(user) }, user);
    assert.deepEqual(setting({ user: 'u-1' }).body['metadata'], { user_id: 'u-1' });
  });

  it('have stop sequences with words only, and name that there were others', () => {
    const some = setting({ stop: ['\n', 'END', ''] });
    assert.deepEqual([some.body['stop_sequences'], some.dropped], [['END'], ['stop']]);
    const none = setting({ stop: '\n\n' });
    assert.deepEqual([none.body['stop_sequences'], none.dropped], [undefined, ['stop']]);
  });

  it('hold the model to the schema of an object, and ask for any other format', () => {
    const schema = { type: 'object', properties: { a: { type: 'string', minLength: 2 } }, required: ['a'] };
    const format = { type: 'json_schema', json_schema: { name: 'n', schema } };
    assert.deepEqual(setting({ response_format: format }).body['output_config'], {
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: { a: { type: 'string', description: '{minLength: 2}' } },
          required: ['a'],
          additionalProperties: false,
        },
      },
    });
    for (const [each, model] of [
      [{ type: 'json_object' }, MODEL],
      [format, 'claude-3-7-sonnet'],
    ] as const) {
      const { body } = setting({ response_format: each }, model);
      assert.equal(body['output_config'], undefined);
      assert.match(String(body['system']), /JSON object/);
    }
  });

  it('declare the tools that a conversation has called and declares no more', () => {
    const { body } = chat([HI, asks('c1'), result('c1')]);
    assert.deepEqual(body['tools'], [{ name: 'f', input_schema: { type: 'object', properties: {} } }]);
    assert.deepEqual(body['tool_choice'], { type: 'none' });
  });

  it('rename a tool whose name the API refuses, and give the client its own back', () => {
    const name = 'files/read';
    const request = { model: 'm', messages: [HI], tools: [{ type: 'function', function: { name } }] };
    const plan = { upstreamModel: MODEL, maxOutputTokens: 9, outputLimitField: 'max_tokens' } as const;
    const converter = converterFor('OpenAI', 'Anthropic');
    const { body, notes } = converter.request(Buffer.from(JSON.stringify(request)), request, plan);
    const { tools } = JSON.parse(Buffer.from(body).toString()) as { tools: [{ name: string }] };
    assert.match(tools[0].name, /^files_read_[0-9a-f]+$/);
    const message = { content: [{ type: 'tool_use', id: 'toolu_1', name: tools[0].name, input: {} }] };
    const context = {
      id: 'r',
      createdSeconds: 0,
      nowSeconds: () => 0,
      estimatedInputTokens: 0,
      ...(notes && { notes }),
    };
    const { body: completion } = converter.response(Buffer.from(JSON.stringify(message)), context);
    assert.match(Buffer.from(completion).toString(), /"name":"files\/read"/);
  });
});

describe('reasoning', () => {
  const FORCED = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' };
  const thinkingOf = (rest: Fields, model: string): readonly unknown[] => {
    const { body, dropped } = chat([HI], rest, model);
    return [body['thinking'], (body['output_config'] as Fields | undefined)?.['effort'], dropped];
  };
  const budget = (tokens: number): Fields => ({ thinking: { type: 'enabled', budget_tokens: tokens } });

  it('is an effort for models that decide themselves, and a budget for earlier ones', () => {
    const low = { reasoning_effort: 'low' };
    assert.deepEqual(thinkingOf(low, 'claude-opus-4-6'), [{ type: 'adaptive' }, 'low', undefined]);
    assert.deepEqual(thinkingOf(low, 'claude-opus-4-5'), [undefined, undefined, ['reasoning_effort']]);
    const { body } = convert('OpenAI', { model: 'm', messages: [HI], ...low }, 'claude-opus-4-5', 9000);
    assert.deepEqual(body['thinking'], { type: 'enabled', budget_tokens: 2048 });
  });

  it('has no budget that later models refuse, nor one beyond the limit', () => {
    assert.deepEqual(thinkingOf(budget(800), 'claude-opus-4-8'), [{ type: 'adaptive' }, 'low', undefined]);
    assert.deepEqual(thinkingOf(budget(20_000), 'claude-opus-4-8'), [{ type: 'adaptive' }, 'high', undefined]);
    const kept = { type: 'enabled', budget_tokens: 800 };
    assert.deepEqual(thinkingOf(budget(800), 'claude-opus-4-6'), [kept, undefined, undefined]);
    assert.deepEqual(thinkingOf(budget(900), 'claude-opus-4-6'), [undefined, undefined, ['thinking']]);
  });

  it('gives way to a forced call where the model does not think before one', () => {
    const high = { reasoning_effort: 'high', ...FORCED };
    assert.deepEqual(thinkingOf(high, 'claude-opus-4-7'), [undefined, 'high', ['reasoning_effort']]);
    assert.deepEqual(thinkingOf(high, 'claude-opus-4-8'), [{ type: 'adaptive' }, 'high', undefined]);
    assert.deepEqual(thinkingOf({ ...budget(800), ...FORCED }, 'claude-opus-4-5'), [
      undefined,
      undefined,
      ['thinking'],
    ]);
  });

  it('is switched off, beside an effort, where the model can do without', () => {
    const off = { thinking: { type: 'disabled' }, reasoning_effort: 'medium' };
    assert.deepEqual(thinkingOf(off, 'claude-opus-4-6'), [{ type: 'disabled' }, 'medium', undefined]);
    const none = { reasoning_effort: 'none' };
    assert.deepEqual(thinkingOf(none, 'claude-opus-4-5'), [{ type: 'disabled' }, undefined, undefined]);
    assert.deepEqual(thinkingOf(none, 'claude-fable-5'), [undefined, 'low', ['reasoning_effort']]);
  });
});

describe('a token count', () => {
  it("of Google's dialect has what counts, and no settings", () => {
    const counter = providerOf('Anthropic').tokenCounters?.Gemini;
    assert.ok(counter);
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    const request = { generateContentRequest: { contents, generationConfig: { temperature: 0.5 } } };
    const { path, body } = counter.request(Buffer.from(JSON.stringify(request)), request, { upstreamModel: MODEL });
    assert.equal(path, '/v1/messages/count_tokens');
    assert.deepEqual(JSON.parse(Buffer.from(body).toString()), {
      model: MODEL,
      messages: [{ role: 'user', content: 'hi' }],
    });
    assert.equal(counter.read(Buffer.from('{"input_tokens":7}')), 7);
  });
});

describe('a response', () => {
  const read = (message: Fields): ConversationResponse =>
    fold(anthropicChat.read(Buffer.from(JSON.stringify(message)), { id: 'r', notes: undefined }).events);

  it('has ended as its stop reason says, and with calls as they come', () => {
    const use = [{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }];
    const reason = (stopReason: string | null, content: readonly Fields[] = []): unknown =>
      read({ content, stop_reason: stopReason }).candidates[0]?.finish?.reason;
    assert.equal(reason('model_context_window_exceeded'), 'ContextWindow');
    assert.equal(reason('pause_turn'), 'Paused');
    assert.equal(reason('tool_use', use), 'ToolCalls');
    assert.equal(reason('tool_use'), 'Stop');
    assert.equal(reason('end_turn', use), 'ToolCalls');
    assert.equal(reason('a_new_reason'), 'Stop');
    const stopped = read({ content: [], stop_reason: 'stop_sequence', stop_sequence: 'END' });
    assert.equal(stopped.candidates[0]?.finish?.detail, 'END');
  });

  it('with an error is one, whatever stands beside it', () => {
    const error = { type: 'overloaded_error', message: 'Overloaded' };
    for (const body of [
      { type: 'error', error },
      { content: [], error },
      { content: [], error: 'Overloaded' },
    ])
      assert.throws(
        () => converterFor('OpenAI', 'Anthropic').response(Buffer.from(JSON.stringify(body))),
        (thrown) => thrown instanceof FailedResponse && thrown.error.message === 'Overloaded',
      );
  });
});

describe('a stream', () => {
  const event = (data: Fields): Buffer =>
    Buffer.from(`event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`);
  const begin = (index: number, block: Fields): Buffer =>
    event({ type: 'content_block_start', index, content_block: block });
  const delta = (index: number, piece: Fields): Buffer => event({ type: 'content_block_delta', index, delta: piece });
  const stop = event({ type: 'message_delta', delta: { stop_reason: 'tool_use' } });
  const run = (...events: readonly Buffer[]): ReturnType<typeof replay> =>
    replay(converterFor('OpenAI', 'Anthropic').stream(STREAM_REQUEST), events);
  const USE = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };

  it('ends a block with the next one, and takes input that comes whole', () => {
    const { sent, last, outcome } = run(
      begin(0, { ...USE, input: { a: 1 } }),
      begin(1, { ...USE, id: 'toolu_2' }),
      delta(1, { type: 'input_json_delta', partial_json: '{"b":' }),
      delta(0, { type: 'input_json_delta', partial_json: 'late' }),
      delta(1, { type: 'input_json_delta', partial_json: '2}' }),
      stop,
    );
    assert.equal(outcome, 'Complete');
    const pieces = [...sent.matchAll(/"index":(\d),"function":\{"arguments":"((?:[^"\\]|\\.)*)"/g)];
    assert.deepEqual(
      pieces.map(([, index, text]) => [index, text]),
      [
        ['0', String.raw`{\"a\":1}`],
        ['1', String.raw`{\"b\":`],
        ['1', '2}'],
      ],
    );
    assert.match(last, /"finish_reason":"tool_calls"/);
  });

  it('is complete with a stop reason or message_stop, and cut off without', () => {
    const text = [begin(0, { type: 'text', text: '' }), delta(0, { type: 'text_delta', text: 'hi' })];
    assert.equal(run(...text).outcome, 'Cut');
    assert.equal(run(...text, event({ type: 'message_stop' })).outcome, 'Complete');
    const repeated = [
      stop,
      event({ type: 'message_delta', delta: { stop_reason: null }, usage: { output_tokens: 2 } }),
    ];
    assert.match(run(begin(0, USE), ...repeated).last, /"finish_reason":"tool_calls"/);
  });

  it('fails with an error, and keeps what proves whose thinking it is', () => {
    const { outcome, error } = run(event({ type: 'error', error: { type: 'api_error', message: 'broken' } }));
    assert.equal(outcome, 'Failed');
    assert.match(JSON.stringify(error), /broken/);
    const { sent } = run(
      begin(0, { type: 'thinking', thinking: '', signature: '' }),
      delta(0, { type: 'thinking_delta', thinking: 'hm' }),
      delta(0, { type: 'signature_delta', signature: 'c2ln' }),
      event({ type: 'content_block_stop', index: 0 }),
    );
    assert.match(sent, /"reasoning_details":\[\{"type":"reasoning.text","text":"hm","signature":"c2ln"/);
  });
});
