/**
 * POST /v1/responses, passed through to an OpenAI channel: the gateway bills a response however it ends, and limits its
 * output as it limits a chat completion's.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { openaiError } from '../../support/provider-answers.ts';
import { openaiResponse, openaiResponseStream } from '../../support/response-answers.ts';
import { get, post, spending, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';

/** Nano-USD per token of gpt-model. */
const PRICE = { input: 2_500n, cached: 1_250n, output: 10_000n };
const USAGE = { input_tokens: 100, cached: 40, output_tokens: 7 };
const COST = 60n * PRICE.input + 40n * PRICE.cached + 7n * PRICE.output;

let world: TestStack;
beforeAll(async () => {
  world = await startTestStack();
});
afterAll(() => world.stop());
afterEach(() => tidyUp(world));

async function costOf(call: () => Promise<Answer>): Promise<{ answer: Answer; cost: bigint }> {
  const { spent } = await spending(world);
  const answer = await call();
  return { answer, cost: (await spending(world)).spent - spent };
}

const ask = (more: object = {}, model = 'gpt-model'): Promise<Answer> =>
  post(world, '/v1/responses', { model, input: 'hello', ...more });

describe('a response', () => {
  it('passes through, and is billed by its usage', async () => {
    world.openai.script(openaiResponse('hello', USAGE));
    const { answer, cost } = await costOf(() => ask({ store: false, metadata: { a: 'b' } }));
    assert.deepEqual([answer.status, answer.json().output[0].content[0].text, cost], [200, 'hello', COST]);
    const sent = await world.openai.request(0);
    assert.deepEqual(
      [sent.path, sent.json()],
      [
        '/v1/responses',
        {
          model: 'gpt-model',
          input: 'hello',
          store: false,
          metadata: { a: 'b' },
          max_output_tokens: 4000,
        },
      ],
    );
    assert.equal(answer.headers.get('x-modelgateway-cost-usd'), '0.00027');
  });
  it("is requested by the provider's model name, with max_output_tokens capped at the model's limit", async () => {
    world.openai.script(openaiResponse());
    await ask({ max_output_tokens: 100_000 }, 'renamed-model');
    assert.deepEqual((await world.openai.request(0)).json(), {
      model: 'upstream-name-7',
      input: 'hello',
      max_output_tokens: 4000,
    });
  });
  it('has max_output_tokens lowered to what the key can pay for', async () => {
    world.openai.script(openaiResponse());
    const answer = await post(
      world,
      '/v1/responses',
      { model: 'gpt-model', input: 'hello' },
      { 'x-api-key': KEYS.small },
    );
    const lowered = Number(answer.headers.get('x-modelgateway-max-tokens'));
    assert.ok(lowered >= 256 && lowered < 1000, answer.text);
    assert.equal((await world.openai.request(0)).json()['max_output_tokens'], lowered);
  });
  it('is billed when it is incomplete or failed, but costs nothing when it failed without usage', async () => {
    for (const [status, usage, expected] of [
      ['incomplete', USAGE, COST],
      ['failed', USAGE, COST],
      ['failed', null, 0n],
    ] as const) {
      world.openai.script(openaiResponse(status === 'failed' ? '' : 'hel', usage, status));
      const { answer, cost } = await costOf(() => ask());
      assert.deepEqual([answer.status, answer.json().status, cost], [200, status, expected]);
    }
  });
  it('without usage is billed by an estimate, and a header says so', async () => {
    world.openai.script(openaiResponse('twelve bytes', null));
    const { answer, cost } = await costOf(() => ask());
    assert.equal(answer.headers.get('x-modelgateway-usage'), 'estimated');
    assert.ok(cost > 3n * PRICE.output && cost < 3n * PRICE.output + 100n * PRICE.input);
  });
  it("that the provider refuses costs nothing, and the client gets the provider's message", async () => {
    world.openai.script(openaiError(400, 'no such verbosity'));
    const { answer, cost } = await costOf(() => ask());
    assert.deepEqual([answer.status, answer.json().error.message, cost], [400, 'no such verbosity', 0n]);
  });
});

describe('a streamed response', () => {
  for (const end of ['completed', 'incomplete', 'failed'] as const) {
    it(`that ends with response.${end} is billed by the usage in that event`, async () => {
      world.openai.script(openaiResponseStream(['hel', 'lo'], { usage: USAGE, end }));
      const { answer, cost } = await costOf(() => ask({ stream: true }));
      assert.equal(cost, COST);
      assert.match(answer.text, new RegExp(`event: response\\.${end}\\n`));
      assert.match(answer.text, /"delta":"hel"/);
    });
  }
  it('without text is billed by the usage in its last event', async () => {
    world.openai.script(openaiResponseStream([], { usage: USAGE, end: 'failed' }));
    assert.equal((await costOf(() => ask({ stream: true }))).cost, COST);
  });
  it('that fails before any output costs nothing', async () => {
    world.openai.script(openaiResponseStream([], { usage: null, end: 'error' }));
    assert.equal((await costOf(() => ask({ stream: true }))).cost, 0n);
  });
  for (const end of ['error', 'cut']) {
    it(`that ${end === 'cut' ? 'breaks off' : 'fails'} is billed by the text sent, and ends as failed`, async () => {
      world.openai.script(openaiResponseStream(['four', 'four'], { end }));
      const { answer, cost } = await costOf(() => ask({ stream: true }));
      assert.ok(cost >= 2n * PRICE.output && cost < 2n * PRICE.output + 100n * PRICE.input, String(cost));
      assert.match(answer.text, /event: response\.failed\ndata: .*"status":"failed".*\n\n$/);
      assert.doesNotMatch(answer.text, /response\.completed/);
    });
  }
});

