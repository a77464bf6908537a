/** Vertex: Claude by rawPredict and streamRawPredict, and its OpenAI-compatible path, with tokens of Google. */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest';
import { cloudRoute, formOf, readAssertion, secret, serviceAccount, token } from '../../support/api/clouds.ts';
import { caught, CLAUDE, collect, free, GPT, paid } from '../../support/api/sdk.ts';
import { anthropicMessage, anthropicStream, json, openaiChat } from '../../support/provider-answers.ts';
import { startCloudWorld } from '../../support/worlds/clouds.ts';

const PROJECT = '/v1/projects/my-project/locations/europe-west1';
const MODEL = 'claude-sonnet-4-5@20250929';

const { clouds, openai, anthropic, books, clock, beginTest, endTest, stop } = await startCloudWorld({
  env: ({ tokensUrl }) => ({ GCE_METADATA_HOST: new URL(tokensUrl).host }),
  manifest: ({ cloudUrl, tokensUrl }) =>
    [
      secret('google', { 'key.json': serviceAccount(`${tokensUrl}/token`) }),
      cloudRoute('vertex-claude', {
        upstream: MODEL,
        protocol: 'Anthropic',
        lines: `
    platform: VertexPublisher
    baseUrl: ${cloudUrl}${PROJECT}
    auth: {type: GoogleOAuth, secretRef: {name: google, key: key.json}}`,
      }),
      cloudRoute('vertex-openai', {
        upstream: 'google/gemini-2.5-flash',
        protocol: 'OpenAI',
        lines: `
    baseUrl: ${cloudUrl}${PROJECT}/endpoints/openapi
    auth: {type: GoogleOAuth}`,
      }),
    ].join(''),
});

afterAll(stop);
beforeEach(beginTest);
afterEach(() => {
  endTest();
  clouds.tokens.clear();
});

const HELLO = { messages: [{ role: 'user' as const, content: 'hello' }] };
const USAGE = { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 7 };
const COST = 20n * CLAUDE.input + 100n * CLAUDE.cached + 7n * CLAUDE.output;

describe('Claude on Vertex', () => {
  it('is called by rawPredict, with a token of the service account', async () => {
    clouds.tokens.script(token('google-token-1'));
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    await anthropic.messages.create(
      { model: 'vertex-claude', max_tokens: 50, ...HELLO },
      {
        headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
      },
    );
    const form = formOf(clouds.tokens.requests[0]);
    assert.equal(form['grant_type'], 'urn:ietf:params:oauth:grant-type:jwt-bearer');
    const issuedAt = Math.floor(clock.nowMs / 1000);
    assert.deepEqual(readAssertion(form['assertion'] ?? ''), {
      iss: 'gateway@project.iam.gserviceaccount.com',
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      aud: `${clouds.tokens.url}/token`,
      iat: issuedAt,
      exp: issuedAt + 3600,
    });
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, `${PROJECT}/publishers/anthropic/models/${MODEL}:rawPredict`);
    assert.deepEqual(sent.json(), { max_tokens: 50, ...HELLO, anthropic_version: 'vertex-2023-10-16' });
    assert.equal(sent.headers.authorization, 'Bearer google-token-1');
    assert.equal(sent.headers['anthropic-beta'], 'interleaved-thinking-2025-05-14');
    await books.check(paid(COST));
  });
  it('streams by streamRawPredict to clients of all dialects', async () => {
    clouds.tokens.script(token('google-token-2'));
    clouds.cloud.script(anthropicStream(['Bon', 'jour'], { usage: USAGE }));
    const message = await anthropic.messages
      .stream({ model: 'vertex-claude', max_tokens: 50, ...HELLO })
      .finalMessage();
    assert.deepEqual(
      message.content.map((block) => block.type === 'text' && block.text),
      ['Bonjour'],
    );
    const chunks = await collect(
      await openai.chat.completions.create({ model: 'vertex-claude', ...HELLO, stream: true }),
    );
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'Bonjour');
    const events = await collect(
      await openai.responses.create({ model: 'vertex-claude', input: 'hello', stream: true }),
    );
    assert.equal(events.at(-1)?.type, 'response.completed');
    for (const sent of clouds.cloud.requests) {
      assert.equal(sent.path, `${PROJECT}/publishers/anthropic/models/${MODEL}:streamRawPredict`);
      assert.equal(sent.json()['stream'], true);
      assert.equal(sent.json()['model'], undefined);
    }
    await books.check(paid(COST), paid(COST), paid(COST));
  });
  it('counts tokens with the model in the body', async () => {
    clouds.tokens.script(token('google-token-3'));
    clouds.cloud.script(json({ input_tokens: 42 }));
    const { input_tokens: tokens } = await anthropic.messages.countTokens({ model: 'vertex-claude', ...HELLO });
    assert.equal(tokens, 42);
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, `${PROJECT}/publishers/anthropic/models/count-tokens:rawPredict`);
    assert.equal(sent.json()['model'], MODEL);
    await books.check(free());
  });
  it('shows neither token nor key', async () => {
    clouds.tokens.script(token('google-token-4'));
    clouds.cloud.script(anthropicMessage({ usage: USAGE }));
    await anthropic.messages.create({ model: 'vertex-claude', max_tokens: 50, ...HELLO });
    const dump = await (await fetch(`${clouds.gateway.adminUrl}/config_dump`)).text();
    const all = [...clouds.gateway.logs, dump].join('\n');
    assert.ok(!all.includes('google-token-') && !all.includes('PRIVATE KEY'));
    await books.check(paid(COST));
  });
});

describe("Vertex's OpenAI-compatible path", () => {
  it('signs in with the metadata server', async () => {
    clouds.tokens.script(token('metadata-token'));
    clouds.cloud.script(openaiChat({ usage: { prompt_tokens: 20, completion_tokens: 5 } }));
    await openai.chat.completions.create({ model: 'vertex-openai', ...HELLO });
    const [asked] = clouds.tokens.requests;
    assert.deepEqual(
      [asked?.path, asked?.headers['metadata-flavor']],
      ['/computeMetadata/v1/instance/service-accounts/default/token', 'Google'],
    );
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, `${PROJECT}/endpoints/openapi/chat/completions`);
    assert.equal(sent.headers.authorization, 'Bearer metadata-token');
    await books.check(paid(20n * GPT.input + 5n * GPT.output));
  });
  it('fails without a metadata server, and logs the reason', async () => {
    clouds.tokens.script({ status: 404, steps: ['not here'] });
    await caught(openai.chat.completions.create({ model: 'vertex-openai', ...HELLO }), OpenAI.InternalServerError);
    assert.ok(clouds.gateway.logs.some((line) => line.includes('SIGN_IN:HTTP_404')));
    await books.check(free(502));
  });
});
