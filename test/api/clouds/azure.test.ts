/**
 * Azure: its v1 API and its dated one, keys and tokens of Entra, and Claude on Foundry, with the official clients in
 * front of the gateway and an exact fake behind it.
 */
import assert from 'node:assert/strict';
import OpenAI, { toFile } from 'openai';
import { afterAll, afterEach, beforeEach, describe, it } from 'vitest';
import {
  AZURE_KEY,
  CLIENT_SECRET,
  cloudRoute,
  FEDERATED_TOKEN,
  formOf,
  secret,
  token,
} from '../../support/api/clouds.ts';
import { caught, CLAUDE, collect, free, GPT, IMAGE, paid } from '../../support/api/sdk.ts';
import { get } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';
import {
  anthropicMessage,
  insertAt,
  json,
  openaiChat,
  openaiImages,
  openaiStream,
  sse,
} from '../../support/provider-answers.ts';
import { startCloudWorld } from '../../support/worlds/clouds.ts';

/** A model of images by the dated API. */
const brushManifest = (url: string): string => `
apiVersion: modelgateway.dev/v1alpha1
kind: ModelRoute
metadata: {name: azure-brush}
spec:
  models: [{name: azure-brush, endpoints: [Images], inputs: [Text, Image]}]
  channels:
  - name: only
    protocol: OpenAI
    models: [{name: azure-brush, upstreamName: gpt-image}]
    platform: AzureDeployments
    baseUrl: ${url}
    auth: {type: ApiKey, secretRef: {name: azure}}
---
apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: azure-brush}
spec: {models: [{name: azure-brush, vendor: Test, quotaType: Request, requestUsd: "0.04"}]}
---`;

const { clouds, openai, anthropic, books, clock, beginTest, endTest, stop } = await startCloudWorld({
  env: ({ tokensUrl, tokenFile }) => ({
    AZURE_TENANT_ID: 'tenant-of-pod',
    AZURE_CLIENT_ID: 'client-of-pod',
    AZURE_FEDERATED_TOKEN_FILE: tokenFile,
    AZURE_AUTHORITY_HOST: `${tokensUrl}/`,
  }),
  manifest: ({ cloudUrl, tokensUrl }) =>
    [
      secret('azure', { apiKey: AZURE_KEY }),
      secret('entra', { clientSecret: CLIENT_SECRET }),
      cloudRoute('azure-v1', {
        upstream: 'my-deployment',
        protocol: 'OpenAI',
        lines: `
    baseUrl: ${cloudUrl}/openai/v1
    endpoints: [Chat, Responses]
    auth: {type: ApiKey, secretRef: {name: azure}, header: api-key}`,
      }),
      cloudRoute('azure-dated', {
        upstream: 'my deployment/1',
        protocol: 'OpenAI',
        lines: `
    platform: AzureDeployments
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: azure}}`,
      }),
      cloudRoute('azure-entra', {
        upstream: 'my-deployment',
        protocol: 'OpenAI',
        lines: `
    platform: AzureDeployments
    apiVersion: 2025-04-01-preview
    baseUrl: ${cloudUrl}
    auth:
      type: AzureEntra
      secretRef: {name: entra, key: clientSecret}
      azure: {tenantId: tenant-1, clientId: client-1, authority: "${tokensUrl}"}`,
      }),
      cloudRoute('azure-two', {
        upstream: 'my-deployment',
        protocol: 'OpenAI',
        lines: `
    platform: AzureDeployments
    baseUrl: ${cloudUrl}
    auth:
      type: AzureEntra
      secretRef: {name: entra, key: clientSecret}
      azure: {tenantId: tenant-2, clientId: client-2, authority: "${tokensUrl}"}
  - name: second
    protocol: OpenAI
    priority: 1
    models: [{name: azure-two, upstreamName: my-deployment}]
    platform: AzureDeployments
    baseUrl: ${cloudUrl}
    auth: {type: ApiKey, secretRef: {name: azure}}`,
      }),
      cloudRoute('foundry-claude', {
        upstream: 'claude-deployment',
        protocol: 'Anthropic',
        lines: `
    baseUrl: ${cloudUrl}/anthropic
    auth: {type: AzureEntra}`,
      }),
      brushManifest(cloudUrl),
    ].join(''),
});

