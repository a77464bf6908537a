/** Refused calls and the page of one call: their content for each person, and without the stores. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { ActivityEntry, RefusalCount } from '../../../../contract/activity/activity.ts';
import { renderCallDetails } from '../../../../console/wallet/call-details.ts';
import { reportedEndpoint } from '../../../../dataplane/telemetry/call-report.ts';
import type { EndpointName } from '../../../../dataplane/telemetry/call-report.ts';
import { refusalSentence } from '../../../../console/components/refusals.ts';
import { condition, keyManifest, TEST_NOW_MS } from '../../../support/console-access.ts';
import { refusedEntry, servedEntry } from '../../dataplane/activity/entries.ts';
import { accountManifest, activityOf, call, usageBook, walletStand } from './stand.ts';
import type { WalletStand } from './stand.ts';

const DAY_MS = 86_400_000;
const TODAY = Math.floor(TEST_NOW_MS / DAY_MS);
/** Every endpoint's name: the type makes the list complete. */
const EACH: Readonly<Record<EndpointName, true>> = {
  chat_completions: true,
  messages: true,
  generate_content: true,
  responses: true,
  completions: true,
  embeddings: true,
  moderations: true,
  rerank: true,
  images: true,
  image_edits: true,
  image_variations: true,
  videos: true,
  embed_content: true,
  predict: true,
  speech: true,
  transcriptions: true,
  translations: true,
  realtime: true,
  batches: true,
  message_batches: true,
  count_tokens: true,
  models: true,
  conversations: true,
  files: true,
  key: true,
  usage: true,
  pricing: true,
  other: true,
};
const ENDPOINTS = Object.keys(EACH) as EndpointName[];
const HOSTILE = '<img src=x onerror=alert(1)>';

const records: UsageRecord[] = [];
const entries: ActivityEntry[] = [];
const counts: RefusalCount[] = [];
const activity = activityOf(entries, counts);
let stand: WalletStand;
let ci = '';
let app = '';

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

const refusal = (more: Partial<RefusalCount>): RefusalCount => ({
  account: 'team-a/main',
  day: TODAY,
  keyUid: ci,
  errorCode: 'insufficient_quota',
  calls: 1,
  ...more,
});

const LINES = [
  { dimension: 'input', quantity: 2_000, rateUsd: '3' },
  { dimension: 'cacheRead', quantity: 10_000, rateUsd: '0.3' },
  { dimension: 'output', quantity: 800, rateUsd: '15', serviceTier: 'priority', above: 200_000 },
];

beforeAll(() => {
  stand = walletStand(usageBook(records), [], activity);
  ci = stand.world.apiKey('team-a', 'ci').metadata.uid ?? '';
  app = stand.world.apiKey('team-a', 'app').metadata.uid ?? '';
  const theirs = stand.world.apiKey('team-b', 'theirs').metadata.uid ?? '';
  records.push(
    // 2,000 at $3, 10,000 cached at $0.30, 800 at $15 a million
    call('req_ok', ci, { lines: LINES }),
    call('req_failed', ci, { status: 'Failed', costNanoUsd: 0n }),
    call('req_images', app, {
      costNanoUsd: 80_000_000n,
      tokens: { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 },
      lines: [{ dimension: 'generation', quantity: 2, rateUsd: '0.04' }],
    }),
    call('req_old', app),
    call('req_theirs', theirs, { account: 'team-b/main' }),
  );
  const at = (keyUid: string, atMs = TEST_NOW_MS): Partial<ActivityEntry> => ({ keyUid, atMs });
  entries.push(
    servedEntry('req_ok', at(ci)),
    servedEntry('req_failed', { ...at(ci), httpStatus: 502, errorCode: 'upstream_refused' }),
    servedEntry('req_images', { ...at(app), endpoint: 'images', stream: false }),
    refusedEntry('req_refused', at(ci, TEST_NOW_MS - 1)),
    refusedEntry('req_broke', { ...at(app), errorCode: 'credit_balance_exhausted', httpStatus: 402, message: HOSTILE }),
    refusedEntry('req_not_yours', { ...at(theirs), account: 'team-b/main' }),
  );
  counts.push(
    refusal({ calls: 12 }),
    refusal({ keyUid: app, errorCode: 'credit_balance_exhausted', calls: 2 }),
    refusal({ day: TODAY - 2, calls: 7 }),
    refusal({ account: 'team-b/main', keyUid: theirs, calls: 1000 }),
  );
});
afterAll(() => stand.app.close());