describe('a stream that breaks off and is sent again', () => {
  // as Codex does, up to five times
  it('is a call of its own each time, billed by what came of it', async () => {
    world.openai.script(
      openaiResponseStream(['one two three'], { end: 'cut' }),
      openaiResponseStream(['one'], { end: 'cut' }),
      openaiResponseStream(['hello'], { usage: USAGE }),
    );
    const records: Json[] = [];
    const { cost: all } = await costOf(async () => {
      let answer: Answer | undefined;
      for (let tries = 0; tries < 3; tries++) {
        answer = await ask({ stream: true });
        records.push((await get(world, `/v1/usage/${answer.headers.get('x-request-id')}`)).json());
      }
      return answer ?? assert.fail();
    });
    assert.deepEqual(
      records.map(({ status }) => status),
      ['ProviderCut', 'ProviderCut', 'Succeeded'],
    );
    assert.equal(new Set(records.map(({ id }) => id)).size, 3);
    const costs = records.map(({ cost_usd: usd }) => BigInt(Math.round(Number(usd) * 1e9)));
    assert.ok(costs.every((cost) => cost > 0n) && costs[0]! > costs[1]!, String(costs));
    assert.deepEqual([costs[2], costs.reduce((sum, cost) => sum + cost)], [COST, all]);
  });
});

describe('a request is refused', () => {
  const refused: readonly [what: string, body: object, code: string, param: string][] = [
    ['a previous response', { previous_response_id: 'resp_1' }, 'unsupported_parameter', 'previous_response_id'],
    ['a conversation', { conversation: 'conv_1' }, 'unsupported_parameter', 'conversation'],
    ['an item reference', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'unsupported_parameter', 'input[0]'],
    ['web search', { tools: [{ type: 'web_search' }] }, 'not_allowed', 'tools[0].type'],
    [
      'a file id',
      {
        input: [
          {
            role: 'user',
            content: [{ type: 'input_file', file_id: 'f' }],
          },
        ],
      },
      'not_allowed',
      'input[0].content[0].file_id',
    ],
    ['a parameter name in the wrong case', { Previous_Response_Id: 'resp_1' }, 'invalid_value', 'Previous_Response_Id'],
  ];
  for (const [what, body, code, param] of refused) {
    it(`with ${what}`, async () => {
      const answer = await ask(body);
      assert.deepEqual([answer.status, answer.json().error.code, answer.json().error.param], [400, code, param]);
      assert.equal(world.openai.requests.length, 0);
    });
  }
  it('with a previous response, but not with web search, where the model allows server tools', async () => {
    world.openai.script(openaiResponse());
    assert.equal((await ask({ tools: [{ type: 'web_search' }] }, 'tools-model')).status, 200);
    assert.equal((await ask({ previous_response_id: 'resp_1' }, 'tools-model')).status, 400);
  });
  it('for a model without chat, with an error that names the endpoint to use', async () => {
    assert.equal(
      (await ask({}, 'embed-model')).json().error.message,
      'embed-model reads texts and writes none: POST /v1/embeddings, /v1/moderations or /v1/rerank, whichever it is for',
    );
    assert.doesNotMatch((await ask({}, 'nothing')).json().error.message, /chat\/completions/);
  });
});

describe('the rest of the Responses API', () => {
  for (const [method, path] of [
    ['GET', '/v1/responses/resp_1'],
    ['DELETE', '/v1/responses/resp_1'],
    ['POST', '/v1/responses/resp_1/cancel'],
    ['GET', '/v1/responses/resp_1/input_items'],
    ['GET', '/v1/conversations/conv_1/items'],
  ] as const) {
    it(`is not served: ${method} ${path} gets a 404 that says what to do instead`, async () => {
      const response = await fetch(world.gateway.url + path, {
        method,
        headers: { authorization: `Bearer ${KEYS.main}` },
      });
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      assert.deepEqual([response.status, error.code], [404, 'not_found']);
      assert.match(error.message, /"input"/);
    });
  }
  it('is not served over a WebSocket: the upgrade gets a 426 that tells clients to POST', async () => {
    const request = http.get(`${world.gateway.url}/v1/responses`, {
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        authorization: `Bearer ${KEYS.main}`,
      },
    });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    assert.deepEqual([response.statusCode, response.headers.upgrade], [426, 'HTTP/1.1']);
    const { error } = JSON.parse(await text(response)) as { error: { code: string; message: string } };
    assert.equal(error.code, 'upgrade_required');
    assert.match(error.message, /"stream": true/);
  });
  it('answers GET /v1/responses with 405', async () => assert.equal((await get(world, '/v1/responses')).status, 405));
});
