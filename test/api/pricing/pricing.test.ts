/** The public price list through the running server (docs/reference/pricing.md). */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { get, startTestStack } from '../../support/api/test-stack.ts';
import { KEYS, keyManifest } from '../../support/manifests.ts';
import { pattern } from '../../support/pattern.ts';
import type { Json, TestStack } from '../../support/api/test-stack.ts';

const HEAD = 'apiVersion: modelgateway.dev/v1alpha1\nkind: ';
/** The list is public. */
const NO_KEY = { 'no-key': '1' };
const PARTNER = 'sk-test-partner-00000000000000000000000000000';
let stack: TestStack;

beforeAll(async () => {
  stack = await startTestStack({
    files: ({ openaiUrl }) => ({
      'groups.yaml': `${HEAD}Group
metadata: {name: vip}
spec: {displayName: V<i>P, priceRatio: "2.50", allowedNamespaces: {from: All},
  routes: [{routeRef: {name: openai}, models: [gpt-model, image-model, unpriced-model]}]}
---
${HEAD}Group
metadata: {name: smart}
spec: {type: Automatic, allowedNamespaces: {from: All}, members: [{name: vip}]}
---
${HEAD}Group
metadata: {name: partners}
spec: {displayName: Our partners, priceRatio: "0.25", routes: [{routeRef: {name: more}}], allowedNamespaces: {
  from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: team}}}}
---${keyManifest('partner', PARTNER, 'groupRef: {name: partners}')}
---
${HEAD}ModelRoute
metadata: {name: more}
spec: {models: [{name: more-model, contextTokens: 1000, maxOutputTokens: 50},
    {name: "a/two  spaces", endpoints: [Videos], inputs: [Text, Image]}],
  channels: [{name: c, protocol: OpenAI, baseUrl: ${openaiUrl}/v1}]}
---
${HEAD}PriceCatalog
metadata: {name: more}
spec:
  ratioBaseUsd: "1.5"
  models: [{name: more-model, vendor: More & Co, quotaType: Token, modelRatio: "0.000000001", cacheWriteRatio: "1.5",
    cacheWrite1hRatio: "7"}, {name: "a/two  spaces", vendor: V, quotaType: Request, requestUsd: "0.5"}]
`,
    }),
  });
});
afterAll(() => stack.stop());

const rowOf = (list: Json, model: string): Json => list.data.find(({ model_name: name }: Json) => name === model);
const cells = (html: string, tag: 'td' | 'th'): string[] =>
  [...html.matchAll(new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 'gs'))].map(([, inner = '']) =>
    inner
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );

const NO_DIMENSIONS = {
  usd_per_million: null,
  context_tiers: null,
  service_tiers: null,
  per_use_usd: null,
  regions: null,
  per_image: null,
  per_second: null,
  per_second_usd: null,
  per_minute_usd: null,
  per_million_characters_usd: null,
};

