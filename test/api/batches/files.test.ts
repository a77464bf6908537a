/** The files of OpenAI's batches: checked line by line before a byte is sent, written anew, and each account's own. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, it } from 'vitest';
import { serveBatches } from '../../support/batch-provider.ts';
import type { BatchProvider } from '../../support/batch-provider.ts';
import { keyManifest, KEYS } from '../../support/manifests.ts';
import { json } from '../../support/provider-answers.ts';
import { get, nothingLeaks, post, startTestStack } from '../../support/api/test-stack.ts';
import type { TestStack } from '../../support/api/test-stack.ts';
import { batchCalls, bearer, LIMIT, line } from './batch-calls.ts';
import { batchesManifest } from './batches-manifest.ts';

const SLOW_KEY = 'sk-test-slow-000000000000000000000000000000000';

const GROUPED_KEY = 'sk-test-grouped-000000000000000000000000000000';
/** A group that may have few requests on the channel of batches, and a key in it. */
const GROUPED = `
${keyManifest('grouped', GROUPED_KEY, 'groupRef: {name: few}')}
apiVersion: modelgateway.dev/v1alpha1
kind: Group
metadata: {name: few}
spec:
  allowedNamespaces: {from: All}
  routes: [{routeRef: {name: batches}, rateLimits: {requestsPerMinute: 3}}]
`;

let stack: TestStack;
let provider: BatchProvider;

beforeAll(async () => {
  stack = await startTestStack({
    files: (urls) => ({
      'batches.yaml': batchesManifest(urls),
      'slow.yaml': keyManifest('slow', SLOW_KEY, 'rateLimits: {requestsPerMinute: 1}'),
      'grouped.yaml': GROUPED,
    }),
  });
});
afterAll(() => stack.stop());
beforeEach(() => {
  assert.ok(nothingLeaks(stack), 'a hold or a slot was left behind');
  stack.openai.clear();
  provider = serveBatches(stack.openai);
});

const { upload, call, create } = batchCalls(() => stack);

/** Of the form that ids of responses have which the gateway keeps. */
const OWN_ID = `resp_${'0'.repeat(32)}`;

/** A line that asks batch-model for a response. */
function responseLine(id: string, more: object): string {
  return line(id, { input: 'hello', messages: undefined, max_tokens: undefined, ...more }, '/v1/responses');
}