describe('refused calls', () => {
  it('are counted by reason', () => {
    assert.equal(
      refusalSentence(
        counts.filter(({ account }) => account === 'team-a/main'),
        TODAY,
      ),
      '14 refused today: 12 over a spending limit, 2 out of credit',
    );
    assert.equal(refusalSentence(counts, TODAY + 1), 'None refused today');
    assert.equal(
      refusalSentence(
        [refusal({ errorCode: 'invalid_json', calls: 1200 }), refusal({ errorCode: 'invalid_request', calls: 5 })],
        TODAY,
      ),
      '1,205 refused today: 1,205 invalid requests',
    );
  });

  it("are on the account's page, listed with the API's messages", async () => {
    const page = textOf((await stand.see('alice', '/wallet/team-a/main')).body);
    assert.match(page, /Refused calls .*14 refused today: 12 over a spending limit, 2 out of credit\. A refused/);
    const { body, status } = await stand.see('alice', '/wallet/team-a/main/refused');
    assert.equal(status, 200);
    assert.ok(!body.includes(HOSTILE) && body.includes('&lt;img src=x'));
    const text = textOf(body);
    assert.match(
      text,
      /Day \(UTC\) Spending limit reached Out of credit All 2026-11-21, today 12 2 14 2026-11-19 7 0 7/,
    );
    assert.match(text, /req_broke.*Out of credit 402 credit_balance_exhausted.*req_refused.*used up its quota/);
    assert.doesNotMatch(text, /req_not_yours|1,000/);
  });

  it('of one key are shown to those who can see the key', async () => {
    for (const token of ['alice', 'ulla']) {
      const text = textOf((await stand.see(token, '/wallet/team-a/main/refused?key=ci')).body);
      assert.match(text, /12 refused today: 12 over/);
      assert.doesNotMatch(text, /req_broke/);
    }
    assert.equal((await stand.see('ulla', '/wallet/team-a/main/refused')).status, 403);
    assert.equal((await stand.see('alice', '/wallet/team-b/main/refused')).status, 403);
  });

  it("are on the key's Activity tab beside its chart and its calls", async () => {
    for (const token of ['alice', 'ulla']) {
      const { body } = await stand.see(token, '/keys/team-a/ci/activity');
      const text = textOf(body);
      assert.match(text, /Cost by day and model 2 calls · \$0\.021 · .*12 refused today: 12 over .*Calls Filter/);
      assert.doesNotMatch(text, /req_broke|req_images/);
      const [, href = ''] = /<a href="([^"]*)" tabindex="-1">/.exec(body) ?? [];
      assert.match(textOf((await stand.see(token, href.replaceAll('&amp;', '&'))).body), /2 calls · \$0\.021/);
    }
    assert.match(
      textOf((await stand.see('alice', '/keys/team-a/app/activity?since=2026-01-01&until=2026-01-02')).body),
      /No calls with this key in this time/,
    );
  });

  it('do not affect a page if their store does not respond, and are absent without one', async () => {
    const failing = () => Promise.reject(new Error('down'));
    const down = walletStand(usageBook(records), [], {
      refusals: failing,
      refused: failing,
      find: failing,
      channels: failing,
      shortages: failing,
      close: () => undefined,
    });
    assert.match(textOf((await down.see('alice', '/wallet/team-a/main')).body), /cannot be shown at the moment/);
    const at = TEST_NOW_MS - 3_600_000;
    assert.equal((await down.see('alice', `/wallet/team-a/main/calls/req_ok?at=${at}&uid=${ci}`)).status, 200);
    const none = walletStand(usageBook(records));
    assert.doesNotMatch((await none.see('alice', '/wallet/team-a/main')).body, /Refused calls/);
    assert.match((await none.see('alice', '/wallet/team-a/main/refused')).body, /has not been told/);
    await Promise.all([down.app.close(), none.app.close()]);
  });
});

