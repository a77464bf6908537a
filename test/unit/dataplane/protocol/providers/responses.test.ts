/** What only providers of OpenAI's Responses do: whom they serve, and whose reasoning they get back. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { readAffinity } from '../../../../../dataplane/protocol/affinity-facts.ts';
import type { Dialect } from '../../../../../dataplane/protocol/call-facts.ts';
import type { RequestPlan } from '../../../../../dataplane/protocol/converter.ts';
import { FailedResponse } from '../../../../../dataplane/protocol/failed-response.ts';
import { servingApi, toolReasoningOfChat } from '../../../../../dataplane/protocol/openai/serving-api.ts';
import type { ServingApi } from '../../../../../dataplane/protocol/openai/serving-api.ts';
import { converterFor } from '../../../../../dataplane/protocol/providers.ts';
import type { ChannelSeal } from '../../../../../dataplane/protocol/sealed-values.ts';
import { createChannelSeal } from '../../../../../dataplane/sealing/channel-seal.ts';
import { replay, STREAM_REQUEST } from '../replay.ts';

type Fields = Record<string, unknown>;

interface Sent extends Fields {
  readonly input: readonly Fields[];
}

const sealOf = (channel: string): ChannelSeal =>
  createChannelSeal({ keys: [Buffer.alloc(32, 1)], channel, account: 'team/a' });
const CONTEXT = { id: 'req-1', createdSeconds: 1, nowSeconds: () => 1, estimatedInputTokens: 7, model: 'm' };

/** A request as it is sent. */
function send(client: Dialect, request: Fields, plan: Partial<RequestPlan> = {}): Sent {
  const { path, body } = converterFor(client, 'OpenAI', 'Responses').request(
    Buffer.from(JSON.stringify(request)),
    request,
    { upstreamModel: 'gpt-5.6', maxOutputTokens: undefined, outputLimitField: 'max_tokens', ...plan },
  );
  assert.equal(path, '/responses');
  return JSON.parse(Buffer.from(body).toString('utf8')) as Sent;
}

const REASONING = {
  id: 'rs_1',
  type: 'reasoning',
  encrypted_content: 'gAAAAAB+secret/=',
  summary: [{ type: 'summary_text', text: 'Two cities.' }],
};
const CALL = { id: 'fc_1', type: 'function_call', arguments: '{"city":"Oslo"}', call_id: 'call_x1', name: 'weather' };
const USAGE = { input_tokens: 9, output_tokens: 5 };

/** A response of these items, as the client gets it. */
function receive(client: Dialect, output: readonly Fields[], seal?: ChannelSeal, rest: Fields = {}): Fields {
  const response = { object: 'response', status: 'completed', model: 'gpt-5.6', output, usage: USAGE, ...rest };
  const { body } = converterFor(client, 'OpenAI', 'Responses').response(Buffer.from(JSON.stringify(response)), {
    ...CONTEXT,
    seal,
  });
  return JSON.parse(Buffer.from(body).toString('utf8')) as Fields;
}

const QUESTION = 'Weather in Oslo?';

/** The next request of each client, with what it got. */
const CLIENTS: readonly { readonly client: Dialect; readonly next: (response: Fields) => Fields }[] = [
  {
    client: 'Anthropic',
    next: ({ content }) => ({
      model: 'm',
      max_tokens: 900,
      messages: [
        { role: 'user', content: QUESTION },
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_x1', content: '-3' }] },
      ],
    }),
  },
  {
    client: 'OpenAI',
    next: ({ choices }) => ({
      model: 'm',
      messages: [
        { role: 'user', content: QUESTION },
        (choices as readonly Fields[])[0]?.['message'],
        { role: 'tool', tool_call_id: 'call_x1', content: '-3' },
      ],
    }),
  },
  {
    client: 'Gemini',
    next: ({ candidates }) => ({
      contents: [
        { role: 'user', parts: [{ text: QUESTION }] },
        (candidates as readonly Fields[])[0]?.['content'],
        { role: 'user', parts: [{ functionResponse: { id: 'call_x1', name: 'weather', response: { output: '-3' } } }] },
      ],
    }),
  },
];

