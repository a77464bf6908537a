/** The preview of a price change: who sees it, what it computes, and what it says of a manifest with mistakes. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { TEST_NOW_MS } from '../../../support/console-access.ts';
import { call, usageBook, walletStand } from '../wallet/stand.ts';

const DAY_MS = 86_400_000;
const TOKENS = { input: 1_000_000, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };

function manifest(kind: string, name: string, spec: object): unknown {
  return { apiVersion: 'modelgateway.dev/v1alpha1', kind, metadata: { namespace: 'model-gateway', name }, spec };
}

function catalogText(models: string, name = 'all', namespace = 'model-gateway'): string {
  return `apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  models:
  ${models}
`;
}

const price = (model: string, input: string): string =>
  `- {name: ${model}, vendor: V, quotaType: Token, usdPerMillion: {input: "${input}", output: "10"}}`;

const CATALOG = manifest('PriceCatalog', 'all', {
  models: [{ name: 'm', vendor: 'V', quotaType: 'Token', usdPerMillion: { input: '2', output: '10' } }],
});
const COSTS = manifest('PriceCatalog', 'costs', {
  purpose: 'Costs',
  models: [{ name: 'm', vendor: 'V', quotaType: 'Token', usdPerMillion: { input: '1', output: '5' } }],
});

function open(
  records = [
    call('req_a', 'uid-ci', { model: 'm', group: 'vip', tokens: TOKENS }),
    call('req_b', 'uid-ci', { model: 'm', group: 'vip', tokens: TOKENS, account: 'team-b/main' }),
    call('req_old', 'uid-ci', { model: 'm', group: 'vip', tokens: TOKENS, createdMs: TEST_NOW_MS - 20 * DAY_MS }),
  ],
): ReturnType<typeof walletStand> {
  return walletStand(usageBook(records), [
    CATALOG,
    COSTS,
    manifest('Group', 'vip', {
      priceRatio: '1.5',
      allowedNamespaces: { from: 'All' },
      routes: [{ routeSelector: {} }],
    }),
  ]);
}

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

const post = (stand: ReturnType<typeof walletStand>, text: string, days = '7') =>
  stand.post('petra', '/catalogs/change', { manifest: text, days }, '/catalogs/change');

describe('the preview of a price change', () => {
  it('shows the catalog in force to those who may list PriceCatalogs, and to nobody else', async () => {
    const stand = open();
    const seen = await stand.see('petra', '/catalogs/change');
    assert.equal(seen.status, 200);
    assert.match(seen.body, /kind: PriceCatalog[\s\S]*name: all/);
    assert.doesNotMatch(seen.body, /name: costs/);
    assert.match((await stand.see('petra', '/catalogs')).body, /href="\/catalogs\/change/);
    assert.equal((await stand.see('alice', '/catalogs/change')).status, 404);
    assert.doesNotMatch((await stand.see('alice', '/catalogs')).body, /href="\/catalogs\/change/);
  });

  it("prices the calls of the chosen days by both, at their groups' ratios", async () => {
    const stand = open();
    const answer = await post(stand, catalogText(price('m', '3')));
    assert.equal(answer.status, 200);
    const text = textOf(answer.body);
    assert.match(text, /Calls, last 7 days 2 /);
    assert.match(text, /By today.+ prices \$ ?6\.00 By the edited prices \$ ?9\.00 Change \+ ?\$ ?3\.00 \+50\.0 %/);
    assert.match(text, /By model .* m 2 .*\+50\.0 %/);
    // a change below a cent has places enough to add up
    assert.match(
      textOf((await post(stand, catalogText(price('m', '2.0001')))).body),
      /By today.+ prices \$ ?6\.000000 By the edited prices \$ ?6\.000300 Change \+ ?\$ ?0\.000300/,
    );
    assert.match(text, /By group .* vip 2/);
    assert.match(text, /team-a\/main 1 .* team-b\/main 1/);
    assert.match(answer.body, /href="\/wallet\/team-a\/main\/calls\/req_a\?at=/);
    assert.match(textOf((await post(stand, catalogText(price('m', '3')), '30')).body), /Calls, last 30 days 3 /);
  });

  it('says where nothing changes, and what has no price any more', async () => {
    const stand = open();
    assert.match((await post(stand, catalogText(price('m', '2')))).body, /No call would have cost more or less/);
    const text = textOf((await post(stand, catalogText(price('other', '2')))).body);
    assert.match(text, /Without a price .* model m 2/);
    assert.match(text, /By the edited prices \$ ?0\.00/);
  });

  it('names the mistakes of a manifest with their lines, and keeps what was typed', async () => {
    const stand = open();
    const wrong = await post(stand, catalogText(price('m', '-1')));
    assert.equal(wrong.status, 422);
    assert.match(textOf(wrong.body), /Line \d+: spec\.models\[0\]\.usdPerMillion\.input: /);
    assert.match(wrong.body, /input: &quot;-1&quot;|input: "-1"/);
    assert.doesNotMatch((await post(stand, catalogText(price('m', '-1')).replaceAll('\n', '\r\n'))).body, /\uFFFD|\r/);
    for (const [text, message] of [
      ['a: [', /Line \d/],
      ['', /one PriceCatalog/],
      [catalogText(price('m', '1'), 'all', 'elsewhere'), /namespace model-gateway only/],
      [catalogText(price('m', '1')).replace('spec:', 'spec:\n  purpose: Costs'), /costs changes no bill/],
      [`${catalogText(price('m', '1'))}---\n${catalogText(price('o', '1'), 'more')}`, /one PriceCatalog/],
    ] as const) {
      const answer = await post(stand, text);
      assert.equal(answer.status, 422, text);
      assert.match(textOf(answer.body), message, text);
    }
  });

  it('refuses to preview where the ledger is unknown', async () => {
    const stand = walletStand(undefined, [CATALOG]);
    assert.match(textOf((await post(stand, catalogText(price('m', '3')))).body), /not been told where the ledger is/);
  });
});
