/** Google's protocol as HTTP: keys, paths, both forms of a stream, both spellings of fields, and its errors. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import {
  anthropicMessage,
  anthropicStream,
  breakAt,
  openaiChat,
  openaiStream,
  sse,
} from '../../support/provider-answers.ts';
import { get, post, startTestStack, tidyUp } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
afterEach(() => tidyUp(stack));

const HELLO = { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] };
const ask = (
  method: string,
  body: object = HELLO,
  headers: Record<string, string> = {},
  model = 'gpt-model',
): Promise<Answer> => post(stack, `/v1beta/models/${model}:${method}`, body, headers);
const reasonOf = (answer: Answer): string => answer.json().error.details[0].reason;

describe('keys', () => {
  it('are accepted in x-goog-api-key and as a bearer token', async () => {
    stack.openai.script(openaiChat());
    assert.equal((await ask('generateContent', HELLO, { 'no-key': '', 'x-goog-api-key': KEYS.main })).status, 200);
    assert.equal((await ask('generateContent')).status, 200);
    assert.equal((await get(stack, '/v1beta/models', { 'no-key': '', 'x-goog-api-key': KEYS.main })).status, 200);
    assert.equal((await get(stack, '/v1/models', { 'no-key': '', 'x-goog-api-key': KEYS.main })).status, 200);
  });
  it('that differ or are in the URL are refused, and not repeated', async () => {
    const both = await ask('generateContent', HELLO, { 'x-goog-api-key': KEYS.small });
    assert.equal(both.status, 401);
    assert.match(both.json().error.message, /Authorization and x-goog-api-key/);
    const inUrl = await ask(`generateContent?key=${KEYS.main}`, HELLO, { 'no-key': '' });
    assert.deepEqual([inUrl.status, inUrl.json().error.status], [401, 'UNAUTHENTICATED']);
    assert.ok(!`${both.text}${inUrl.text}`.includes('sk-test'));
    assert.ok(!stack.gateway.logs.join('').includes(KEYS.main));
  });
});

describe('paths', () => {
  it('of models with slashes and colons work', async () => {
    const answer = await ask('generateContent', HELLO, {}, 'vendor/ft:none');
    assert.deepEqual([answer.status, reasonOf(answer)], [404, 'MODEL_NOT_FOUND']);
    assert.match(answer.json().error.message, /"vendor\/ft:none"/);
    const escaped = await ask('generateContent', HELLO, {}, 'vendor%2Fft:none');
    assert.match(escaped.json().error.message, /"vendor\/ft:none"/);
  });
  it("that are unknown get an error in Google's format", async () => {
    for (const [path, status] of [
      ['/v1beta/models/gpt-model:generateAnswer', 404],
      ['/v1beta/models/gpt-model', 405],
      ['/v1beta/files', 404],
      ['/v1beta', 404],
      ['/v1beta/models', 405],
    ] as const) {
      const answer = await post(stack, path, HELLO);
      assert.deepEqual([answer.status, answer.json().error.code], [status, status], path);
    }
  });
  it("of Google's that are not served say what to call instead, in Google's format", async () => {
    for (const [path, instead] of [
      ['/models/gpt-model:predictLongRunning', /POST \/v1\/videos/],
      ['/models/gpt-model:batchGenerateContent', /Batches are taken in OpenAI's protocol/],
      ['/cachedContents', /Send the whole conversation/],
      ['/cachedContents/x', /Send the whole conversation/],
      ['/interactions', /:generateContent/],
    ] as const)
      for (const version of ['/v1beta', '/v1']) {
        const answer = await post(stack, version + path, HELLO);
        assert.deepEqual([answer.status, answer.json().error.status], [404, 'NOT_FOUND'], version + path);
        assert.match(answer.json().error.message, instead);
      }
    for (const path of ['/upload/v1beta/files', '/upload/v1/files', '/v1beta/files', '/v1beta/files/x:download'])
      assert.match((await post(stack, path, HELLO)).json().error.message, /content in the message itself/, path);
    const other = await post(stack, '/v1beta/models/gpt-model:generateAnswer', HELLO);
    assert.match(other.json().error.message, /:batchEmbedContents and :predict are served/);
  });
  it('below /v1 work too, beside those of other dialects', async () => {
    stack.openai.script(openaiChat());
    assert.equal((await post(stack, '/v1/models/gpt-model:generateContent', HELLO)).json().modelVersion, 'mock-model');
    const wrong = await post(stack, '/v1/models/gpt-model', HELLO);
    assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD']);
    assert.equal((await get(stack, '/v1/models/gpt-model')).json().object, 'model');
    const ofGoogle = await get(stack, '/v1/models/gpt-model', { 'x-goog-api-client': 'x' });
    assert.equal(ofGoogle.json().name, 'models/gpt-model');
  });
});

describe('a stream', () => {
  it('is server-sent events with alt=sse', async () => {
    stack.openai.script(openaiStream(['Hel', 'lo.']));
    const answer = await ask('streamGenerateContent?alt=sse');
    assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    const events = answer.text.split('\n\n').filter((event) => event !== '');
    assert.ok(
      events.every((event) => event.startsWith('data: {')),
      answer.text,
    );
    assert.equal(events.length, 3);
  });
  it('is a JSON array without alt=sse', async () => {
    stack.openai.script(openaiStream(['Hel', 'lo.']));
    const answer = await ask('streamGenerateContent');
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    const chunks: Json[] = answer.json();
    assert.deepEqual(
      chunks.map(({ candidates: [{ content }] }) => content.parts[0].text),
      ['Hel', 'lo.', ''],
    );
    assert.equal(chunks[2].usageMetadata.totalTokenCount, 12);
  });
  it('that fails as an array ends with the error, and stays valid JSON', async () => {
    stack.openai.script(breakAt(openaiStream(['four', 'four']), 2, sse({ data: { error: { message: 'no more' } } })));
    const failed: Json[] = (await ask('streamGenerateContent')).json();
    assert.deepEqual([failed.length, failed[1].error.message], [2, 'no more']);
    stack.anthropic.script(breakAt(anthropicStream(['four', 'four']), 3, { kind: 'cut' }));
    const cut: Json[] = (await ask('streamGenerateContent', HELLO, {}, 'claude-model')).json();
    assert.equal(cut[1].error.code, 500);
    assert.match(cut[1].error.message, /broke off/);
  });
});

describe('a request', () => {
  it('in the other spelling of fields is equivalent', async () => {
    stack.openai.script(openaiChat());
    await ask('generateContent', {
      contents: [{ parts: [{ inline_data: { mime_type: 'text/plain', data: Buffer.from('hi').toString('base64') } }] }],
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      generation_config: { max_output_tokens: 77, stop_sequences: ['X'] },
    });
    const sent: Json = (await stack.openai.request(0)).json();
    assert.deepEqual(
      [sent.max_completion_tokens, sent.stop, sent.messages],
      [
        77,
        ['X'],
        [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'hi' },
        ],
      ],
    );
    const twice = await ask('generateContent', { ...HELLO, generationConfig: { topP: 1, top_p: 1 } });
    assert.match(twice.json().error.message, /"generationConfig.topP" is given in two spellings/);
  });
  it('that is malformed is refused with the name of its field', async () => {
    for (const [body, field] of [
      [{}, 'contents'],
      [{ contents: [] }, 'contents'],
      [{ contents: [7] }, 'contents[0]'],
      [{ contents: [{ parts: 7 }] }, 'contents[0].parts'],
      [{ ...HELLO, generationConfig: 7 }, 'generationConfig'],
      [{ ...HELLO, generationConfig: { maxOutputTokens: 0 } }, 'generationConfig.maxOutputTokens'],
      [{ ...HELLO, brandNew: 1 }, 'brandNew'],
      [{ contents: [{ role: 'user', parts: [{ brandNew: 1 }] }] }, 'contents[0].parts[0].brandNew'],
      [
        { contents: [{ parts: [{ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }] }] },
        'contents[0].parts[0].inlineData',
      ],
      [
        { ...HELLO, tools: [{ functionDeclarations: [{ name: 'f', behavior: 'NON_BLOCKING' }] }] },
        'tools[0].functionDeclarations[0].behavior',
      ],
      [{ ...HELLO, toolConfig: { functionCallingConfig: { mode: 'NOVEL' } } }, 'toolConfig.functionCallingConfig.mode'],
      [{ ...HELLO, generationConfig: { stopSequences: ['1', '2', '3', '4', '5'] } }, 'generationConfig.stopSequences'],
    ] as const) {
      const { error }: Json = (await ask('generateContent', body)).json();
      assert.equal(error.code, 400);
      const violation = error.details.find((detail: Json) => detail['@type'].endsWith('BadRequest'));
      assert.equal(violation?.fieldViolations[0].field, field, error.message);
    }
    assert.equal(stack.openai.requests.length, 0);
  });
  it('keeps numbers that a double cannot represent', async () => {
    stack.anthropic.script(anthropicMessage());
    const body =
      '{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":' +
      '{"id":12345678901234567890}}}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":' +
      '{"id":12345678901234567890}}}]}]}';
    await post(stack, '/v1beta/models/claude-model:generateContent', body);
    assert.equal((await stack.anthropic.request(0)).body.toString().split('12345678901234567890').length, 3);
  });
  it("keeps other such numbers that OpenAI's protocol supports", async () => {
    stack.openai.script(openaiChat());
    const body =
      '{"contents":[{"role":"user","parts":[{"text":"x"}]},' +
      '{"role":"model","parts":[{"functionCall":{"name":"f","args":{"id":12345678901234567890}}}]}]}';
    await post(stack, '/v1beta/models/gpt-model:generateContent', body);
    assert.match((await stack.openai.request(0)).body.toString(), /12345678901234567890/);
  });
});

describe('a count', () => {
  it('is free for a key without money, and accepts a wrapped request', async () => {
    const plain = (await ask('countTokens', HELLO, { 'x-api-key': KEYS.poor })).json().totalTokens;
    const wrapped = await ask('countTokens', {
      generateContentRequest: {
        model: 'models/gpt-model',
        ...HELLO,
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
      },
    });
    assert.equal(wrapped.headers.get('x-modelgateway-usage'), 'estimated');
    assert.ok(wrapped.json().totalTokens > plain, wrapped.text);
    assert.equal((await ask('countTokens', {})).json().error.details[1].fieldViolations[0].field, 'contents');
  });
});