afterAll(stop);
beforeEach(beginTest);
afterEach(() => {
  endTest();
  clouds.tokens.clear();
});

const HELLO = { messages: [{ role: 'user' as const, content: 'hello' }] };
const CONTENT_FILTER = {
  hate: { filtered: false, severity: 'safe' },
  jailbreak: { filtered: false, detected: false },
};
/** The first chunk of Azure's streams. */
const PROMPT_FILTER = sse({
  data: {
    id: '',
    object: '',
    created: 0,
    model: '',
    choices: [],
    prompt_filter_results: [{ prompt_index: 0, content_filter_results: CONTENT_FILTER }],
  },
});

describe('Azure by key', () => {
  it('serves the v1 API with the deployment as model and the key in api-key', async () => {
    clouds.cloud.script(openaiChat({ usage: { prompt_tokens: 20, completion_tokens: 5 } }));
    await openai.chat.completions.create({ model: 'azure-v1', ...HELLO });
    const sent = await clouds.cloud.request(0);
    assert.deepEqual(
      [sent.path, sent.headers['api-key'], sent.headers.authorization],
      ['/openai/v1/chat/completions', AZURE_KEY, undefined],
    );
    assert.equal(sent.json()['model'], 'my-deployment');
    await books.check(paid(20n * GPT.input + 5n * GPT.output));
  });
  it('puts the deployment and the version into the path of the dated API', async () => {
    clouds.cloud.script(openaiChat({ usage: { prompt_tokens: 20, completion_tokens: 5 } }));
    await openai.chat.completions.create({ model: 'azure-dated', ...HELLO });
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, '/openai/deployments/my%20deployment%2F1/chat/completions?api-version=2024-10-21');
    assert.equal(sent.headers['api-key'], AZURE_KEY);
    await books.check(paid(20n * GPT.input + 5n * GPT.output));
  });
  it('edits images of a form there too', async () => {
    clouds.cloud.script(openaiImages(2));
    const image = await toFile(Buffer.from('PNG'), 'a.png', { type: 'image/png' });
    await openai.images.edit({ model: 'azure-brush', prompt: 'a hat', image, n: 2 });
    const { path, headers, body } = await clouds.cloud.request(0);
    assert.equal(path, '/openai/deployments/gpt-image/images/edits?api-version=2024-10-21');
    const type = { 'content-type': headers['content-type'] ?? '' };
    const form = await new Response(new Uint8Array(body), { headers: type }).formData();
    assert.deepEqual([form.get('model'), form.get('n'), form.has('image')], ['gpt-image', '2', true]);
    await books.check(paid(2n * IMAGE));
  });
  it('meters streams whose first chunk has filter results and no choices', async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 8 } };
    const reply = insertAt(
      openaiStream(['a', 'b'], { usage, extra: { content_filter_results: CONTENT_FILTER } }),
      0,
      PROMPT_FILTER,
    );
    clouds.cloud.script(reply);
    const chunks = await collect(
      await openai.chat.completions.create({ model: 'azure-dated', ...HELLO, stream: true }),
    );
    assert.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'ab');
    const message = await anthropic.messages.stream({ model: 'azure-dated', max_tokens: 50, ...HELLO }).finalMessage();
    assert.deepEqual(
      message.content.map((block) => block.type === 'text' && block.text),
      ['ab'],
    );
    const cost = 12n * GPT.input + 8n * GPT.cached + 7n * GPT.output;
    await books.check(paid(cost), paid(cost));
  });
  it('passes on the results of the content filter', async () => {
    clouds.cloud.script(
      json(
        {
          error: {
            message: 'The response was filtered due to the prompt triggering the content management policy.',
            type: null,
            param: 'prompt',
            code: 'content_filter',
            status: 400,
            innererror: {
              code: 'ResponsibleAIPolicyViolation',
              content_filter_result: { violence: { filtered: true } },
            },
          },
        },
        { status: 400 },
      ),
    );
    const error = await caught(openai.chat.completions.create({ model: 'azure-v1', ...HELLO }), OpenAI.BadRequestError);
    assert.equal(error.code, 'content_filter');
    await books.check(free(400));
  });
  it('converts Responses for the dated API, which does not serve them for a deployment', async () => {
    clouds.cloud.script(openaiChat({ usage: { prompt_tokens: 20, completion_tokens: 5 } }));
    const response = await openai.responses.create({ model: 'azure-dated', input: 'hello' });
    assert.equal(response.output_text, 'hello');
    assert.match((await clouds.cloud.request(0)).path, /\/chat\/completions\?api-version=2024-10-21$/);
    await books.check(paid(20n * GPT.input + 5n * GPT.output));
  });
});

