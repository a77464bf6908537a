/** Clients of OpenAI's Responses: how items become turns, and how events become items. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { responsesClient } from '../../../../../dataplane/protocol/clients/responses/client.ts';
import type { ConversationEvent, FinishReason } from '../../../../../dataplane/protocol/conversation/events.ts';
import type { ReasoningProof } from '../../../../../dataplane/protocol/conversation/reasoning.ts';
import type { Conversation, Turn } from '../../../../../dataplane/protocol/conversation/request.ts';
import { fold } from '../../../../../dataplane/protocol/conversation/response.ts';
import { sealReasoning } from '../../../../../dataplane/protocol/conversation/sealed-reasoning.ts';
import type { ConversionNotes, ReportedUsage } from '../../../../../dataplane/protocol/converter.ts';
import { converterFor } from '../../../../../dataplane/protocol/providers.ts';
import type { ProviderKind } from '../../../../../dataplane/protocol/provider.ts';
import { byteByByte, replay, STREAM_REQUEST } from '../replay.ts';
import { assertResponse, eventsOf, wholeResponse } from '../response-events.ts';
import type { Event } from '../response-events.ts';
import { sealFor } from '../seal.ts';

type Fields = Record<string, unknown>;

const SEAL = sealFor('route/one');
const USAGE: ReportedUsage = {
  input: 10,
  cached: 5,
  cacheWrite5m: 2,
  cacheWrite1h: undefined,
  output: 7,
  details: { reasoning: 3 },
  serviceTier: 'standard',
};
const USER = { role: 'user', content: 'hi' };
const CALL = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const OUTPUT = { type: 'function_call_output', call_id: 'c', output: 'done' };
const said = (text: string): Fields => ({ role: 'assistant', content: [{ type: 'output_text', text }] });

function read(request: Fields): Conversation {
  return responsesClient.read({ model: 'm', ...request }, { providerTools: undefined, seal: SEAL }).conversation;
}

/** Each turn as its role and its parts, without places. */
function turnsOf(...input: readonly Fields[]): unknown {
  return read({ input }).turns.map(({ role, parts }: Turn) => [
    role,
    ...parts.map((part) => JSON.parse(JSON.stringify({ ...part, path: undefined })) as Fields),
  ]);
}