const KINDS = { Anthropic: 'AnthropicChat', OpenAI: 'OpenAIChat', Gemini: 'Gemini' } as const;

describe('encrypted reasoning', () => {
  const items = (sent: Sent): readonly unknown[] => sent.input.map(({ type }) => type);

  for (const { client, next } of CLIENTS) {
    it(`comes back from a client of ${client}, before the call that it led to`, () => {
      const seal = sealOf('channel-a');
      const request = next(receive(client, [REASONING, CALL], seal));
      const sent = send(client, request, { seal });
      assert.deepEqual(items(sent), ['message', 'reasoning', 'function_call', 'function_call_output']);
      const { encrypted_content: content, id } = sent.input[1] ?? {};
      assert.deepEqual([content, id], [REASONING.encrypted_content, undefined]);
      assert.doesNotMatch(JSON.stringify(request), /secret/);
    });

    it(`of another channel is left out for a client of ${client}`, () => {
      const request = next(receive(client, [REASONING, CALL], sealOf('channel-a')));
      const sent = send(client, request, { seal: sealOf('channel-b') });
      assert.deepEqual(items(sent), ['message', 'function_call', 'function_call_output']);
    });
  }

  it('keeps its summary for clients that show it', () => {
    const request = CLIENTS[0]?.next(receive('Anthropic', [REASONING, CALL])) ?? {};
    assert.deepEqual(send('Anthropic', request).input[1]?.['summary'], REASONING.summary);
  });

  it('binds the conversation to its channel', () => {
    const seal = sealOf('channel-a');
    for (const { client, next } of CLIENTS) {
      const { sealed, bound } = readAffinity(KINDS[client], next(receive(client, [REASONING, CALL], seal)));
      assert.deepEqual([sealed.length, bound.length], [1, 0], client);
      assert.equal(seal.open(String(sealed[0]))?.channel, 'channel-a');
    }
  });

  it('of other makers is left out', () => {
    const thinking = (signature: string): Fields => ({ type: 'thinking', thinking: 't', signature });
    const messages = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: [thinking('c2lnbmVk'), thinking(''), thinking('gemini.text.c2ln'), { type: 'text', text: 'b' }],
      },
      { role: 'user', content: 'c' },
    ];
    assert.deepEqual(items(send('Anthropic', { model: 'm', messages })), ['message', 'message', 'message']);
  });
});

