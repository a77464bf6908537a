/**
 * /v1/responses for models whose provider serves chat completions only: answers, streams, tools, and what complete,
 * incomplete, failed and cut responses cost.
 */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { chatModelsManifest } from '../../support/chat-models.ts';
import { KEYS } from '../../support/manifests.ts';
import {
  anthropicMessage,
  anthropicStream,
  breakAt,
  openaiChat,
  openaiError,
  openaiStream,
  sse,
} from '../../support/provider-answers.ts';
import { post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

/** Nano-USD per token of chat-model. */
const PRICE = { input: 2_500n, cached: 1_250n, output: 10_000n };
const USAGE = { prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 40 } };
const COST = 60n * PRICE.input + 40n * PRICE.cached + 7n * PRICE.output;
const TOOLS = [
  { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} } },
  { type: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: x' } },
  { type: 'namespace', name: 'mcp', description: 'x', tools: [{ type: 'function', name: 'list' }] },
];
const CALLS = [
  { id: 'call_one', name: 'shell', arguments: '{"command":"ls"}' },
  { id: 'call_two', name: 'apply_patch', arguments: '{"input":"*** Begin\\n\\u00e9"}' },
  { id: 'call_three', name: 'mcp__list', arguments: '{}' },
];

let world: TestStack;
beforeAll(async () => {
  world = await startTestStack({ files: (urls) => ({ 'chats.yaml': chatModelsManifest(urls) }) });
});
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

const ask = (more: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  post(world, '/v1/responses', { model: 'chat-model', input: 'hello', ...more }, headers);

async function costOf(call: () => Promise<Answer>): Promise<{ answer: Answer; cost: bigint }> {
  const { spent } = await spending(world);
  const answer = await call();
  return { answer, cost: (await spending(world)).spent - spent };
}

const eventsOf = (text: string): Json[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('event: '))
    .map((event) => {
      const [head = '', data = ''] = event.split('\n');
      const value: Json = JSON.parse(data.slice('data: '.length));
      assert.equal(head, `event: ${value.type}`);
      return value;
    });

/** All events in order, with their numbers and exactly one end. */
function checkedEvents(answer: Answer): Json[] {
  const events = eventsOf(answer.text);
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  );
  const ends = events.filter(({ type }) => /^response\.(?:completed|incomplete|failed)$/.test(type));
  assert.deepEqual(ends, events.slice(-1));
  return events;
}