describe('a key whose last call was refused for lack of money', () => {
  const READY = condition('Ready', 'True', 'Ready', '');
  const keyOf = (name: string, limitUsd: string): unknown =>
    keyManifest(
      'team-a',
      name,
      {
        accountRef: { name: 'main' },
        quota: { limitUsd },
      },
      { spentUsd: '24.998', lastUsedTime: '2026-11-21T11:00:00Z', conditions: [READY] },
    );
  const kept: ActivityEntry[] = [];
  const short = walletStand(
    usageBook([]),
    [
      keyOf('empty', '25'),
      keyOf('raised', '25.01'),
      keyOf('held', '25'),
      keyOf('served', '25'),
      keyOf('large', '50'),
      accountManifest('team-a', 'small', [{ name: 'one', usd: '10' }], {
        creditUsd: '10',
        spentUsd: '9.99',
        balanceUsd: '0.01',
        conditions: [READY],
      }),
      keyOf('tight', '25'),
      keyManifest('team-a', 'unlimited', { accountRef: { name: 'small' } }, { conditions: [READY] }),
    ],
    activityOf(kept),
  );
  const uidOf = (name: string): string => short.world.apiKey('team-a', name).metadata.uid ?? '';
  afterAll(() => short.app.close());
  beforeAll(() => {
    const limited = { atMs: TEST_NOW_MS - 1, exceededLimitNanoUsd: '25000000000' };
    kept.push(
      ...['empty', 'raised', 'served', 'large'].map((name) => refusedEntry(name, { ...limited, keyUid: uidOf(name) })),
      refusedEntry('tight', { ...limited, fundsOf: 'AccountLimit', keyUid: uidOf('tight') }),
      refusedEntry('held', { atMs: TEST_NOW_MS - 1, keyUid: uidOf('held') }),
      servedEntry('then served', { atMs: TEST_NOW_MS, keyUid: uidOf('served') }),
      refusedEntry('broke', {
        account: 'team-a/small',
        keyUid: uidOf('unlimited'),
        atMs: TEST_NOW_MS,
        errorCode: 'credit_balance_exhausted',
        exceededLimitNanoUsd: '10000000000',
      }),
    );
  });

  it('is Limit reached in the list, its filter, its page, the overview and the CSV, and no other key is', async () => {
    const { body } = await short.see('alice', '/keys?status=LimitReached');
    assert.deepEqual(
      [...body.matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key),
      ['team-a/empty'],
    );
    assert.match(
      textOf((await short.see('alice', '/keys/team-a/empty')).body),
      /Limit reached\. \$0\.0020 remains, too little for its last call/,
    );
    for (const name of ['raised', 'held', 'served', 'tight'])
      assert.match(textOf((await short.see('alice', `/keys/team-a/${name}`)).body), / Low\. /, name);
    const csv = (await short.see('alice', '/keys.csv?q=team-a')).body;
    assert.deepEqual(csv.split('\r\n').filter((line) => line.includes('Limit reached')).length, 1);
    assert.match(csv, /team-a,empty,.*,Limit reached,/);
    assert.match(textOf((await short.see('alice', '/')).body), /empty .*Limit reached/);
  });

  it('is named as what it is where a limit of the account refused the call', async () => {
    const rows = (await short.see('alice', '/wallet/team-a/main/refused')).body.split('<tr').map(textOf);
    const whyOf = (id: string): string => rows.find((row) => row.includes(` ${id} `)) ?? '';
    assert.match(whyOf('tight'), / Account limit reached 429 insufficient_quota/);
    assert.match(whyOf('empty'), / Key limit reached 429 insufficient_quota/);
    const path = `/wallet/team-a/main/calls/tight?uid=${uidOf('tight')}`;
    assert.match(textOf((await short.see('alice', path)).body), /Refused: Account limit reached · 429/);
  });

  it('is shown with its account everywhere', async () => {
    assert.match(textOf((await short.see('alice', '/keys/team-a/unlimited')).body), /Account out of credit\./);
    for (const path of ['/wallet', '/wallet?status=OutOfCredit', '/wallet/team-a/small', '/'])
      assert.match(textOf((await short.see('alice', path)).body), /Out of credit/, path);
    assert.doesNotMatch(textOf((await short.see('alice', '/wallet?status=Low')).body), /small/);
  });
});