describe('a file of a batch', () => {
  it('names nothing that the provider keeps for a client', async () => {
    for (const [path, own, param] of [
      ['/v1/responses', 'resp_abc', 'previous_response_id'],
      ['/v1/conversations', 'conv_abc', 'conversation'],
    ] as const) {
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
      const object = own.startsWith('resp') ? 'response' : 'conversation';
      stack.openai.script(json({ id: own, object, status: 'completed', output: [], usage, created_at: 1 }));
      const made = await post(stack, path, { model: 'batch-model', ...(object === 'response' && { input: 'x' }) });
      assert.match(made.json().id, /^mgw1_/, made.text);
      provider = serveBatches(stack.openai);
      const sent = stack.openai.requests.length;
      for (const lines of [[], [responseLine('a', {})]]) {
        const answer = await upload([...lines, responseLine('b', { [param]: made.json().id })].join('\n'));
        assert.deepEqual([answer.status, answer.json().error.param], [400, param], answer.text);
        assert.match(answer.json().error.message, /continues nothing/);
      }
      assert.equal(stack.openai.requests.length, sent);
    }
  });
  it('is checked, written anew with the provider’s names and limits, and kept under a sealed id', async () => {
    const answer = await upload(`${line('a')}\r\n\n${line('b', { max_tokens: undefined, user: 'é\u2028' })}`);
    assert.equal(answer.status, 200, answer.text);
    const file = answer.json();
    assert.match(file.id, /^mgw1_file_/);
    assert.deepEqual([file.filename, file.purpose], ['requests.jsonl', 'batch']);
    const [stored] = [...provider.files.values()];
    assert.doesNotMatch(stored?.filename ?? '', /team/);
    const lines = (stored?.content ?? '').trim().split('\n');
    assert.doesNotMatch(stored?.content ?? '', /[\r\u2028]/);
    assert.deepEqual(
      lines.map((each) => JSON.parse(each)),
      [
        {
          custom_id: 'a',
          method: 'POST',
          url: '/v1/chat/completions',
          body: {
            model: 'upstream-name-7',
            messages: [{ role: 'user', content: 'hello' }],
            max_completion_tokens: LIMIT,
          },
        },
        {
          custom_id: 'b',
          method: 'POST',
          url: '/v1/chat/completions',
          body: {
            model: 'upstream-name-7',
            messages: [{ role: 'user', content: 'hello' }],
            user: 'é\u2028',
            max_completion_tokens: 4000,
          },
        },
      ],
    );
    const found = await call('GET', `/v1/files/${file.id}`);
    assert.deepEqual([found.status, found.body.id, found.body.filename], [200, file.id, 'requests.jsonl']);
    assert.equal((await get(stack, `/v1/files/${file.id}/content`)).text, stored?.content);
    assert.equal((await call('GET', `/v1/files/${file.id}`, KEYS.poor)).status, 404);
    assert.equal((await call('DELETE', `/v1/files/${file.id}`, KEYS.poor)).status, 404);
    const deleted = await call('DELETE', `/v1/files/${file.id}`);
    assert.deepEqual(deleted.body, { id: file.id, object: 'file', deleted: true });
    assert.equal((await call('GET', `/v1/files/${file.id}`)).status, 404);
  });
  it('is listed to its own account only, page by page', async () => {
    const own: string[] = [];
    for (const id of ['a', 'b', 'c']) {
      own.push((await upload(line(id))).json().filename);
      await upload(line('x'), { key: KEYS.poor });
    }
    const first = (await call('GET', '/v1/files?limit=2')).body;
    assert.deepEqual([first.object, first.data.length, first.has_more], ['list', 2, true]);
    assert.equal(first.last_id, first.data[1].id);
    const rest = (await call('GET', `/v1/files?limit=2&after=${first.last_id}`)).body;
    assert.deepEqual([rest.data.length, rest.has_more], [1, false]);
    assert.equal((await call('GET', `/v1/files/${rest.data[0].id}`)).status, 200);
    assert.equal((await call('GET', '/v1/files', KEYS.poor)).body.data.length, 3);
    assert.equal((await create(rest.data[0].id)).status, 200, 'a batch is made of a listed file');
    provider.end(provider.made.at(-1) ?? '', { status: 'failed' });
  });
  it('takes the limits of its group on the channel', async () => {
    const made = await upload(line('a'), { key: GROUPED_KEY });
    assert.equal(made.status, 200, made.text);
    const path = `/v1/files/${made.json().id}`;
    const seen: number[] = [];
    for (let count = 0; count < 3; count++) seen.push((await call('GET', path, GROUPED_KEY)).status);
    assert.deepEqual(seen, [200, 200, 429]);
    assert.equal((await call('GET', path)).status, 200, 'others pass');
  });
  it('is listed by one request of the limits by the minute, however many pages the provider has', async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await upload(line(id));
    const before = stack.openai.requests.length;
    const list = await call('GET', '/v1/files?limit=5', SLOW_KEY);
    assert.equal(list.body.data?.length, 5, JSON.stringify(list.body));
    assert.ok(stack.openai.requests.length >= before + 3);
    assert.equal((await call('GET', '/v1/files?limit=5', SLOW_KEY)).status, 429);
  });
  it.each([
    [
      'another model of the key',
      [line('a'), line('b', { model: 'dear-batch-model' })],
      'model',
      /In line 2 .*another model/,
    ],
    ['a model that the key has not', [line('a', { model: 'none' })], 'model', /In line 1 .*does not exist/],
    ['a stream', [line('a', { stream: true })], 'stream', /not streamed/],
    ['a service tier', [line('a', { service_tier: 'priority' })], 'service_tier', /service tier|priority/],
    [
      'an image',
      [
        line('a'),
        line('b', {
          messages: [
            { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
          ],
        }),
      ],
      'messages[0].content[0]',
      /In line 2 .*text only/,
    ],
    [
      'a tool of the provider',
      [line('a', { tools: [{ type: 'web_search' }] })],
      'tools[0].type',
      /no bound|not allowed|price/,
    ],
    ['a field that costs', [line('a', { best_images: 1, thinking_budget: 9 })], 'thinking_budget', /cost more/],
    [
      'another endpoint',
      [line('a'), line('b', { model: 'batch-embed', input: 'x' }, '/v1/embeddings')],
      'model',
      /In line 2/,
    ],
    ['an endpoint without batches', [line('a', {}, '/v1/images/generations')], 'url', /must be one of/],
    [
      'another method',
      [JSON.stringify({ custom_id: 'a', method: 'GET', url: '/v1/chat/completions', body: {} })],
      'method',
      /POST/,
    ],
    [
      'no custom_id',
      [JSON.stringify({ method: 'POST', url: '/v1/chat/completions', body: {} })],
      'custom_id',
      /result is found/,
    ],
    [
      'a field that is not read',
      [JSON.stringify({ ...JSON.parse(line('a')), model: 'x' })],
      undefined,
      /unknown field "model"/,
    ],
    ['a member twice', [line('a').replace('"model":', '"model":"x","model":')], 'model', /twice/],
    ['no JSON', [line('a'), '{"custom_id": "b"'], undefined, /In line 2 .*not valid JSON/],
    ['two values in a line', [`${line('a')} ${line('b')}`], undefined, /line 1/],
    ['nothing', ['', ' '], undefined, /no requests/],
    [
      'two endpoints of one kind',
      [line('a'), responseLine('b', {})],
      'url',
      /In line 2 .*for \/v1\/responses, and the first for \/v1\/chat\/completions/,
    ],
    [
      'a response that the gateway may keep, first',
      [responseLine('a', { previous_response_id: OWN_ID })],
      'previous_response_id',
      /In line 1 .*whole conversation/,
    ],
    [
      'a response that the gateway may keep, later',
      [responseLine('a', {}), responseLine('b', { previous_response_id: OWN_ID })],
      'previous_response_id',
      /In line 2 .*whole conversation/,
    ],
  ] as const)('with %s is refused before a byte is sent', async (_what, lines, param, message) => {
    const answer = await upload(lines.join('\n'));
    assert.ok([400, 404].includes(answer.status), answer.text);
    assert.match(answer.json().error.message, message);
    if (param !== undefined) assert.equal(answer.json().error.param, param, answer.text);
    assert.equal(stack.openai.requests.length, 0);
  });
  it.each([
    ['gpt-model', /takes batches/],
    ['claude-model', /takes batches/],
    ['image-model', /makes images/],
  ])('for %s is refused with words', async (model, message) => {
    const answer = await upload(line('a', { model }));
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.json().error.message, message);
  });
  it('of another purpose, or that is no form, is refused', async () => {
    const answer = await upload(line('a'), { purpose: 'assistants' });
    assert.deepEqual([answer.status, answer.json().error.param], [400, 'purpose']);
    assert.equal((await post(stack, '/v1/files', { purpose: 'batch' })).status, 400);
    assert.equal(stack.openai.requests.length, 0);
  });
  it('that costs more than there is is refused with the figure, and not sent', async () => {
    const many = Array.from({ length: 20 }, (_, index) => line(String(index)));
    for (const [key, status, code] of [
      [KEYS.poor, 402, 'credit_balance_exhausted'],
      [KEYS.refuse, 429, 'insufficient_quota'],
    ] as const) {
      const answer = await upload(
        [...many, ...Array.from({ length: 180 }, () => line('z', { max_tokens: 4000 }))].join('\n'),
        {
          key,
        },
      );
      assert.deepEqual([answer.status, answer.json().error.code], [status, code], answer.text);
      assert.match(answer.json().error.message, /may cost up to \$0\.\d+, and \$0\.0\d+ is left/);
    }
    assert.equal(stack.openai.requests.length, 0);
  });
  it('goes to the first channel that takes all of it, and another if that one fails', async () => {
    const answer = await upload(line('a', { model: 'several-model' }));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      stack.openai.requests.map(({ path }) => path),
      ['/broken/files', '/v1/files'],
    );
    const made = await create(answer.json().id);
    assert.equal(made.status, 200, made.text);
    provider.end(provider.made[0] ?? '', { status: 'failed' });
    await call('GET', `/v1/batches/${made.json().id}`);
  });
  it('is read compressed, too', async () => {
    const head = '--x\r\nContent-Disposition: form-data; name=';
    const form = `${head}"purpose"\r\n\r\nbatch\r\n${head}"file"; filename="a.jsonl"\r\n\r\n${line('a')}\r\n--x--\r\n`;
    const answer = await post(stack, '/v1/files', gzipSync(form), {
      ...bearer(KEYS.main),
      'content-type': 'multipart/form-data; boundary=x',
      'content-encoding': 'gzip',
    });
    assert.equal(answer.status, 200, answer.text);
    assert.equal([...provider.files.values()].length, 1);
  });
  it('of many lines is read in parts, and each line is sent', async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => line(`request-${index}`));
    const answer = await upload(lines.join('\n'));
    assert.equal(answer.status, 200, answer.text);
    const [stored] = [...provider.files.values()];
    const ids = (stored?.content ?? '')
      .trim()
      .split('\n')
      .map((each) => JSON.parse(each).custom_id);
    assert.deepEqual(
      ids,
      lines.map((_, index) => `request-${index}`),
    );
    const made = await create(answer.json().id);
    assert.equal(made.status, 200, made.text);
    provider.end(provider.made[0] ?? '', { status: 'failed' });
    await call('GET', `/v1/batches/${made.json().id}`);
  });
});