describe('a response of a chat model', () => {
  it('is a chat for its provider, and is billed by its figures', async () => {
    world.openai.script(openaiChat({ content: 'Hello.', usage: USAGE }));
    const { answer, cost } = await costOf(() => ask({ instructions: 'Be brief.', metadata: { a: 'b' } }));
    assert.equal(answer.status, 200, answer.text);
    const sent = await world.openai.request(0);
    assert.deepEqual(
      [sent.path, sent.json()],
      [
        '/v1/chat/completions',
        {
          model: 'chat-model',
          max_completion_tokens: 4000,
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'hello' },
          ],
        },
      ],
    );
    const { id, object, status, output, usage, instructions, metadata, tools } = answer.json();
    assert.match(id, /^resp_[0-9a-f]{32}$/);
    assert.deepEqual(
      [object, status, output[0].content[0].text, instructions, metadata, tools],
      ['response', 'completed', 'Hello.', 'Be brief.', { a: 'b' }, []],
    );
    assert.deepEqual([usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens], [100, 40, 7]);
    assert.equal(cost, COST);
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.00027');
  });
  it("of Anthropic's provider is answered too", async () => {
    world.anthropic.script(anthropicMessage({ content: 'Hello.' }), anthropicStream(['Hel', 'lo.']));
    const answer = await ask({ model: 'claude-model' });
    assert.equal(answer.json().output[0].content[0].text, 'Hello.', answer.text);
    assert.equal((await world.anthropic.request(0)).json()['max_tokens'], 4000);
    const events = checkedEvents(await ask({ model: 'claude-model', stream: true }));
    assert.equal(events.at(-1).response.output[0].content[0].text, 'Hello.');
  });
  it("has the limit in the field that its provider takes, at most the model's", async () => {
    world.openai.script(openaiChat());
    await ask({ model: 'deepseek-model', max_output_tokens: 99_999 });
    assert.equal((await world.openai.request(0)).json()['max_tokens'], 4000);
  });
  it('is lowered to what the key can pay', async () => {
    world.openai.script(openaiChat());
    const lowered = Number((await ask({}, { 'x-api-key': KEYS.small })).headers.get('x-modelgateway-max-tokens'));
    assert.ok(lowered >= 256 && lowered < 1000);
    assert.equal((await world.openai.request(0)).json()['max_completion_tokens'], lowered);
  });
  for (const [finishReason, reason] of [
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const)
    it(`that ends by ${finishReason} is incomplete, and billed`, async () => {
      world.openai.script(openaiChat({ content: 'Hel', usage: USAGE, finishReason }));
      const { answer, cost } = await costOf(() => ask());
      const { status, incomplete_details: details, output } = answer.json();
      assert.deepEqual([status, details, output[0].status, cost], ['incomplete', { reason }, 'incomplete', COST]);
    });
  it('that its provider refuses is told, and free', async () => {
    world.openai.script(openaiError(400, 'too long', { code: 'context_length_exceeded' }));
    const { answer, cost } = await costOf(() => ask());
    assert.deepEqual(
      [answer.status, answer.json().error.message, answer.json().error.code, cost],
      [400, 'too long', 'context_length_exceeded', 0n],
    );
  });
  it('calls tools as they were declared', async () => {
    world.openai.script(openaiChat({ toolCalls: CALLS }));
    const answer = await ask({ tools: TOOLS });
    assert.deepEqual(
      answer.json().output.map(({ id: _id, status: _status, ...item }: Json) => item),
      [
        { type: 'function_call', name: 'shell', call_id: 'call_one', arguments: '{"command":"ls"}' },
        { type: 'custom_tool_call', name: 'apply_patch', call_id: 'call_two', input: '*** Begin\né' },
        { type: 'function_call', name: 'list', namespace: 'mcp', call_id: 'call_three', arguments: '{}' },
      ],
    );
  });
  it('leaves tools out that the provider would run, and names them', async () => {
    world.openai.script(openaiChat());
    const answer = await ask({
      tools: [...TOOLS, { type: 'web_search' }],
      truncation: 'auto',
      text: { verbosity: 'low' },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('x-modelgateway-dropped'), 'truncation, tools[3] (web_search), text.verbosity');
  });
  it("in Codex's fast mode is answered by Anthropic's provider, which has no such tier", async () => {
    world.anthropic.script(anthropicMessage());
    const answer = await ask({ model: 'claude-model', service_tier: 'priority' });
    assert.deepEqual([answer.status, answer.headers.get('x-modelgateway-dropped')], [200, 'service_tier'], answer.text);
    assert.equal((await world.anthropic.request(0)).json()['service_tier'], undefined);
    const { code } = (await ask({ service_tier: 'priority' })).json().error;
    assert.equal(code, 'not_allowed', 'where it would be served');
    assert.equal((await ask({ model: 'claude-model', service_tier: 'flex' })).json().error.param, 'service_tier');
  });
  it('is refused for what cannot be left out', async () => {
    for (const [body, param] of [
      [{ input: [{ role: 'user', content: 'x' }, { type: 'compaction_trigger' }] }, 'input[1].type'],
      [{ brand_new: 1 }, 'brand_new'],
      [{ access_programs: {} }, 'access_programs'],
    ] as const) {
      const answer = await ask(body);
      const { code, param: named } = answer.json().error;
      assert.deepEqual([answer.status, code, named], [400, 'unsupported_parameter', param]);
    }
    assert.equal(world.openai.requests.length, 0);
  });
});