describe('the page of one call', () => {
  it('knows the path of every endpoint that calls a model', () => {
    const calls = ENDPOINTS.filter((name) => name !== 'other' && reportedEndpoint(name).isCall);
    const view = {
      ref: { namespace: 'team-a', name: 'main' },
      record: undefined,
      names: new Map<string, string>(),
      margins: false,
      groups: new Map(),
      seesAccount: true,
      seesRoutes: false,
      isPriced: () => false,
    };
    for (const endpoint of calls) {
      const { markup } = renderCallDetails({ ...view, entry: servedEntry('req', { endpoint }) });
      assert.match(textOf(markup), /Endpoint (?:GET|POST) \/v1/, endpoint);
    }
  });
  const at = TEST_NOW_MS - 3_600_000;
  const open = (id: string, uid: string, token = 'alice', more = '') =>
    stand.see(token, `/wallet/team-a/main/calls/${id}?at=${at}&uid=${uid}${more}`);

  it("is linked from the calls, and shows tokens, price by class, the ledger's sum and attempts", async () => {
    const { body: list } = await stand.see('alice', '/wallet/team-a/main/calls');
    assert.ok(list.includes(`/wallet/team-a/main/calls/req_ok?at=${at}&amp;uid=${ci}`));
    const text = textOf((await open('req_ok', ci)).body);
    assert.match(
      text,
      /Id req_ok Copy the id Time .* Key ci Account team-a\/main Model claude-sonnet-4-5 Status Succeeded HTTP/,
    );
    assert.match(text, /Endpoint POST \/v1\/messages, streamed Time to first token 410 ms Duration 2\.3 s/);
    assert.match(text, /Input 2,000 \$3\.00 per million \$0\.006000 Cached input 10,000 \$0\.30 per million \$0\.003/);
    assert.match(
      text,
      /Output priority tier, context above 200,000 800 \$15\.00 per million \$0\.012000 Billed \$0\.021000/,
    );
    assert.match(text, /openai\/a Answered 529 120 ms anthropic\/direct Answered 2\.2 s/);
  });

  it('shows costs that tokens do not explain', async () => {
    const failed = textOf((await open('req_failed', ci)).body);
    assert.match(failed, /Failed · 502 upstream_refused The provider&#39;s own words went to the caller/);
    assert.match(failed, /Billed \$0\.000000 .*fails at the provider before any output costs nothing/);
    assert.match(textOf((await open('req_images', app)).body), /Generations 2 \$0\.04 each \$0\.080000 Billed/);
    assert.match(
      textOf((await open('req_old', app)).body),
      /Input 2,000 — — .* Billed \$0\.021000.*Of this call they are not/,
    );
  });

  it('of a refused call shows the message', async () => {
    const text = textOf((await stand.see('alice', `/wallet/team-a/main/calls/req_refused?uid=${ci}`)).body);
    assert.match(text, /Refused: Key limit reached · 429 insufficient_quota This key has used up its quota\./);
    assert.doesNotMatch(text, /Billed/);
  });

  it("is shown only for one's own account and key", async () => {
    const theirs = stand.world.apiKey('team-b', 'theirs').metadata.uid ?? '';
    assert.equal((await open('req_theirs', theirs)).status, 404);
    assert.equal((await open('req_not_yours', theirs)).status, 404);
    assert.equal((await open('nope', ci)).status, 404);
    assert.equal((await open('req_ok', ci, 'ulla', '&key=ci')).status, 200);
    assert.equal((await open('req_images', app, 'ulla', '&key=ci')).status, 404); // the address asks, rights decide
    assert.equal((await open('req_ok', ci, 'ulla')).status, 403);
    assert.equal((await stand.see('alice', `/wallet/team-a/main/calls/req_ok?at=x&uid=`)).status, 404);
  });

  it('reports that the ledger does not respond', async () => {
    const down = walletStand({ ...usageBook([]), find: () => Promise.reject(new LedgerUnavailable('down')) });
    assert.equal((await down.see('alice', `/wallet/team-a/main/calls/req_ok?at=${at}&uid=${ci}`)).status, 503);
    await down.app.close();
  });
});