describe('/pricing.json', () => {
  it('shows groups that are not open to all only to their own keys', async () => {
    for (const path of ['/pricing.json', '/pricing', '/pricing?group=partners', '/pricing/models/more-model'])
      for (const headers of [NO_KEY, { authorization: `Bearer ${KEYS.main}` }, { 'x-api-key': 'sk-nobody' }]) {
        const { status, text } = await get(stack, path, headers);
        assert.equal(status, 200, path);
        assert.doesNotMatch(text, /partners|0\.25/, path);
      }
    const list = (await get(stack, '/pricing.json', { 'x-api-key': PARTNER })).json();
    assert.deepEqual(
      list.groups.find(({ name }: Json) => name === 'partners'),
      {
        name: 'partners',
        display_name: 'Our partners',
        type: 'Direct',
        price_ratio: '0.25',
        members: null,
      },
    );
    assert.deepEqual(rowOf(list, 'more-model').enabled_groups, ['Main', 'Our partners']);
    const page = await get(stack, '/pricing', { authorization: `Bearer ${PARTNER}` });
    assert.match(page.text, /Our partners/);
    assert.match(page.headers.get('vary') ?? '', /Authorization/);
  });

  it('has the documented fields, exact decimals, and null where a field does not apply', async () => {
    const answer = await get(stack, '/pricing.json', NO_KEY);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    const list = answer.json();
    assert.deepEqual(Object.keys(list), ['object', 'currency', 'groups', 'data']);
    assert.deepEqual([list.object, list.currency], ['list', 'USD']);
    assert.deepEqual(
      list.groups.toSorted((a: Json, b: Json) => (a.name < b.name ? -1 : 1)),
      [
        {
          name: 'main',
          display_name: 'Main',
          type: 'Direct',
          price_ratio: '1',
          members: null,
        },
        {
          name: 'smart',
          display_name: 'smart',
          type: 'Automatic',
          price_ratio: null,
          members: [{ name: 'vip', display_name: 'V<i>P', price_ratio: '2.5' }],
        },
        { name: 'vip', display_name: 'V<i>P', type: 'Direct', price_ratio: '2.5', members: null },
      ],
    );
    assert.deepEqual(rowOf(list, 'more-model'), {
      model_name: 'more-model',
      vendor: 'More & Co',
      quota_type: 'Token-based',
      ratio_base_usd: '1.5',
      model_ratio: '0.000000001',
      completion_ratio: '1',
      cache_ratio: null,
      cache_write_ratio: '1.5',
      cache_write_1h_ratio: '7',
      request_usd: null,
      ...NO_DIMENSIONS,
      enabled_groups: ['Main'],
      endpoints: ['/v1/chat/completions', '/v1/messages'],
      input_modalities: ['text'],
      output_modalities: ['text'],
      context_length: 1000,
      max_output_tokens: 50,
    });
    assert.deepEqual(rowOf(list, 'image-model'), {
      model_name: 'image-model',
      vendor: 'BFL',
      quota_type: 'Per-request',
      ratio_base_usd: null,
      model_ratio: null,
      completion_ratio: null,
      cache_ratio: null,
      cache_write_ratio: null,
      cache_write_1h_ratio: null,
      request_usd: '0.04',
      ...NO_DIMENSIONS,
      enabled_groups: ['Main', 'V<i>P', 'smart'],
      endpoints: ['/v1/images/generations'],
      input_modalities: ['text'],
      output_modalities: ['image'],
      context_length: null,
      max_output_tokens: null,
    });
    assert.equal(rowOf(list, 'claude-model').cache_write_1h_ratio, '2', '1.6 times the 5-minute one');
    const { model_ratio: input, completion_ratio: output, cache_ratio: cache } = rowOf(list, 'embed-model');
    assert.deepEqual([input, output, cache], ['0.01', null, null], 'embeddings have no output tokens');
  });
  it('lists a price without a route with no group, and no model without a price', async () => {
    const list = (await get(stack, '/pricing.json', NO_KEY)).json();
    assert.deepEqual(rowOf(list, 'shelf-model').enabled_groups, []);
    assert.equal(rowOf(list, 'unpriced-model'), undefined);
  });
});

describe('/pricing', () => {
  it('is a public page with the documented columns', async () => {
    const page = await get(stack, '/pricing', { ...NO_KEY, accept: 'text/html' });
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    assert.deepEqual(cells(page.text, 'th').slice(0, 7), [
      'Model Name',
      'Vendor / Owner',
      'Quota Type',
      'Model Ratio',
      'Completion Ratio',
      'Cache Ratio',
      'Enabled Groups',
    ]);
    const row = (model: string): string =>
      /<tr[\s\S]*?<\/tr>/g[Symbol.match](page.text)?.find((each) => each.includes(`>${model}<`)) ?? '';
    assert.match(
      row('gpt-model'),
      pattern(/text<\/span> <span class="modality image">image<.*/, /→[^]*100K context.*4K output/),
    );
    for (const text of ['OpenAI', 'Token-based', '1.25', '4', '0.5', 'Main', 'V&lt;i&gt;P', 'smart'])
      assert.ok(row('gpt-model').includes(text), `${text}: ${row('gpt-model')}`);
    for (const text of ['BFL', 'Per-request', '0.04']) assert.ok(row('image-model').includes(text), text);
    assert.ok(row('shelf-model') !== '' && !row('shelf-model').includes('Main'));
    assert.ok(!page.text.includes('unpriced-model') && !page.text.includes('V<i>P'));
  });
  it('is the JSON of /pricing.json for clients that ask for JSON', async () => {
    const [asked, own] = await Promise.all([
      get(stack, '/pricing', { ...NO_KEY, accept: 'application/json' }),
      get(stack, '/pricing.json', { ...NO_KEY, accept: 'text/html' }),
    ]);
    assert.equal(asked.text, own.text);
  });
  it('shows no channels, providers and keys', async () => {
    for (const path of ['/pricing', '/pricing.json']) {
      const { text } = await get(stack, path, NO_KEY);
      for (const secret of [stack.openai.url, 'sk-', 'direct', 'upstream-name-7'])
        assert.ok(!text.includes(secret), secret);
    }
  });
  it('follows the catalog', async () => {
    await stack.gateway.write(
      'new.yaml',
      `${HEAD}PriceCatalog\nmetadata: {name: new}\nspec: {models: [{name: ` +
        `new-model, vendor: V, quotaType: Request, requestUsd: "1.10"}]}\n`,
    );
    assert.equal(rowOf((await get(stack, '/pricing.json', NO_KEY)).json(), 'new-model').request_usd, '1.1');
    assert.ok((await get(stack, '/pricing', NO_KEY)).text.includes('new-model'));
  });
  it('answers HEAD', async () => {
    const response = await fetch(`${stack.gateway.url}/pricing`, { method: 'HEAD' });
    assert.deepEqual([response.status, await response.text()], [200, '']);
  });
});