describe('Azure by Entra', () => {
  const chat = async (): Promise<unknown> => openai.chat.completions.create({ model: 'azure-entra', ...HELLO });
  const cost = 10n * GPT.input + GPT.output;

  it('requests one token with the client secret, and caches it', async () => {
    clouds.tokens.script(token('entra-token-1'));
    clouds.cloud.script(openaiChat());
    await Promise.all([chat(), chat(), chat()]);
    await chat();
    assert.equal(clouds.tokens.requests.length, 1);
    assert.equal(clouds.tokens.requests[0]?.path, '/tenant-1/oauth2/v2.0/token');
    assert.deepEqual(formOf(clouds.tokens.requests[0]), {
      client_id: 'client-1',
      scope: 'https://cognitiveservices.azure.com/.default',
      grant_type: 'client_credentials',
      client_secret: CLIENT_SECRET,
    });
    assert.ok(clouds.cloud.requests.every(({ headers }) => headers.authorization === 'Bearer entra-token-1'));
    assert.match(clouds.cloud.requests[0]?.path ?? '', /\?api-version=2025-04-01-preview$/);
    await books.check(paid(cost), paid(cost), paid(cost), paid(cost));
  });
  it('renews the token before it expires, while calls use the old one', async () => {
    clouds.tokens.script(token('entra-token-2'), token('entra-token-3'));
    clouds.cloud.script(openaiChat());
    await chat();
    clock.nowMs += 3_600_000 * 0.85;
    await chat();
    assert.equal(clouds.cloud.requests[1]?.headers.authorization, 'Bearer entra-token-2');
    await clouds.tokens.request(1);
    // after the first token's expiry, and before the second's
    clock.nowMs += 3_600_000 * 0.5;
    await chat();
    assert.equal(clouds.cloud.requests[2]?.headers.authorization, 'Bearer entra-token-3');
    await books.check(paid(cost), paid(cost), paid(cost));
  });
  it('requests a new token after a 401', async () => {
    clouds.tokens.script(token('entra-token-4'), token('entra-token-5'));
    clouds.cloud.script(json({ error: { code: '401', message: 'Unauthorized' } }, { status: 401 }), openaiChat());
    await caught(chat(), OpenAI.InternalServerError);
    await chat();
    assert.equal(clouds.cloud.requests[1]?.headers.authorization, 'Bearer entra-token-5');
    await books.check(free(502), paid(cost));
  });
  it('treats a failing token service as a failed channel, and gives the reason in the status', async () => {
    const refusal = { error: 'invalid_client', error_description: `secret ${CLIENT_SECRET}` };
    clouds.tokens.script(json(refusal, { status: 401 }));
    const error = await caught(chat(), OpenAI.InternalServerError);
    assert.equal(error.status, 502);
    assert.equal(clouds.cloud.requests.length, 0);
    const changes = await clouds.gateway.operator.statusChanges();
    const text = JSON.stringify([...changes]);
    assert.match(text, /"CredentialReady","status":"False","reason":"TokenRefused"/);
    assert.match(text, /invalid_client/);
    clock.nowMs += 60_000;
    clouds.tokens.script(token('entra-token-6'));
    clouds.cloud.script(openaiChat());
    await chat();
    await books.check(free(502), paid(cost));
  });
  it('uses another channel while a sign-in fails, without an error for the client', async () => {
    clouds.tokens.script(json({ error: 'invalid_client' }, { status: 401 }));
    clouds.cloud.script(openaiChat());
    await openai.chat.completions.create({ model: 'azure-two', ...HELLO });
    assert.deepEqual(
      clouds.cloud.requests.map(({ headers }) => headers['api-key']),
      [AZURE_KEY],
    );
    await books.check(paid(cost));
  });
  it("never sends a token to a redirect's target", async () => {
    clouds.tokens.script(token('entra-token-8'));
    clouds.cloud.script({ status: 307, headers: { location: `${clouds.tokens.url}/stolen` }, steps: [] });
    await caught(chat(), OpenAI.InternalServerError);
    assert.equal(clouds.tokens.requests.length, 1);
    await books.check(free(502));
  });
  it('shows no secret and no token in logs, dump and metrics', async () => {
    clouds.tokens.script(token('entra-token-7'));
    clouds.cloud.script(openaiChat());
    await chat();
    const shown = await Promise.all(
      ['/config_dump', '/metrics'].map(async (path) => (await fetch(clouds.gateway.adminUrl + path)).text()),
    );
    const all = [...clouds.gateway.logs, ...shown].join('\n');
    for (const value of [CLIENT_SECRET, AZURE_KEY, FEDERATED_TOKEN, 'entra-token-'])
      assert.ok(!all.includes(value), `${value} is shown`);
    assert.ok(shown[0]?.includes('client-1'));
    await books.check(paid(cost));
  });
});

