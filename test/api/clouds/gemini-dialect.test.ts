/** Google's SDK through the gateway to Gemini's own API: streams, tools, images, signatures and token counts. */
import assert from 'node:assert/strict';
import { GoogleGenAI } from '@google/genai';
import type { Content } from '@google/genai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, it } from 'vitest';
import { KEYS } from '../../support/manifests.ts';
import { cloudRoute, secret, startClouds } from '../../support/api/clouds.ts';
import type { Clouds } from '../../support/api/clouds.ts';
import { Books, collect, free, paid } from '../../support/api/sdk.ts';
import type { Reply } from '../../support/mock-provider.ts';
import { json, sseReply } from '../../support/provider-answers.ts';

const MODEL = 'gemini-3-pro-preview';
const USAGE = {
  promptTokenCount: 120, cachedContentTokenCount: 100, candidatesTokenCount: 7, thoughtsTokenCount: 30,
  totalTokenCount: 157,
};
const COST = 20n * 2_000n + 100n * 500n + 37n * 16_000n;
const PNG = 'iVBORw0KGgo=';
const SIGNATURE = 'c2lnbmF0dXJlLW9mLXRob3VnaHRz';
const TOOLS = [{ functionDeclarations: [{
  name: 'get_weather', parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } },
}] }];

let clouds: Clouds;
let books: Books;
let client: GoogleGenAI;
beforeAll(async () => {
  clouds = await startClouds({
    manifest: ({ cloudUrl }) => secret('gemini-key', { apiKey: 'google-api-key-value' }) +
      cloudRoute('gemini', { upstream: MODEL, protocol: 'Gemini', lines: `
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: gemini-key}}` }),
  });
  books = new Books(clouds);
  client = new GoogleGenAI({ apiKey: KEYS.main, httpOptions: { baseUrl: clouds.gateway.url } });
});
afterAll(() => clouds.stop());
beforeEach(() => books.open());
afterEach(() => {
  books.assertChecked();
  clouds.cloud.clear();
});

function chunk(parts: readonly object[], finishReason?: string): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...finishReason !== undefined && { finishReason } }],
    usageMetadata: USAGE, modelVersion: MODEL,
  };
}

function streamed(...parts: readonly object[]): Reply {
  return sseReply(...parts.map((part, index) =>
    ({ data: chunk([part], index === parts.length - 1 ? 'STOP' : undefined) })));
}

async function sentContents(index: number): Promise<readonly Content[]> {
  return (await clouds.cloud.request(index)).json()['contents'] as readonly Content[];
}

describe('Google\'s SDK on a channel of Gemini', () => {
  it('streams words, sends images, and is billed for thoughts', async () => {
    clouds.cloud.script(streamed({ text: 'Bon' }, { text: 'jour 🗼' }));
    const chunks = await collect(await client.models.generateContentStream({
      model: 'gemini', contents: [{ role: 'user', parts: [
        { text: 'where?' }, { inlineData: { mimeType: 'image/png', data: PNG } },
      ] }],
    }));
    assert.equal(chunks.map(({ text }) => text ?? '').join(''), 'Bonjour 🗼');
    const { usageMetadata } = chunks.at(-1) ?? assert.fail();
    assert.deepEqual([usageMetadata?.promptTokenCount, usageMetadata?.cachedContentTokenCount], [120, 100]);
    const [{ parts } = assert.fail()] = await sentContents(0);
    assert.deepEqual(parts, [{ text: 'where?' }, { inlineData: { mimeType: 'image/png', data: PNG } }]);
    await books.check(paid(COST));
  });

  it('calls tools over two turns, and the signature returns to its call', async () => {
    const call = { functionCall: { name: 'get_weather', args: { city: 'Oslo' } } };
    clouds.cloud.script(
      streamed({ text: 'I should look.', thought: true }, { ...call, thoughtSignature: SIGNATURE }),
      streamed({ text: 'Rain.' }),
    );
    const chat = client.chats.create({ model: 'gemini', config: { tools: TOOLS } });
    const first = await collect(await chat.sendMessageStream({ message: 'where?' }));
    const [called] = first.flatMap(({ functionCalls }) => functionCalls ?? []);
    assert.deepEqual([called?.name, called?.args], ['get_weather', { city: 'Oslo' }]);
    const result = { name: 'get_weather', response: { rain: true }, ...called?.id !== undefined && { id: called.id } };
    const second = await collect(await chat.sendMessageStream({ message: [{ functionResponse: result }] }));
    assert.equal(second.map(({ text }) => text ?? '').join(''), 'Rain.');
    const [, model, results] = await sentContents(1);
    assert.deepEqual(model?.parts, [{ ...call, thoughtSignature: SIGNATURE }]);
    assert.equal(results?.parts?.[0]?.functionResponse?.name, 'get_weather');
    await books.check(paid(COST), paid(COST));
  });

  it('counts tokens by Gemini', async () => {
    clouds.cloud.script(json({ totalTokens: 42 }));
    assert.equal((await client.models.countTokens({ model: 'gemini', contents: 'hi' })).totalTokens, 42);
    assert.match((await clouds.cloud.request(0)).path, /:countTokens$/);
    await books.check(free());
  });
});
