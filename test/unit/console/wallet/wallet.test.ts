/** The Wallet's pages: their content for each person, and its limits. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { usageCsv } from '#usage/csv.ts';
import type { UsageRecord } from '#usage/record.ts';
import { TEST_NOW_MS, keyManifest } from '../../../support/console-access.ts';
import { renderStatus } from '../../../../console/components/calls-table.ts';
import { accountManifest, call, manyCalls, usageBook, walletStand } from './stand.ts';
import type { WalletStand } from './stand.ts';

const DAY_MS = 86_400_000;
const HOSTILE = '<img src=x onerror=alert(1)>';
const GONE = '9f31c2d4-0000-4000-8000-000000000001';

const records: UsageRecord[] = [];
const book = usageBook(records);
let stand: WalletStand;
let ci = '';
let app = '';

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

function idsIn(markup: string): string[] {
  return [...markup.matchAll(/class="mono" title="([^"]*)">/g)].map(([, id = '']) => id);
}

beforeAll(() => {
  stand = walletStand(book);
  ci = stand.world.apiKey('team-a', 'ci').metadata.uid ?? '';
  app = stand.world.apiKey('team-a', 'app').metadata.uid ?? '';
  records.push(
    call('req_ci_1', ci),
    call('req_ci_2', ci, {
      createdMs: TEST_NOW_MS - 3 * DAY_MS,
      model: 'gpt-5',
      costNanoUsd: 1_000_000_000n,
      usageSource: 'Estimated',
      unbilledNanoUsd: 5_000n,
    }),
    call('req_app', app, { createdMs: TEST_NOW_MS - 40 * DAY_MS, status: 'Failed', costNanoUsd: 0n }),
    call('req_gone', GONE, { createdMs: TEST_NOW_MS - 2 * DAY_MS, model: HOSTILE, keyName: 'gone-ci' }),
    call('req_theirs', stand.world.apiKey('team-b', 'theirs').metadata.uid ?? '', { account: 'team-b/main' }),
  );
});
afterAll(() => stand.app.close());

describe('the list of accounts', () => {
  test('shows the accounts that the person can see, with their balances', async () => {
    const { status, body } = await stand.see('alice', '/wallet');
    assert.equal(status, 200);
    const text = textOf(body);
    assert.match(text, /main team-a Active \$76\.54 \$100\.00 \$23\.46 \$0\.13 2/);
    assert.doesNotMatch(text, /team-b/);
    // the next pages are read ahead, but only what the person may see
    assert.deepEqual(book.prepared, ['team-a/main']);
    assert.match(textOf((await stand.see('paul', '/wallet')).body), /2 accounts.*team-b Pending.*team-a Active/);
  });

  test('is searched, sorted and paged by the server', async () => {
    const many = walletStand(
      undefined,
      Array.from({ length: 250 }, (_, index) =>
        accountManifest('team-a', `n${String(index).padStart(3, '0')}`, [{ name: 'g', usd: String(index) }]),
      ),
    );
    const names = (body: string): string[] =>
      [...body.matchAll(/<th scope="row" class="main"><a href="[^"]*"><bdi>([^<]*)</g)].map(([, name = '']) => name);
    const first = (await many.see('alice', '/wallet')).body;
    assert.equal(names(first).length, 100);
    assert.match(first, /href="\/wallet\?page=2"/);
    assert.equal(names((await many.see('alice', '/wallet?page=3')).body).length, 51);
    assert.equal(names((await many.see('alice', '/wallet?page=99')).body).length, 51);
    assert.deepEqual(names((await many.see('alice', '/wallet?sort=-balance')).body).slice(0, 2), ['n249', 'n248']);
    const found = (await many.see('alice', '/wallet?q=N24')).body;
    assert.equal(names(found).length, 10);
    assert.match(textOf(found), /10 of 251 accounts/);
    assert.match((await many.see('alice', '/wallet?q=zzz')).body, /No account matches/);
    await many.app.close();
  });

  test('shows the accounts of their keys to people who see only keys, and what to do without any', async () => {
    const { body } = await stand.see('ulla', '/wallet');
    assert.match(body, /href="\/wallet\/team-a\/main\?key=ci"/);
    assert.match(textOf(body), /You may not see the accounts that pay for your keys/);
    assert.match(textOf((await stand.see('nobody', '/wallet')).body), /No account that you may see .* kind: Account/);
  });
});

describe('an account', () => {
  test('shows its balance, its spending and its latest calls', async () => {
    const { status, body } = await stand.see('alice', '/wallet/team-a/main');
    assert.equal(status, 200);
    const text = textOf(body);
    assert.match(text, /Balance \$76\.54 Active Credit \$100\.00 .* Spent \$23\.46 .* Held now \$0\.125/);
    assert.match(text, /\$1\.04 for 3 calls in 30 days/);
    assert.match(body, /<bdi>ci<\/bdi><\/a><\/th>.*?<td class="num">2<\/td>/s);
    assert.match(body, new RegExp(`href="/wallet/team-a/main/calls\\?uid=${GONE}"`));
    assert.match(body, new RegExp(`href="/wallet/team-a/main/calls\\?uid=${GONE}"><bdi>gone-ci</bdi>`));
    assert.match(body, /<td data-label="Key"><bdi>gone-ci<\/bdi><\/td>/);
    assert.deepEqual(idsIn(body), ['req_ci_1', 'req_gone', 'req_ci_2', 'req_app']);
    assert.doesNotMatch(body, /req_theirs|<img|style=|onerror=alert\(1\)>/);
    assert.match(body, /&lt;img src=x onerror=alert\(1\)&gt;/);
  });

  test('shows what its keys may use per minute, if it is limited', async () => {
    assert.doesNotMatch(textOf((await stand.see('alice', '/wallet/team-a/main')).body), /[Pp]er minute/);
    const limited = walletStand(usageBook([]));
    const rateLimits = { requestsPerMinute: 1, outputTokensPerMinute: 20_000 };
    limited.world.edit('Account', { namespace: 'team-a', name: 'main' }, (spec) => ({ ...spec, rateLimits }));
    const { body } = await limited.see('alice', '/wallet/team-a/main');
    assert.match(textOf(body), /Per minute, all its keys together may use 1 request, 20,000 output tokens\./);
    await limited.app.close();
  });

  test('has a column for each day of the range', async () => {
    for (const [query, days] of [
      ['', 30],
      ['?days=7', 7],
      ['?days=90', 90],
      ['?days=1000', 30],
    ] as const) {
      const { body } = await stand.see('alice', `/wallet/team-a/main${query}`);
      assert.equal(body.match(/<g><title>/g)?.length, days, query);
      assert.match(body, /<title>2026-11-21: \$0\.021, 1 call<\/title>/);
    }
    assert.match(textOf((await stand.see('alice', '/wallet/team-a/main?days=90')).body), /for 4 calls in 90 days/);
  });

  test('of one key shows only that key', async () => {
    const { body } = await stand.see('alice', '/wallet/team-a/main?key=ci');
    assert.match(textOf(body), /\$1\.02 for 2 calls/);
    assert.deepEqual(idsIn(body), ['req_ci_1', 'req_ci_2']);
    assert.doesNotMatch(body, /<dl class="figures">|By key/);
  });

  test('is shown without a ledger, and with one that does not respond', async () => {
    const without = walletStand(undefined);
    const { status, body } = await without.see('alice', '/wallet/team-a/main');
    assert.equal(status, 200);
    assert.match(textOf(body), /\$76\.54 .* has not been told where the ledger is/);
    assert.match(
      textOf((await without.see('alice', '/wallet/team-a/main/calls')).body),
      /has not been told where the ledger is/,
    );
    assert.match(
      textOf((await without.see('alice', '/wallet/team-a/main/calls.csv')).body),
      /has not been told where the ledger is/,
    );
    await without.app.close();
    const failing = walletStand({
      ...book,
      sums: () => Promise.reject(new LedgerUnavailable('away')),
      page: () => Promise.reject(new LedgerUnavailable('away')),
    });
    assert.match(
      textOf((await failing.see('alice', '/wallet/team-a/main')).body),
      /\$76\.54 .* The ledger does not answer/,
    );
    assert.equal((await failing.see('alice', '/wallet/team-a/main/calls')).status, 503);
    await failing.app.close();
  });
});

describe("somebody else's account", () => {
  const paths = [
    '',
    '?days=7',
    '?key=ci',
    '?key=theirs',
    '/calls',
    '/calls.csv',
    '/calls?key=ci',
    '/calls.csv?key=ci',
    '/calls?uid=x',
    `/calls?account=team-a%2Fmain`,
  ];

  test('is refused at any address', async () => {
    for (const path of paths) {
      book.asked.length = 0;
      const { status, body } = await stand.see('bob', `/wallet/team-a/main${path}`);
      assert.equal(status, 403, path);
      assert.doesNotMatch(body, /req_|\$76/, path);
      assert.deepEqual(book.asked, [], path);
      assert.equal((await stand.see('nobody', `/wallet/team-a/main${path}`)).status, 403, path);
    }
    assert.equal((await stand.see('alice', '/wallet/team-a/gone')).status, 404);
    assert.equal((await stand.see('alice', '/wallet/team-a/main?key=theirs')).status, 404);
    assert.equal((await stand.see('alice', '/wallet/team-a%2F..%2Fteam-b/main')).status, 404);
  });

  test('is never requested for people who see only a key of it', async () => {
    for (const path of ['', '?days=90', '/calls', '/calls.csv', '/calls?model=gpt-5']) {
      book.asked.length = 0;
      const separator = path.includes('?') ? '&' : '?';
      const { status, body } = await stand.see('ulla', `/wallet/team-a/main${path}${separator}key=ci&uid=${app}`);
      assert.equal(status, 200, path);
      assert.doesNotMatch(body, /req_app|req_gone|\$76\.54|welcome/, path);
      assert.ok(
        book.asked.length > 0 &&
          book.asked.every(({ keyUid, accounts }) => keyUid === ci && accounts.join() === 'team-a/main'),
        path,
      );
    }
    for (const path of ['', '/calls', '?key=gone', '?key=theirs', '/calls?key=', `/calls?uid=${ci}`])
      assert.equal((await stand.see('ulla', `/wallet/team-a/main${path}`)).status, 403, path);
  });

  test('cannot be opened with a key of another account or gateway', async () => {
    const own = walletStand(book, [
      keyManifest('team-a', 'side', { accountRef: { name: 'side' } }),
      keyManifest('team-a', 'far', { accountRef: { name: 'main' }, gatewayNamespace: 'other' }),
    ]);
    for (const key of ['side', 'far'])
      assert.equal((await own.see('ulla', `/wallet/team-a/main?key=${key}`)).status, 403, key);
    await own.app.close();
    const other = walletStand(book, [
      {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'Account',
        metadata: { namespace: 'team-a', name: 'far' },
        spec: { gatewayNamespace: 'other' },
      },
    ]);
    assert.equal((await other.see('alice', '/wallet/team-a/far')).status, 404);
    await other.app.close();
  });
});

describe('the limits of an account', () => {
  test('are on its page, with their figures once the gateway has written them', async () => {
    const limits = [
      { usd: '20.5', period: 'Day', timeZone: 'Europe/Berlin' },
      { usd: '500', period: 'Total', timeZone: 'UTC' },
      { usd: '9', period: 'Week', timeZone: 'UTC' },
    ];
    const figures = [
      { ...limits[0], usd: '20.50', spentUsd: '18', remainingUsd: '2.50', resetTime: '2026-11-21T23:00:00Z' },
      { ...limits[1], usd: '500.00', spentUsd: '123.45', remainingUsd: '376.55' },
      { ...limits[2], usd: '8.00', spentUsd: '1', remainingUsd: '7' },
    ];
    const account = {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'Account',
      metadata: { namespace: 'team-a', name: 'tight' },
      spec: { grants: [{ name: 'g', usd: '1000' }], limits },
      status: { limits: figures },
    };
    const tight = walletStand(usageBook([]), [account]);
    const text = textOf((await tight.see('alice', '/wallet/team-a/tight')).body);
    assert.match(text, /Limits 3 limits, besides the credit/);
    assert.match(text, /Each day Europe\/Berlin \$20\.50 \$18\.00 \$2\.50 2026-11-21 23:00/);
    assert.match(text, /In total — \$500\.00 \$123\.45 \$376\.55 —/);
    assert.match(text, /Each week UTC \$9\.00 — — —/, 'edited since');
    assert.doesNotMatch(textOf((await tight.see('alice', '/wallet/team-a/main')).body), /besides the credit/);
    await tight.app.close();
  });
});

describe('calls', () => {
  test('are filtered by key, model, status and day', async () => {
    const ids = async (query: string): Promise<string[]> =>
      idsIn((await stand.see('alice', `/wallet/team-a/main/calls${query}`)).body);
    assert.deepEqual(await ids(''), ['req_ci_1', 'req_gone', 'req_ci_2', 'req_app']);
    assert.deepEqual(await ids('?key=app'), ['req_app']);
    assert.deepEqual(await ids(`?uid=${GONE}`), ['req_gone']);
    assert.deepEqual(await ids('?model=gpt-5'), ['req_ci_2']);
    assert.deepEqual(await ids('?status=Failed'), ['req_app']);
    assert.deepEqual(await ids('?since=2026-11-19&until=2026-11-20'), ['req_gone']);
    assert.deepEqual(await ids('?status=Nonsense&since=yesterday&until=2026-02-31'), [
      'req_ci_1',
      'req_gone',
      'req_ci_2',
      'req_app',
    ]);
    const unknown = (await stand.see('alice', '/wallet/team-a/main/calls?key=nope')).body;
    assert.deepEqual(idsIn(unknown), []);
    assert.match(textOf(unknown), /No key of this account that you may see is called nope/);
  });

  test('show words that a newer gateway has written as they are', () => {
    const { markup } = renderStatus(call('req_later', ci, { status: 'Postponed <b>', usageSource: 'Guessed' }));
    assert.equal(markup, '<span class="dot plain">Postponed &lt;b&gt;</span><small>Guessed</small>');
  });

  test('show what is unusual about them', async () => {
    const text = textOf((await stand.see('alice', '/wallet/team-a/main/calls')).body);
    assert.match(text, /tokens estimated .* \$1\.000000 and \$0\.000005 not billed/);
    assert.match(text, /2,000 10,000 cached 800 2\.3 s \$0\.021000/);
  });

  test('are shown fifty at a time, newest first, back to the oldest', async () => {
    const many = manyCalls(120, [ci]);
    const paged = walletStand(usageBook(many));
    const seen: string[] = [];
    let url: string | undefined = '/wallet/team-a/main/calls?model=claude-sonnet-4-5&status=';
    for (let pages = 0; url !== undefined && pages < 9; pages++) {
      const { body } = await paged.see('alice', url);
      assert.ok(idsIn(body).length <= 50);
      seen.push(...idsIn(body));
      url = /href="([^"]*)" rel="next"/
        .exec(body.replace(/class="button small" rel="next" href="([^"]*)"/g, 'href="$1" rel="next"'))?.[1]
        ?.replaceAll('&amp;', '&');
    }
    assert.deepEqual(
      seen,
      many
        .filter(({ model }) => model === 'claude-sonnet-4-5')
        .sort((a, b) => b.createdMs - a.createdMs)
        .map(({ callId }) => callId),
    );
    await paged.app.close();
  });

  test('show from when they are complete, if there are more than the console reads', async () => {
    const sinceMs = TEST_NOW_MS - 20 * DAY_MS;
    const cut = walletStand(usageBook(manyCalls(20, [ci]), sinceMs));
    const day = (daysAgo: number): string => new Date(TEST_NOW_MS - daysAgo * DAY_MS).toISOString().slice(0, 10);
    for (const [path, told] of [
      ['calls', true],
      [`calls?since=${day(25)}`, true],
      [`calls?since=${day(19)}`, false],
      ['', true],
      ['?days=90', true],
      ['?days=7', false],
    ] as const) {
      const { body } = await cut.see('alice', `/wallet/team-a/main${path.startsWith('calls') ? '/' : ''}${path}`);
      assert.equal(body.includes('id="calls-missing"'), told, path);
      if (told)
        assert.match(
          body,
          new RegExp(
            `more calls than the console keeps: some from before <time ` +
              `datetime="${new Date(sinceMs).toISOString().slice(0, 19)}Z`,
          ),
        );
    }
    assert.ok(!(await stand.see('alice', '/wallet/team-a/main/calls')).body.includes('calls-missing'));
    await cut.app.close();
  });

  test('can be downloaded with the longest possible account name', async () => {
    const name = `${'n'.repeat(250)}.io`;
    const long = walletStand(usageBook([]), [accountManifest('team-a', name)]);
    const { status, headers } = await long.see('alice', `/wallet/team-a/${name}/calls.csv`);
    assert.equal(status, 200);
    assert.match(String(headers['content-disposition']), /^attachment; filename="calls-team-a-n{100,200}\.csv"$/);
    await long.app.close();
  });

  test('can be downloaded in the format of `mgw usage`, without spreadsheet formulas', async () => {
    records.push(
      call('req_formula', ci, { createdMs: TEST_NOW_MS - 80 * DAY_MS, model: '=HYPERLINK("http://x","y")' }),
      call('req_lines', ci, { createdMs: TEST_NOW_MS - 81 * DAY_MS, model: 'a\r\nb,c' }),
    );
    const { status, headers, body } = await stand.see('alice', '/wallet/team-a/main/calls.csv');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/csv; charset=utf-8');
    assert.equal(headers['content-disposition'], 'attachment; filename="calls-team-a-main.csv"');
    assert.equal(headers['cache-control'], 'no-store');
    const expected = records
      .filter(({ account }) => account === 'team-a/main')
      .sort((a, b) => a.createdMs - b.createdMs);
    const csv = usageCsv({ margins: false });
    assert.equal(body, csv.head + expected.map(csv.row).join(''));
    assert.match(body, /,"'=HYPERLINK\(""http:\/\/x"",""y""\)",/);
    assert.match(body, /,"a\r\nb,c",/);
    const filtered = (await stand.see('alice', '/wallet/team-a/main/calls.csv?key=app')).body;
    assert.equal(filtered.trimEnd().split('\r\n').length, 2);
  });

  test("use the groups' display names, in both files", async () => {
    const named = walletStand(usageBook(records), [
      {
        apiVersion: 'modelgateway.dev/v1alpha1',
        kind: 'Group',
        metadata: { namespace: 'model-gateway', name: 'auto-a' },
        spec: {
          displayName: 'Auto-A',
          priceRatio: '1',
          allowedNamespaces: { from: 'All' },
          routes: [{ routeSelector: {} }],
        },
      },
    ]);
    for (const path of ['/wallet/team-a/main/calls.csv', '/usage/calls.csv?range=90d']) {
      const { body } = await named.see('alice', path);
      assert.match(body, /,Auto-A,/, path);
      assert.doesNotMatch(body, /,auto-a,/, path);
    }
    await named.app.close();
  });
});