describe('Claude on Foundry', () => {
  it("signs in with the pod's workload identity", async () => {
    clouds.tokens.script(token('pod-token'));
    clouds.cloud.script(anthropicMessage({ usage: { input_tokens: 20, output_tokens: 5 } }));
    await anthropic.messages.create(
      { model: 'foundry-claude', max_tokens: 50, ...HELLO },
      {
        headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14,files-api-2025-04-14' },
      },
    );
    const form = formOf(clouds.tokens.requests[0]);
    assert.equal(clouds.tokens.requests[0]?.path, '/tenant-of-pod/oauth2/v2.0/token');
    assert.deepEqual(
      [form['client_id'], form['client_assertion'], form['scope'], form['client_secret']],
      ['client-of-pod', FEDERATED_TOKEN, 'https://ai.azure.com/.default', undefined],
    );
    const sent = await clouds.cloud.request(0);
    assert.equal(sent.path, '/anthropic/v1/messages');
    assert.deepEqual([sent.headers.authorization, sent.headers['x-api-key']], ['Bearer pod-token', undefined]);
    assert.match(String(sent.headers['anthropic-version']), /^20\d\d-/);
    assert.equal(sent.headers['anthropic-beta'], 'interleaved-thinking-2025-05-14,files-api-2025-04-14');
    await books.check(paid(20n * CLAUDE.input + 5n * CLAUDE.output));
  });
  it('serves chat completions through the same channel', async () => {
    clouds.tokens.script(token('pod-token'));
    clouds.cloud.script(anthropicMessage({ usage: { input_tokens: 20, output_tokens: 5 } }));
    const completion = await openai.chat.completions.create({ model: 'foundry-claude', ...HELLO });
    assert.equal(completion.choices[0]?.message.content, 'hello');
    assert.equal((await get(clouds, '/v1/models', { authorization: `Bearer ${KEYS.main}` })).status, 200);
    await books.check(paid(20n * CLAUDE.input + 5n * CLAUDE.output), free());
  });
});