describe('a request', () => {
  const messages = [{ role: 'user', content: 'a' }];

  it('stores nothing, and asks for encrypted reasoning of models that reason', () => {
    const include = (upstreamModel: string): unknown => {
      const { store, include: asked } = send('Anthropic', { model: 'm', messages }, { upstreamModel });
      assert.equal(store, false);
      return asked;
    };
    assert.deepEqual(include('gpt-5.6'), ['reasoning.encrypted_content']);
    assert.equal(include('gpt-4.1'), undefined);
  });

  it('has an output limit of at least 16', () => {
    const limit = (max: number): unknown =>
      send('Anthropic', { model: 'm', max_tokens: max, messages })['max_output_tokens'];
    assert.deepEqual([limit(1), limit(16), limit(17)], [16, 16, 17]);
  });

  it('turns reasoning off where the model can', () => {
    const reasoning = (upstreamModel: string, thinking: Fields): unknown =>
      send('Anthropic', { model: 'm', messages, thinking }, { upstreamModel })['reasoning'];
    assert.deepEqual(reasoning('gpt-5.6', { type: 'disabled' }), { effort: 'none' });
    assert.equal(reasoning('gpt-5', { type: 'disabled' }), undefined);
    assert.deepEqual(reasoning('gpt-5.6', { type: 'adaptive' }), { summary: 'auto' });
    assert.equal(reasoning('gpt-5.6', { type: 'adaptive', display: 'omitted' }), undefined);
    assert.equal(reasoning('gpt-4.1', { type: 'adaptive' }), undefined);
  });

  it('says which messages are commentary beside calls, to models that have phases', () => {
    const call = { type: 'tool_use', id: 'toolu_x', name: 'f', input: {} };
    const history = [
      ...messages,
      { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_x', content: 'r' }] },
      { role: 'assistant', content: 'Done.' },
      ...messages,
    ];
    const phases = (upstreamModel: string): readonly unknown[] =>
      send('Anthropic', { model: 'm', messages: history }, { upstreamModel })
        .input.filter(({ role }) => role === 'assistant')
        .map(({ phase }) => phase);
    for (const model of ['gpt-5.6', 'gpt-5.4-mini', 'gpt-5.3-codex'])
      assert.deepEqual(phases(model), ['commentary', 'final_answer'], model);
    for (const model of ['gpt-5', 'gpt-5.2-codex', 'gpt-oss-120b'])
      assert.deepEqual(phases(model), [undefined, undefined]);
  });

  it('asks for JSON in its input, where the model is held to any JSON', () => {
    const sent = send('OpenAI', {
      model: 'm',
      messages: [{ role: 'system', content: 'Be brief.' }, ...messages],
      response_format: { type: 'json_object' },
    });
    assert.equal(sent['instructions'], undefined);
    assert.match(JSON.stringify(sent.input[0]), /Be brief\.\\n\\nAnswer with JSON\./);
  });

  it('of Gemini has its tools and results', () => {
    const sent = send('Gemini', {
      systemInstruction: { parts: [{ text: 'S' }] },
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object', properties: {} } }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f', 'g'] } },
      generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true }, maxOutputTokens: 99 },
    });
    assert.equal(sent['instructions'], 'S');
    assert.deepEqual(sent['reasoning'], { effort: 'high', summary: 'auto' });
    assert.deepEqual(sent['tool_choice'], {
      type: 'allowed_tools',
      mode: 'required',
      tools: [
        { type: 'function', name: 'f' },
        { type: 'function', name: 'g' },
      ],
    });
  });
});

describe('a response', () => {
  it('that has failed is an error, whatever its status code', () => {
    const error = { code: 'server_error', message: 'Try again.' };
    for (const rest of [{ status: 'failed', error }, { status: 'cancelled' }, { error: { message: 'Try again.' } }])
      assert.throws(
        () => receive('Anthropic', [], undefined, rest),
        (thrown) => thrown instanceof FailedResponse && thrown.error.message.length > 0,
        JSON.stringify(rest),
      );
  });

  it('that is none of the protocol is a fault', () => {
    for (const rest of [{ output: null }, { status: 'in_progress' }, { status: 'queued' }])
      assert.throws(
        () => receive('Anthropic', [], undefined, rest),
        (thrown) => thrown instanceof SyntaxError && !(thrown instanceof FailedResponse),
      );
  });

  it("of a custom tool has the tool's text again", () => {
    const call = { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: 'a "b"\n' };
    const converter = converterFor('OpenAI', 'OpenAI', 'Responses');
    const notes = { customTools: new Set(['patch']) };
    const body = JSON.stringify({ status: 'completed', output: [call], usage: USAGE });
    const { choices } = JSON.parse(
      Buffer.from(converter.response(Buffer.from(body), { ...CONTEXT, notes }).body).toString('utf8'),
    ) as { choices: readonly { message: { tool_calls: readonly Fields[] } }[] };
    assert.deepEqual(choices[0]?.message.tool_calls, [
      { id: 'c1', type: 'custom', custom: { name: 'patch', input: 'a "b"\n' } },
    ]);
  });
});