describe('/pricing/models/{name}', () => {
  const text = (page: string): string => page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');

  it("is a public page with a model's description, prices in each group, and example calls", async () => {
    const page = await get(stack, '/pricing/models/gpt-model', { ...NO_KEY, accept: 'text/html' });
    assert.equal(page.status, 200);
    assert.match(page.headers.get('content-security-policy') ?? '', /script-src 'self'/);
    assert.match(page.text, /<h1><bdi id="model-name" class="model-name">gpt-model<\/bdi>/);
    assert.match(
      text(page.text),
      pattern(/Endpoints POST \/v1\/chat\/completions POST \/v1\/messages /, /Takes text image Makes text /),
    );
    assert.match(text(page.text), /Context 100K tokens Output limit 4K tokens /);
    // its catalog states no cache writes, which cost 1.25 and 2 times its input
    assert.match(text(page.text), /Base price group ratio 1 \$2\.50 \$10\.00 \$1\.25 \$3\.125 \$5\.00 /);
    assert.match(text(page.text), /V&lt;i&gt;P × 2\.5 \$6\.25 \$25\.00 \$3\.125 \$7\.8125 \$12\.50 /);
    assert.match(page.text, new RegExp(`curl &#39;${stack.gateway.url}/v1/chat/completions&#39;`));
    for (const sdk of ['OpenAI', 'Anthropic'])
      for (const language of ['Python', 'TypeScript'])
        assert.ok(page.text.includes(`${sdk} SDK, ${language}`), language);
    assert.match(page.text, /\$MGW_KEY/);
    assert.match(page.text, /<button type="button" class="button small" data-copy="model-name" hidden>/);
  });
  it('has example calls that fit the model, with its exact name', async () => {
    const list = await get(stack, '/pricing', { ...NO_KEY, accept: 'text/html' });
    assert.ok(list.text.includes('href="pricing/models/a%2Ftwo%20%20spaces"'));
    const page = await get(stack, '/pricing/models/a%2Ftwo%20%20spaces', NO_KEY);
    assert.equal(page.status, 200);
    assert.ok(page.text.includes('<bdi id="model-name" class="model-name">a/two  spaces</bdi>'));
    assert.match(text(page.text), /POST \/v1\/videos Takes text image Makes video /);
    assert.match(page.text, /client\.videos\.create/);
    assert.doesNotMatch(page.text, /chat\/completions|anthropic/i);
  });
  it("uses the request's host for its example calls, and ignores invalid hosts", async () => {
    const page = async (headers: Record<string, string>): Promise<string> =>
      (await get(stack, '/pricing/models/gpt-model', { ...NO_KEY, ...headers })).text;
    assert.match(await page({ 'x-forwarded-proto': 'https' }), /&quot;https:\/\/127\.0\.0\.1:\d+\/v1&quot;/);
    assert.doesNotMatch(await page({ 'x-forwarded-proto': 'javascript' }), /javascript:/);
  });
  it('is 404 for a model without a price, and 304 for a client that has the page', async () => {
    assert.equal((await get(stack, '/pricing/models/unpriced-model', NO_KEY)).status, 404);
    assert.equal((await get(stack, '/pricing/models/%ff', NO_KEY)).status, 400);
    const etag = (await get(stack, '/pricing/models/gpt-model', NO_KEY)).headers.get('etag') ?? '';
    assert.equal((await get(stack, '/pricing/models/gpt-model', { ...NO_KEY, 'if-none-match': etag })).status, 304);
  });
});