describe('input items', () => {
  it('of the assistant are one turn, and so are outputs', () => {
    const second = { ...CALL, call_id: 'd' };
    const result = { type: 'ToolResult', isError: false, parts: [{ type: 'Text', text: 'done' }] };
    const turns = read({
      input: [USER, said('a'), CALL, second, OUTPUT, { ...OUTPUT, call_id: 'd' }, said('b')],
    }).turns;
    assert.deepEqual(
      turns.map(({ role, parts }) => [role, parts.length]),
      [
        ['User', 1],
        ['Assistant', 3],
        ['User', 2],
        ['Assistant', 1],
      ],
    );
    const [, , results] = turns;
    assert.ok(results?.role === 'User' && results.parts[0]?.type === 'ToolResult');
    assert.equal(results.parts[0].parts[0]?.type, result.parts[0]?.type);
  });
  it('that are messages of one turn stay apart where a protocol joins texts', () => {
    const request = { model: 'm', input: [USER, said('I look.'), said('Found.'), USER] };
    const plan = { upstreamModel: 'gpt-5', maxOutputTokens: 9, outputLimitField: 'max_tokens' } as const;
    const { body } = converterFor('Responses', 'OpenAI').request(Buffer.from(JSON.stringify(request)), request, plan);
    assert.match(Buffer.from(body).toString(), /"content":"I look\.\\n\\nFound\."/);
  });
  it('of the system at the beginning are one text, and later ones stand where they are', () => {
    const system = (content: unknown): Fields => ({ role: 'developer', content });
    const parts = [
      { type: 'input_text', text: 'b' },
      { type: 'input_text', text: 'c' },
    ];
    const { turns } = read({ instructions: 'a', input: [system(parts), USER, system('d'), USER] });
    assert.deepEqual(
      turns.map(({ role, parts: [first] }) => [role, first && 'text' in first ? first.text : undefined]),
      [
        ['System', 'a\n\nb\nc'],
        ['User', 'hi'],
        ['System', 'd'],
        ['User', 'hi'],
      ],
    );
  });
  it('that reason bring back what the gateway sealed, or else what can be read', () => {
    const proof: ReasoningProof = { maker: 'Anthropic', signature: 's' };
    const sealed = { type: 'reasoning', encrypted_content: sealReasoning(SEAL, { text: 't', proof }) };
    const foreign = { type: 'reasoning', encrypted_content: 'gAAAA', summary: [{ type: 'summary_text', text: 'u' }] };
    assert.deepEqual(turnsOf(USER, sealed, foreign, { type: 'reasoning', encrypted_content: 'gAAAA' }, CALL, OUTPUT), [
      ['User', { type: 'Text', text: 'hi' }],
      [
        'Assistant',
        { type: 'Reasoning', text: 't', proof },
        { type: 'Reasoning', text: 'u' },
        { type: 'ToolCall', id: 'c', name: 'f', arguments: { text: '{}' } },
      ],
      [
        'User',
        {
          type: 'ToolResult',
          callId: 'c',
          isError: false,
          parts: [{ type: 'Text', text: 'done', path: 'input[5].output' }],
        },
      ],
    ]);
  });
  it('that reason at the end of a turn are left out, unless they prove its text', () => {
    const reasoning = (proof: ReasoningProof): Fields => ({
      type: 'reasoning',
      encrypted_content: sealReasoning(SEAL, { text: '', proof }),
    });
    const own = reasoning({ maker: 'Gemini', signature: 's', callId: undefined });
    const cut = reasoning({ maker: 'Anthropic', signature: 's' });
    assert.equal(JSON.stringify(turnsOf(USER, said('a'), own, USER)).includes('Gemini'), true);
    assert.equal(JSON.stringify(turnsOf(USER, said('a'), cut, USER)).includes('Reasoning'), false);
    assert.deepEqual(turnsOf(USER, cut), [['User', { type: 'Text', text: 'hi' }]]);
  });
  it('that call tools may have their arguments as an object', () => {
    const [, turn] = read({ input: [USER, { ...CALL, arguments: { a: 1 } }, OUTPUT] }).turns;
    assert.deepEqual(
      turn?.parts.map((part) => 'arguments' in part && part.arguments),
      [{ value: { a: 1 } }],
    );
  });
});

describe('settings', () => {
  it('carry their paths', () => {
    const { settings } = read({
      input: 'hi',
      reasoning: { effort: 'none' },
      text: { verbosity: 'low', format: { type: 'json_object' } },
      include: ['message.output_text.logprobs'],
      prompt_cache_key: 'k',
      service_tier: 'default',
    });
    assert.deepEqual(
      [settings.effort, settings.reasoning?.value.mode, settings.verbosity, settings.logProbabilities],
      [
        { value: 'none', path: 'reasoning.effort' },
        'Disabled',
        { value: 'low', path: 'text.verbosity' },
        { value: 0, path: 'include' },
      ],
    );
    assert.deepEqual(
      [settings.responseFormat?.path, settings.promptCacheKey?.path, settings.serviceTier?.value],
      ['text.format', 'prompt_cache_key', 'standard'],
    );
  });
  it('of a choice name the tools that may be called, of those that there are', () => {
    const choice = (...names: readonly string[]): unknown =>
      read({
        input: 'hi',
        tools: [
          { type: 'function', name: 'f' },
          { type: 'function', name: 'g' },
        ],
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: names.map((name) => ({ type: 'function', name })) },
      }).settings.toolChoice?.value;
    assert.deepEqual(choice('f', 'x'), { mode: 'Auto', names: ['f'] });
    assert.deepEqual(choice('x'), { mode: 'None', names: undefined });
  });
});

const text = (words: string): ConversationEvent => ({ type: 'text-delta', text: words });
const finish = (reason: FinishReason, detail?: string): ConversationEvent => ({ type: 'finish', reason, detail });

interface Written {
  readonly events: readonly Event[];
  readonly response: Fields;
}