describe('a stream', () => {
  const event = (data: Fields): string => `event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`;
  const open = (...events: readonly Fields[]): ReturnType<typeof replay> =>
    replay(converterFor('Anthropic', 'OpenAI', 'Responses').stream(STREAM_REQUEST), [
      Buffer.from(events.map(event).join('')),
    ]);
  const added = (index: number, item: Fields): Fields => ({
    type: 'response.output_item.added',
    output_index: index,
    item,
  });

  it('sends a call before the next one begins, when its item is done', () => {
    const { sent } = open(
      added(0, { ...CALL, arguments: '' }),
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{}' },
      { type: 'response.output_item.done', output_index: 0, item: { ...CALL, arguments: '{}' } },
      added(1, { ...CALL, call_id: 'call_2', arguments: '' }),
    );
    assert.match(sent, /content_block_stop/);
    assert.doesNotMatch(sent, /call_2/);
  });

  it('ends what the provider leaves open', () => {
    const { last, outcome } = open(
      added(0, { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: '' }),
      { type: 'response.custom_tool_call_input.delta', output_index: 0, delta: 'x' },
      { type: 'response.completed', response: { status: 'completed', output: [], usage: USAGE } },
    );
    assert.equal(outcome, 'Complete');
    assert.match(last, /tool_use/);
  });

  it('takes what only the end of an item says, once', () => {
    const message = { type: 'message', content: [{ type: 'output_text', text: 'Hello.' }] };
    const completed = {
      type: 'response.completed',
      response: { status: 'completed', output: [message], usage: USAGE },
    };
    const done = { type: 'response.output_item.done', output_index: 0, item: message };
    for (const events of [[completed], [done, completed], [done, done, completed]])
      assert.equal(open(...events).sent.match(/Hello\./g)?.length, 1);
  });
});

describe('the API that serves a chat', () => {
  const BOTH: ReadonlySet<ServingApi> = new Set(['Chat', 'Responses']);
  const TOOLS = { tools: [{ type: 'function', function: { name: 'f' } }] };
  const api = (upstreamModel: string, chat: Fields, endpoints = BOTH): ServingApi =>
    servingApi({ endpoints, upstreamModel, capabilities: undefined }, toolReasoningOfChat(chat));

  it('is the only one that the channel has', () => {
    assert.equal(api('gpt-5-pro', TOOLS, new Set(['Chat'])), 'Chat');
    assert.equal(api('gpt-4.1', {}, new Set(['Responses'])), 'Responses');
  });

  it('is Responses for models that have no chat completions', () => {
    for (const model of ['gpt-5-pro', 'gpt-5.2-codex', 'codex-mini-latest', 'o3-pro', 'o4-mini-deep-research'])
      assert.equal(api(model, {}), 'Responses', model);
    for (const model of ['gpt-5', 'o3', 'gpt-5.6', 'gpt-5.4-mini', 'gpt-4o', 'some-model'])
      assert.equal(api(model, {}), 'Chat', model);
  });

  it('is Responses for tools with reasoning, from GPT-5.4 on', () => {
    const efforts = (model: string): readonly ServingApi[] =>
      [undefined, 'none', 'low'].map((effort) => api(model, { ...TOOLS, reasoning_effort: effort }));
    assert.deepEqual(efforts('gpt-5.6-sol'), ['Responses', 'Chat', 'Responses']);
    assert.deepEqual(efforts('gpt-5.5'), ['Responses', 'Chat', 'Responses']);
    assert.deepEqual(efforts('gpt-5.4'), ['Chat', 'Chat', 'Responses']);
    assert.deepEqual(efforts('gpt-5.2'), ['Chat', 'Chat', 'Chat']);
    assert.deepEqual(efforts('gpt-5.6-chat-latest'), ['Chat', 'Chat', 'Chat']);
  });

  it('is what the route states', () => {
    const served = { endpoints: BOTH, upstreamModel: 'gpt-5.6' };
    assert.equal(servingApi({ ...served, capabilities: { chatToolsWithReasoning: true } }, 'Yes'), 'Chat');
    assert.equal(servingApi({ ...served, capabilities: { chatCompletions: false } }, 'No'), 'Responses');
  });
});