describe('a stream of one', () => {
  it('has every event in order, ends completed, and is billed', async () => {
    world.openai.script(openaiStream(['Hel', 'lo.'], { usage: USAGE }));
    const { answer, cost } = await costOf(() => ask({ stream: true }));
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    const events = checkedEvents(answer);
    assert.deepEqual(
      events.map(({ type }) => type.replace('response.', '')),
      [
        'created',
        'in_progress',
        'output_item.added',
        'content_part.added',
        'output_text.delta',
        'output_text.delta',
        'output_text.done',
        'content_part.done',
        'output_item.done',
        'completed',
      ],
    );
    assert.deepEqual(events.at(-1).response.output, [events.at(-2).item]);
    assert.doesNotMatch(answer.text, /DONE/);
    assert.equal(cost, COST);
  });
  it('calls tools as they were declared', async () => {
    world.openai.script(openaiStream([], { toolCalls: CALLS }));
    const events = checkedEvents(await ask({ tools: TOOLS, stream: true }));
    const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    assert.deepEqual(
      items.map(({ type, name, namespace, input }: Json) => [type, name, namespace ?? input]),
      [
        ['function_call', 'shell', undefined],
        ['custom_tool_call', 'apply_patch', '*** Begin\né'],
        ['function_call', 'list', 'mcp'],
      ],
    );
  });
  it('that is cut short is incomplete, and billed', async () => {
    world.openai.script(openaiStream(['Hel'], { usage: USAGE, finishReason: 'length' }));
    const { answer, cost } = await costOf(() => ask({ stream: true }));
    const end = checkedEvents(answer).at(-1);
    assert.deepEqual(
      [end.type, end.response.incomplete_details, cost],
      ['response.incomplete', { reason: 'max_output_tokens' }, COST],
    );
  });
  it('that breaks off has failed, with the items that were done, and is billed by what was seen', async () => {
    world.openai.script(breakAt(openaiStream(['four', 'four']), 3, { kind: 'cut' }));
    const { answer, cost } = await costOf(() => ask({ stream: true }));
    const end = checkedEvents(answer).at(-1);
    assert.deepEqual(
      [end.type, end.response.status, end.response.error.code, end.response.output],
      ['response.failed', 'failed', 'server_error', []],
    );
    assert.ok(cost >= 2n * PRICE.output && cost < 2n * PRICE.output + 100n * PRICE.input, String(cost));
  });
  it('whose provider sends an error has failed, with a code that clients know', async () => {
    for (const [code, expected] of [
      ['rate_limit_exceeded', 'rate_limit_exceeded'],
      ['context_length_exceeded', 'context_length_exceeded'],
      ['invalid_api_key', 'server_error'],
    ]) {
      world.openai.script(
        breakAt(
          openaiStream(['four', 'four']),
          3,
          sse({
            data: { error: { message: 'no more', type: 'x', code } },
          }),
        ),
      );
      const { answer, cost } = await costOf(() => ask({ stream: true }));
      const end = checkedEvents(answer).at(-1);
      assert.deepEqual([end.type, end.response.error.code], ['response.failed', expected]);
      assert.ok(cost >= 2n * PRICE.output);
    }
  });
  it('that fails before any output costs nothing', async () => {
    world.openai.script(breakAt(openaiStream([]), 0, sse({ data: { error: { message: 'no more' } } })));
    const { answer, cost } = await costOf(() => ask({ stream: true }));
    assert.deepEqual([answer.status, answer.json().error.code, cost], [502, 'upstream_error', 0n]);
  });
});

it('thinking that Anthropic signed comes back to it, sealed in between', async () => {
  const thinking = { type: 'thinking', thinking: 'I call f.', signature: 'signed' };
  const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  world.anthropic.script(
    anthropicMessage({ extra: { content: [thinking, use], stop_reason: 'tool_use' } }),
    anthropicMessage({ content: 'Done.' }),
  );
  const tools = [{ type: 'function', name: 'f' }];
  const input = [{ role: 'user', content: 'hello' }];
  const { output } = (await ask({ model: 'claude-model', input, tools })).json();
  assert.deepEqual(
    output.map(({ type }: Json) => type),
    ['reasoning', 'function_call'],
  );
  assert.doesNotMatch(output[0].encrypted_content, /signed|I call|direct/);
  const answer = await ask({
    model: 'claude-model',
    tools,
    input: [...input, ...output, { type: 'function_call_output', call_id: 'toolu_1', output: 'x' }],
  });
  assert.equal(answer.json().output[0].content[0].text, 'Done.', answer.text);
  const { messages }: Json = (await world.anthropic.request(1)).json();
  assert.deepEqual(messages[1].content, [thinking, use]);
});
