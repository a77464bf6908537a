import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { GatewayError } from '../../../../../dataplane/errors.ts';
import { answerPricing, CONTENT_SECURITY_POLICY } from '../../../../../dataplane/server/pricing/answer.ts';
import type { PricingAnswer, PricingRequest } from '../../../../../dataplane/server/pricing/answer.ts';
import { pricingAssets } from '../../../../../dataplane/server/pricing/assets.ts';
import { pricingJson } from '#web/pricing/json.ts';
import { createRenderBudget } from '../../../../../dataplane/server/pricing/render-budget.ts';
import { REALISTIC, sampleState } from './sample.ts';

const state = sampleState(REALISTIC);

function ask(path: string, more: Partial<PricingRequest> = {}, from = state): PricingAnswer {
  const answer = answerPricing({ path, search: '', accept: undefined, ifNoneMatch: undefined, ...more }, from);
  assert.ok(answer, path);
  return answer;
}

describe('price list over HTTP', () => {
  test('/pricing is a page under a strict policy', () => {
    const { status, headers, body } = ask('/pricing', { accept: 'text/html' });
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.equal(headers['content-security-policy'], CONTENT_SECURITY_POLICY);
    assert.match(CONTENT_SECURITY_POLICY, /^default-src 'none'; /);
    assert.doesNotMatch(CONTENT_SECURITY_POLICY, /unsafe|\*/);
    assert.equal(headers['vary'], 'Accept, Authorization, X-Api-Key');
    assert.match(body.toString(), /^<!doctype html>/);
  });

  test('/pricing is data for who asks for it, and /pricing.json always', () => {
    for (const answer of [
      ask('/pricing', { accept: 'application/json' }),
      ask('/pricing.json', { accept: 'text/html' }),
    ]) {
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8');
      assert.equal(answer.headers['vary'], 'Accept, Authorization, X-Api-Key');
      assert.deepEqual(JSON.parse(answer.body.toString()), pricingJson(state.pricing));
    }
  });

  test('an address without a page is a page for browsers, which leads on, and an error for programs', () => {
    const at = (path: string, accept: string | undefined) =>
      answerPricing({ path, search: '', accept, ifNoneMatch: undefined }, state);
    for (const [path, up] of [
      ['/pricing/models/nope', '../../'],
      ['/pricing/models/%ff', '../../'],
      ['/pricing/nope', '../'],
    ] as const) {
      const page = at(path, 'text/html,application/xhtml+xml,*/*;q=0.8');
      assert.ok(page);
      assert.equal(page.status, 404);
      assert.equal(page.headers['content-security-policy'], CONTENT_SECURITY_POLICY);
      assert.ok(page.body.toString().includes(`<a href="${up}pricing">All models and prices</a>`), path);
      for (const accept of [undefined, '*/*', 'application/json']) assert.equal(at(path, accept), undefined);
    }
  });

  test('pages lead to the gateway’s own page, to the prices, and to the console if it is known', () => {
    const model = `/pricing/models/${encodeURIComponent(state.pricing.rows[0]?.modelName ?? '')}`;
    for (const [path, root] of [
      ['/pricing', './'],
      [model, '../../'],
      ['/pricing/models/nope', '../../'],
    ] as const) {
      const site = (consoleUrl?: string) => {
        const request = { path, search: '', accept: 'text/html', ifNoneMatch: undefined };
        const page = answerPricing(request, state, { consoleUrl })?.body.toString() ?? '';
        return /<nav class="site"[\s\S]*?<\/nav>/.exec(page)?.[0] ?? '';
      };
      assert.ok(site().includes(`<a href="${root}"><bdi>Model Gateway</bdi></a> · <a href="${root}pricing">`), path);
      assert.doesNotMatch(site(), /Console/);
      assert.match(site('https://console.example/'), /<a href="https:\/\/console\.example\/">Console<\/a>/);
    }
  });

  test('what the client has is not sent again, until it changes', () => {
    for (const path of ['/pricing', '/pricing.json']) {
      const { etag = '' } = ask(path).headers;
      for (const ifNoneMatch of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const answer = ask(path, { ifNoneMatch });
        assert.equal(answer.status, 304);
        assert.equal(answer.body.length, 0);
        assert.equal(answer.headers['etag'], etag);
      }
      assert.equal(ask(path, { ifNoneMatch: '"other"' }).status, 200);
      assert.equal(ask(path, { ifNoneMatch: etag }, sampleState({})).status, 200);
    }
    assert.notEqual(ask('/pricing').headers['etag'], ask('/pricing.json').headers['etag']);
    assert.notEqual(ask('/pricing').headers['etag'], ask('/pricing', { search: '?group=vip' }).headers['etag']);
  });

  test('views that are not kept have a tenth of the time, and the others are always to be had', () => {
    let nowMs = 0;
    const limit = createRenderBudget({ monotonicMs: () => nowMs++ * 50 }); // whatever is rendered takes 50 ms
    const asked = (search: string): PricingAnswer => {
      const answer = answerPricing({ path: '/pricing', search, accept: 'text/html', ifNoneMatch: undefined }, sampled, {
        limit,
      });
      assert.ok(answer);
      return answer;
    };
    const sampled = sampleState(REALISTIC);
    let rendered = 0;
    assert.throws(
      () => {
        for (; rendered < 100; rendered++) asked(`?q=word${rendered}`);
      },
      (error: unknown) =>
        error instanceof GatewayError && error.code === 'too_busy' && error.details.retryAfterSeconds === 1,
    );
    assert.ok(rendered >= 5 && rendered < 10, String(rendered));
    assert.equal(asked('').status, 200);
    nowMs += 100;
    assert.equal(asked('?q=later').status, 200);
  });

  test('a view of one configuration is rendered once, and of the next anew', () => {
    const first = ask('/pricing', { search: '?sort=-model' });
    assert.equal(ask('/pricing', { search: 'sort=-model&type=' }).body, first.body);
    assert.notEqual(ask('/pricing', { search: '?sort=model' }).body, first.body);
    const changed = sampleState({ ...REALISTIC, requests: [] });
    assert.doesNotMatch(ask('/pricing', { search: '?sort=-model' }, changed).body.toString(), /sora-2/);
  });

  test('the page names its assets relatively, and they are kept for ever', () => {
    const page = ask('/pricing').body.toString();
    assert.deepEqual(
      [...pricingAssets.keys()].map((path) => path.replace(/[0-9a-f]{12}/, '*')),
      ['/pricing/assets/pricing-*.css', '/pricing/assets/pricing-*.js', '/pricing/assets/icon-*.svg'],
    );
    for (const [path, asset] of pricingAssets) {
      assert.ok(page.includes(`="${path.slice(1)}"`), path);
      const { headers, body } = ask(path);
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(headers['content-type'], asset.contentType);
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(body, asset.body);
    }
  });

  test("another version's asset is answered with this one's, not to be kept", () => {
    const { headers, body } = ask('/pricing/assets/pricing-000000000000.css');
    assert.equal(headers['cache-control'], 'no-cache');
    assert.match(body.toString(), /prefers-color-scheme/);
  });

  test('there is nothing else', () => {
    for (const path of [
      '/pricing/',
      '/pricing/assets/',
      '/pricing/assets/pricing.css',
      '/pricing/assets/../answer.ts',
      '/pricing/assets/x-000000000000.css',
    ]) {
      assert.equal(
        answerPricing({ path, search: '', accept: undefined, ifNoneMatch: undefined }, state),
        undefined,
        path,
      );
    }
  });
});