/** A stream of these events, which is the whole response of the same events. */
function write(given: readonly ConversationEvent[], notes?: ConversionNotes): Written {
  const context = { id: 'req-1', createdSeconds: 1, nowSeconds: () => 1, model: 'm', notes, seal: SEAL };
  const writer = responsesClient.stream({ ...context, usage: () => USAGE, wantsStreamUsage: true });
  const events = eventsOf(given.map((event) => writer.write(event)).join('') + writer.end());
  assertResponse(events);
  const response = events.at(-1)?.['response'] as Fields;
  const whole = responsesClient.write(fold(given), USAGE, context);
  assert.deepEqual(JSON.parse(Buffer.from(whole).toString('utf8')), response);
  return { events, response };
}

/** The items of a response, without their ids. */
function itemsOf(given: readonly ConversationEvent[], notes?: ConversionNotes): readonly Fields[] {
  const output = write(given, notes).response['output'] as readonly Fields[];
  return output.map(({ id: _id, ...item }) => item);
}

const message = (status: string, ...content: readonly Fields[]): Fields => ({
  type: 'message',
  status,
  role: 'assistant',
  content,
});
const outputText = (words: string, more: Fields = {}): Fields => ({
  type: 'output_text',
  text: words,
  annotations: [],
  logprobs: [],
  ...more,
});

describe('a response', () => {
  it('has its usage, with details', () => {
    const { usage, service_tier: tier } = write([text('hi'), finish('Stop')]).response;
    assert.deepEqual(usage, {
      input_tokens: 17,
      input_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 24,
    });
    assert.equal(tier, 'default');
  });
  it('is incomplete within the item in which the model was cut off', () => {
    const call: readonly ConversationEvent[] = [
      { type: 'call-start', id: 'c', name: 'f' },
      { type: 'call-delta', text: '{"a' },
      { type: 'call-end' },
    ];
    const { status, incomplete_details: details } = write([text('a'), ...call, finish('Length')]).response;
    assert.deepEqual([status, details], ['incomplete', { reason: 'max_output_tokens' }]);
    assert.deepEqual(
      itemsOf([text('a'), ...call, finish('Length')]).map((item) => item['status']),
      ['completed', 'incomplete'],
    );
    assert.deepEqual(
      itemsOf([{ type: 'reasoning-delta', text: 'r' }, finish('ContextWindow')]).map((item) => item['status']),
      ['incomplete'],
    );
  });
  it('in which the model refuses is complete, and one that a filter ends is not', () => {
    const own = write([{ type: 'refusal-delta', text: 'No.' }, finish('Refusal', 'No.')]).response;
    assert.equal(own['status'], 'completed');
    const filtered = [text('Well'), finish('Refusal', 'It is unsafe.')];
    assert.deepEqual(write(filtered).response['incomplete_details'], { reason: 'content_filter' });
    assert.deepEqual(itemsOf(filtered), [
      message('incomplete', outputText('Well'), { type: 'refusal', refusal: 'It is unsafe.' }),
    ]);
  });
  it('cites sources by their places in the text of their message', () => {
    const cite = (url: string, start: number, end: number): ConversationEvent => ({
      type: 'citation',
      url,
      title: 'T',
      start,
      end,
    });
    const call: readonly ConversationEvent[] = [{ type: 'call-start', id: 'c', name: 'f' }, { type: 'call-end' }];
    const [first, , second] = itemsOf([
      text('abc'),
      cite('https://a', 0, 3),
      ...call,
      text('defg'),
      cite('https://b', 4, 7),
      cite('file:1', 4, 7),
      finish('Stop'),
    ]);
    const annotation = { type: 'url_citation', title: 'T' };
    assert.deepEqual(
      [first?.['content'], second?.['content']],
      [
        [outputText('abc', { annotations: [{ ...annotation, url: 'https://a', start_index: 0, end_index: 3 }] })],
        [outputText('defg', { annotations: [{ ...annotation, url: 'https://b', start_index: 1, end_index: 4 }] })],
      ],
    );
  });
  it('has log probabilities and images', () => {
    const token = { token: 'hi', logProbability: -0.5, alternatives: [{ token: 'ho', logProbability: -1 }] };
    const [said2, image] = itemsOf([
      { type: 'log-probabilities', tokens: [token] },
      text('hi'),
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      finish('Stop'),
    ]);
    const written = (name: string, value: number): Fields => ({
      token: name,
      logprob: value,
      bytes: [...Buffer.from(name)],
    });
    assert.deepEqual(said2?.['content'], [
      outputText('hi', { logprobs: [{ ...written('hi', -0.5), top_logprobs: [written('ho', -1)] }] }),
    ]);
    assert.deepEqual(image, {
      type: 'image_generation_call',
      status: 'completed',
      output_format: 'png',
      result: 'AAAA',
    });
  });
  it('seals reasoning with its proof, and readable reasoning where the model wants it back', () => {
    const proof: ReasoningProof = { maker: 'Gemini', signature: 's', callId: 'c' };
    const redacted: ReasoningProof = { maker: 'Anthropic', redacted: 'x' };
    const thought: ConversationEvent = { type: 'reasoning-delta', text: 'r' };
    const end = (given: ReasoningProof | undefined): ConversationEvent => ({ type: 'reasoning-end', proof: given });
    const sealed = (kept: string, given: ReasoningProof | undefined): string =>
      sealReasoning(SEAL, { text: kept, proof: given });
    const summary = [{ type: 'summary_text', text: 'r' }];
    const content = [{ type: 'reasoning_text', text: 'r' }];
    assert.deepEqual(
      itemsOf([thought, end(proof), thought, end(redacted), thought, end(undefined), thought, finish('Stop')], {
        keepsReasoning: true,
      }),
      [
        { encrypted_content: sealed('r', proof), summary },
        { encrypted_content: sealed('r', undefined), summary, content },
        { encrypted_content: sealed('', redacted), summary: [] },
        { encrypted_content: sealed('r', undefined), summary, content },
        { encrypted_content: sealed('r', undefined), summary, content },
      ].map((item) => ({ type: 'reasoning', status: 'completed', ...item })),
    );
    assert.deepEqual(itemsOf([thought, finish('Stop')]), [
      { type: 'reasoning', status: 'completed', summary, content },
    ]);
  });
});

describe('a stream that fails', () => {
  const SAY: Readonly<Record<'OpenAI' | 'Gemini', readonly [said: object, failed: object]>> = {
    OpenAI: [
      { choices: [{ index: 0, delta: { content: 'hi' } }] },
      { choices: [], error: { message: 'too much', type: 'overloaded_error' } },
    ],
    Gemini: [
      { candidates: [{ content: { parts: [{ text: 'hi' }] } }] },
      { error: { code: 503, message: 'too much', status: 'UNAVAILABLE' } },
    ],
  };
  const stream = (upstream: ProviderKind): ReturnType<ReturnType<typeof converterFor>['stream']> =>
    converterFor('Responses', upstream).stream(STREAM_REQUEST);

  for (const upstream of ['OpenAI', 'Gemini'] as const) {
    const data = SAY[upstream].map((each) => `data: ${JSON.stringify(each)}\n\n`);
    it(`at a provider of ${upstream}'s protocol ends with response.failed`, () => {
      const converter = stream(upstream);
      const run = replay(converter, byteByByte(Buffer.from(data.join(''))));
      assert.equal(run.outcome, 'Failed');
      const events = wholeResponse(converter, run);
      assertResponse(events);
      const response = events.at(-1)?.['response'] as { readonly error: Fields };
      assert.equal(response.error['message'], 'too much');
    });
    it(`because a provider of ${upstream}'s protocol breaks off ends with response.failed`, () => {
      const converter = stream(upstream);
      const run = replay(converter, [Buffer.from(data[0] ?? '')]);
      assert.equal(run.outcome, 'Cut');
      const events = wholeResponse(converter, run);
      assertResponse(events);
      assert.equal(events.at(-1)?.type, 'response.failed');
    });
  }
  it('says nothing of a call that has no name, and ends as a response without calls', () => {
    const converter = stream('OpenAI');
    const call = { index: 0, id: 'c', function: { name: '', arguments: '{}' } };
    const chunks = [
      { choices: [{ index: 0, delta: { content: 'hi', tool_calls: [call] } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    ].map((each) => `data: ${JSON.stringify(each)}\n\n`);
    const events = wholeResponse(converter, replay(converter, [Buffer.from(`${chunks.join('')}data: [DONE]\n\n`)]));
    assertResponse(events);
    const response = events.at(-1)?.['response'] as Fields;
    assert.deepEqual([response['status'], (response['output'] as Fields[]).length], ['completed', 1]);
  });
});
