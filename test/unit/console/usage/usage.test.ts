/** Usage: amounts equal the ledger's to the nano-dollar, links open the calls, and everybody sees only their own. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { ActivityEntry, RefusalCount } from '#activity/activity.ts';
import { formatCompact, formatMark, roundUp, scaleEnd } from '../../../../console/components/scale.ts';
import type { SeriesSum } from '../../../../console/data/usage.ts';
import { parseQuery } from '../../../../console/request-schema.ts';
import { monthSummary } from '../../../../console/queries/forecast.ts';
import { outputLabelOf } from '../../../../console/queries/output-label.ts';
import { columnsOf, parseUsageQuery } from '../../../../console/queries/usage-query.ts';
import { measured, rank } from '../../../../console/queries/ranked.ts';
import { buildResources } from '../../../../contract/objects/resources.ts';
import { TEST_NOW_MS } from '../../../support/console-access.ts';
import { refusedEntry } from '../../dataplane/activity/entries.ts';
import { activityOf, call, manyCalls, ROUTE_WITH_COST, usageBook, walletStand } from '../wallet/stand.ts';
import type { WalletStand } from '../wallet/stand.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 21, 6);
const GONE = '9f31c2d4-0000-4000-8000-000000000001';

function textOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
}

const query = (text: string) => parseUsageQuery(parseQuery(text), NOW);
const sum = (startMs: number, name: string, costNanoUsd: bigint, calls = 1): SeriesSum => ({
  startMs,
  name,
  costNanoUsd,
  calls,
  inputTokens: 10,
  outputTokens: 1,
});

describe('the address of Usage', () => {
  it('names a range, by default thirty days, today included', () => {
    assert.deepEqual(columnsOf(query('')).length, 30);
    assert.equal(query('').untilMs, Date.UTC(2026, 10, 22));
    assert.equal(query('range=month').sinceMs, Date.UTC(2026, 10, 1));
    const { sinceMs, untilMs } = query('range=last-month');
    assert.deepEqual([sinceMs, untilMs], [Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1)]);
    assert.equal(query('range=toString').range, '30d');
  });

  it('or days and hours of its own, which take precedence', () => {
    const days = query('range=7d&since=2026-11-01&until=2026-11-03');
    assert.deepEqual([days.sinceMs, days.untilMs], [Date.UTC(2026, 10, 1), Date.UTC(2026, 10, 4)]);
    const hour = query('since=2026-11-01T13&until=2026-11-01T13');
    assert.deepEqual(
      [hour.sinceMs, hour.untilMs, hour.unit],
      [Date.UTC(2026, 10, 1, 13), Date.UTC(2026, 10, 1, 14), 'hour'],
    );
  });

  it('limits hours to a week and days to 400 columns', () => {
    assert.equal(query('range=90d&unit=hour').unit, 'day');
    assert.equal(query('range=today').unit, 'hour');
    fc.assert(
      fc.property(fc.webQueryParameters(), fc.string(), fc.string(), (text, since, until) => {
        const own = new URLSearchParams({ since, until }).toString();
        const parsed = parseUsageQuery(parseQuery(`${text}&${own}`), NOW);
        const columns = columnsOf(parsed);
        assert.ok(columns.length <= 400 && parsed.sinceMs <= parsed.untilMs);
      }),
    );
    for (const odd of ['2026-02-30', '0000-00-00', '2026-11-21T25', 'x', '9999-12-31', '1960-01-01'])
      assert.ok(columnsOf(query(`since=${odd}`)).length <= 400, odd);
  });
});

describe('the parts of a chart', () => {
  it('are the five largest and the rest, and add up', () => {
    const sums = Array.from({ length: 12 }, (_, at) => [
      sum(0, `m${at}`, BigInt(at)),
      sum(DAY_MS, `m${at}`, 1_000_000_007n),
    ]).flat();
    for (const measure of ['cost', 'calls', 'tokens'] as const) {
      const { all, top, others, rest } = rank(sums, measure);
      assert.deepEqual([top.length, others.length], [5, 7]);
      const parts = top.reduce((total, name) => total + measured(name.sum, measure), 0n);
      assert.equal(parts + measured(rest?.sum ?? assert.fail(), measure), measured(all, measure));
    }
    assert.deepEqual(
      rank(sums, 'cost').top.map(({ name }) => name),
      ['m11', 'm10', 'm9', 'm8', 'm7'],
    );
    // the remaining one has a colour of its own
    assert.equal(rank(sums.slice(0, 12), 'cost').rest, undefined);
  });

  it('use a scale with round ends and halves', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), (value) => {
        for (const measure of ['cost', 'calls', 'tokens'] as const) {
          const end = scaleEnd(value, measure);
          assert.ok(end >= value && end > 0n && end % 2n === 0n);
        }
        assert.ok(roundUp(value, 10n) <= (value < 10n ? 10n : value * 2n));
      }),
    );
    assert.deepEqual(
      [1n, 5n, 11n, 13n, 1_201n].map((value) => scaleEnd(value, 'calls')),
      [2n, 6n, 12n, 16n, 1_600n],
    );
    assert.equal(formatMark(80_000_000n, 160_000_000n, 'cost'), '$0.08');
  });

  it('show counts with three digits', () => {
    for (const [count, text] of [
      [0n, '0'],
      [999n, '999'],
      [1_000n, '1K'],
      [1_234n, '1.23K'],
      [12_345n, '12.3K'],
      [123_456n, '123K'],
      [999_999n, '1,000K'],
      [1_005_000n, '1.01M'],
      [2_000_000_000n, '2B'],
    ] as const)
      assert.equal(formatCompact(count), text);
  });
});

describe('the forecast of the month', () => {
  it('continues at the rate of the last seven whole days', () => {
    const days = [
      sum(Date.UTC(2026, 9, 31), 'a', 5n),
      sum(Date.UTC(2026, 10, 1), 'a', 100n), // before the seven days
      ...Array.from({ length: 7 }, (_, at) => sum(Date.UTC(2026, 10, 14 + at), 'a', 24n)),
      sum(Date.UTC(2026, 10, 21), 'a', 7n), // today is not over
    ];
    const { today, month, lastMonth, forecastNanoUsd, monthName } = monthSummary(days, NOW);
    assert.deepEqual([today.costNanoUsd, month.costNanoUsd, lastMonth.costNanoUsd], [7n, 275n, 5n]);
    // nine and three quarter days remain
    assert.equal(forecastNanoUsd, 275n + (24n * 39n) / 4n);
    assert.equal(monthName, 'November');
    assert.equal(monthSummary([sum(Date.UTC(2026, 10, 1), 'a', 100n)], NOW).forecastNanoUsd, undefined);
  });
});

describe('the output of a call', () => {
  const object = (kind: string, name: string, spec: object): never =>
    ({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind,
      metadata: {
        namespace: 'model-gateway',
        name,
        generation: 3,
      },
      spec,
    }) as never;
  const resources = buildResources({
    secrets: [],
    namespaces: new Map(),
    objects: [
      object('ModelRoute', 'r', {
        channels: [],
        models: [
          { name: 'flux', endpoints: ['Images'] },
          { name: 'sora', endpoints: ['Videos'] },
          { name: 'gpt', endpoints: ['Chat'] },
        ],
      }),
      object('PriceCatalog', 'p', {
        models: [
          { name: 'flux', vendor: 'B', quotaType: 'Request', requestUsd: '0.04' },
          { name: 'sora', vendor: 'O', quotaType: 'Request', requestUsd: '0.5' },
        ],
      }),
      object('Group', 'vip', { priceRatio: '1.5' }),
    ],
  });
  const made = outputLabelOf({ resources: () => resources, gatewayNamespace: 'model-gateway' });
  const none = { input: 0, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0 };
  const of = (more: Partial<UsageRecord>) =>
    made(call('req', 'key', { tokens: none, catalog: 'model-gateway/p@3', group: 'vip', ...more }));

  it('is counted if its price determines it', () => {
    assert.equal(of({ model: 'sora', costNanoUsd: 750_000_000n }), '1 video');
    assert.equal(of({ model: 'flux', costNanoUsd: 120_000_000n }), '2 images');
    assert.equal(of({ model: 'flux', costNanoUsd: 70_000_000n }), 'images');
    assert.equal(of({ model: 'flux', costNanoUsd: 120_000_000n, catalog: 'model-gateway/p@2' }), 'images');
  });

  it('is what audio is billed by', () => {
    const line = { rateUsd: '0.006' };
    assert.equal(of({ model: 'w', lines: [{ ...line, dimension: 'audioSecond', quantity: 9 }] }), '9 seconds');
    assert.equal(of({ model: 't', lines: [{ ...line, dimension: 'character', quantity: 1 }] }), '1 character');
  });

  it('is nothing for a failed call, and tokens if there are some', () => {
    assert.equal(of({ model: 'flux', costNanoUsd: 0n, status: 'Failed' }), undefined);
    assert.equal(of({ model: 'gpt' }), undefined);
    assert.equal(of({ model: 'flux', tokens: { ...none, input: 5 } }), undefined);
  });
});

describe('the page', () => {
  const records: UsageRecord[] = [];
  let stand: WalletStand;
  let ci = '';

  beforeAll(() => {
    stand = walletStand(usageBook(records));
    ci = stand.world.apiKey('team-a', 'ci').metadata.uid ?? '';
    const app = stand.world.apiKey('team-a', 'app').metadata.uid ?? '';
    const theirs = stand.world.apiKey('team-b', 'theirs').metadata.uid ?? '';
    records.push(
      ...manyCalls(300, [ci, app]),
      call('req_gone', GONE, { group: 'vip', keyName: 'gone-ci' }),
      ...manyCalls(50, [theirs], 'team-b/main').map((record) => ({ ...record, callId: `b_${record.callId}` })),
    );
  });
  afterAll(() => stand.app.close());

  /** The sum of the chart's parts, in nano-USD, from their titles. */
  function charted(markup: string): bigint {
    return [...markup.matchAll(/<title>[^<]*: \$([\d,]+)\.(\d+), [\d,]+ calls?<\/title>/g)].reduce(
      (total, [, whole = '', fraction = '']) =>
        total + BigInt(whole.replaceAll(',', '')) * 1_000_000_000n + BigInt(fraction.padEnd(9, '0')),
      0n,
    );
  }

  it('equals the ledger to the nano-dollar, however it is split', async () => {
    const since = Math.floor(TEST_NOW_MS / DAY_MS) * DAY_MS - 29 * DAY_MS;
    const ledger = records
      .filter(({ account, createdMs }) => account === 'team-a/main' && createdMs >= since)
      .reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n);
    for (const by of ['model', 'key', 'group', 'account'])
      assert.equal(charted((await stand.see('alice', `/usage?by=${by}`)).body), ledger, by);
  });

  it('opens the calls behind each part', async () => {
    const { body } = await stand.see('alice', '/usage?by=key&show=calls&range=7d&unit=hour');
    const parts = [...body.matchAll(/<a href="([^"]*)" tabindex="-1"><title>[^<]*: ([\d,]+) calls?<\/title>/g)];
    assert.ok(parts.length > 5);
    for (const [, href = '', calls] of parts) {
      const { body: list } = await stand.see('alice', href.replaceAll('&amp;', '&'));
      assert.match(textOf(list), new RegExp(` ${calls} calls? · `), href);
      assert.equal(list.match(/<tr><th scope="row" class="main">/g)?.length, Number(calls));
    }
  });

  it('names a deleted key as its records do', async () => {
    const { body } = await stand.see('alice', '/usage?since=2026-08-01&by=key');
    assert.match(body, /<bdi>team-a\/gone-ci<\/bdi>/);
    assert.doesNotMatch((await stand.see('bob', '/usage?since=2026-08-01&by=key')).body, /gone-ci/);
  });

  it('adds up only what the person can see', async () => {
    const calls = async (token: string, more = ''): Promise<string> =>
      /([\d,]+) calls? · \$/.exec(textOf((await stand.see(token, `/usage?since=2026-08-01${more}`)).body))?.[1] ??
      'none';
    const [ofA, ofB] = ['team-a/main', 'team-b/main'].map((account) =>
      String(records.filter((record) => record.account === account).length),
    );
    assert.equal(await calls('alice'), ofA);
    assert.equal(await calls('bob'), ofB);
    assert.equal(await calls('paul'), String(records.length));
    assert.equal(await calls('paul', '&account=team-b/main'), ofB);
    assert.equal(await calls('alice', '&account=team-b/main'), '0');
    assert.equal(await calls('alice', '&key=team-b/theirs'), '0');
    const ofCi = String(records.filter(({ keyUid }) => keyUid === ci).length);
    assert.equal(await calls('alice', '&key=ci'), ofCi);
    assert.equal(await calls('alice', '&key=team-a/ci'), ofCi);
    assert.equal(await calls('alice', `&uid=${GONE}`), '1');
    assert.equal(await calls('alice', '&group=vip'), '1');
    // ulla sees keys but no account: their calls, but not those of a deleted key
    assert.equal(await calls('ulla'), String(records.filter(({ account }) => account === 'team-a/main').length - 1));
    assert.equal(await calls('ulla', `&uid=${GONE}`), '0');
    assert.equal(await calls('nobody'), 'none');
    const csv = (await stand.see('ulla', '/usage/calls.csv?since=2026-08-01')).body;
    assert.ok(!csv.includes('req_gone') && !csv.includes('b_req'));
    assert.equal(
      (await stand.see('paul', '/usage/calls.csv?since=2026-08-01')).body.trim().split('\n').length,
      records.length + 1,
    );
  });

  it('links from a call to its page, also for people who see only its key', async () => {
    const { body } = await stand.see('ulla', '/usage/calls?key=ci&since=2026-08-01');
    const [, href = ''] = /class="main"><a href="([^"]*)"/.exec(body) ?? [];
    assert.equal((await stand.see('ulla', href.replaceAll('&amp;', '&'))).status, 200);
  });

  it('reports a ledger that cannot be read', async () => {
    const failing = () => Promise.reject(new LedgerUnavailable('down'));
    const down = walletStand({ ...usageBook([]), series: failing });
    assert.match((await down.see('alice', '/usage')).body, /does not answer/);
    const none = walletStand(undefined);
    assert.match((await none.see('alice', '/usage')).body, /has not been told/);
    assert.match((await none.see('alice', '/usage/calls')).body, /has not been told/);
    await Promise.all([down.app.close(), none.app.close()]);
  });
});

describe('refused calls of all accounts', () => {
  const today = Math.floor(TEST_NOW_MS / DAY_MS);
  const entries: ActivityEntry[] = [];
  const counts: RefusalCount[] = [];
  const route = {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'ModelRoute',
    metadata: { namespace: 'model-gateway', name: 'anthropic' },
    spec: {
      models: [{ name: 'claude-sonnet-4-5', contextTokens: 200_000, maxOutputTokens: 64_000 }],
      channels: [{ name: 'direct', protocol: 'Anthropic', baseUrl: 'https://a.example' }],
    },
  };
  let stand: WalletStand;
  let ci = '';

  beforeAll(() => {
    const records: UsageRecord[] = [];
    stand = walletStand(usageBook(records), [route], activityOf(entries, counts));
    ci = stand.world.apiKey('team-a', 'ci').metadata.uid ?? '';
    const theirs = stand.world.apiKey('team-b', 'theirs').metadata.uid ?? '';
    records.push(call('req_served', ci), call('req_elsewhere', ci, { channel: 'anthropic/spare' }));
    const of = (account: string, keyUid: string, errorCode: string) => ({ account, keyUid, errorCode });
    entries.push(
      refusedEntry('req_limit', { ...of('team-a/main', ci, 'insufficient_quota'), atMs: TEST_NOW_MS - 1_000 }),
      refusedEntry('req_rate', {
        ...of('team-b/main', theirs, 'rate_limit_exceeded'),
        atMs: TEST_NOW_MS - 2_000,
        model: 'gpt-5-mini',
      }),
    );
    counts.push(
      { ...of('team-a/main', ci, 'insufficient_quota'), day: today, calls: 638 },
      { ...of('team-b/main', theirs, 'rate_limit_exceeded'), day: today - 1, calls: 46 },
      { ...of('team-b/main', theirs, 'insufficient_quota'), day: today - 20, calls: 5 },
    );
  });
  afterAll(() => stand.app.close());
  const see = async (token: string, query = '') => textOf((await stand.see(token, `/usage/refused${query}`)).body);

  it('are counted by account and reason, and add up', async () => {
    const text = await see('paul');
    assert.match(text, /689 refused calls · 2026/);
    assert.match(
      text,
      /Account Spending limit reached Too many at once All team-a\/main 638 0 638 team-b\/main 5 46 51 All 643 46 689/,
    );
    assert.match(text, /req_limit ci team-a\/main .*req_rate theirs team-b\/main gpt-5-mini/);
  });

  it('are narrowed by reason, model, account and time', async () => {
    assert.match(await see('paul', '?reason=Too+many+at+once'), /46 refused calls · .*req_rate/);
    assert.doesNotMatch(await see('paul', '?reason=Too+many+at+once'), /req_limit/);
    assert.doesNotMatch(await see('paul', '?model=gpt-5-mini'), /req_limit|689/);
    assert.match(await see('paul', '?account=team-b%2Fmain&range=7d'), /46 refused calls · .*req_rate/);
    assert.match(await see('paul', '?range=today'), /638 refused calls/);
  });

  it('are listed by reason and model even if many later ones are of others', async () => {
    const of = { account: 'team-a/main', keyUid: ci };
    const many = Array.from({ length: 300 }, (_, at) =>
      refusedEntry(`req_later_${at}`, { ...of, atMs: TEST_NOW_MS - at }),
    );
    const old = refusedEntry('req_older', {
      ...of,
      errorCode: 'rate_limit_exceeded',
      model: 'gpt-5-mini',
      atMs: TEST_NOW_MS - 5_000,
    });
    const count = { ...of, day: today, errorCode: 'rate_limit_exceeded', calls: 1 };
    const other = walletStand(usageBook([]), [route], activityOf([...many, old], [count]));
    for (const query of ['reason=Too+many+at+once', 'model=gpt-5-mini'])
      assert.match((await other.see('alice', `/usage/refused?${query}`)).body, /req_older/, query);
    assert.doesNotMatch((await other.see('alice', '/usage/refused')).body, /req_older/);
    await other.app.close();
  });

  it('say that group and channel do not narrow them', async () => {
    const words = /has neither group nor channel/;
    for (const query of ['?group=vip', '?channel=anthropic%2Fdirect']) assert.match(await see('alice', query), words);
    assert.doesNotMatch(await see('alice'), words);
  });

  it("are only those of a person's own accounts and keys", async () => {
    for (const [token, text] of [
      ['alice', await see('alice')],
      ['ulla', await see('ulla')],
    ] as const) {
      assert.match(text, /638 refused calls/, token);
      assert.doesNotMatch(text, /team-b|req_rate/, token);
    }
    assert.match(await see('alice', '?account=team-b%2Fmain'), /0 refused calls/);
    assert.match(await see('nobody'), /0 refused calls/);
  });

  it('are the status "Refused" of the lists of calls, with the same filter', async () => {
    for (const [path, location] of [
      ['/usage/calls?status=Refused&model=gpt-5-mini&range=7d', '/usage/refused?model=gpt-5-mini&range=7d'],
      ['/wallet/team-a/main/calls?status=Refused&key=ci', '/wallet/team-a/main/refused?key=ci'],
    ] as const)
      assert.equal((await stand.see('alice', path)).headers['location'], location);
  });

  it('say so where their store is missing or down', async () => {
    const down = { ...activityOf([]), refusals: () => Promise.reject(new Error('down')) };
    for (const [activity, words] of [
      [down, /cannot be shown at the moment/],
      [undefined, /has not been told where refused calls/],
    ] as const) {
      const other = walletStand(usageBook([]), [], activity);
      assert.match((await other.see('alice', '/usage/refused')).body, words);
      await other.app.close();
    }
  });

  it('lead from a call to its key, account, model and channel, and back to the list with its filter', async () => {
    const { body: list } = await stand.see('petra', '/usage/calls?model=claude-sonnet-4-5&since=2026-08-01');
    assert.match(list, /href="\/keys\/team-a\/ci"/);
    assert.match(list, /href="\/models\/claude-sonnet-4-5"/);
    const [, href = ''] = /class="main"><a href="([^"]*req_served[^"]*)"/.exec(list) ?? [];
    const { body } = await stand.see('petra', href.replaceAll('&amp;', '&'));
    for (const link of ['/keys/team-a/ci', '/wallet/team-a/main', '/routes#route-anthropic'])
      assert.ok(body.includes(`href="${link}"`), link);
    assert.match(body, /<a href="\/usage\/calls\?model=claude-sonnet-4-5&amp;since=2026-08-01"><bdi>Calls<\/bdi>/);
    // people who may not see routes get no link to one
    assert.doesNotMatch((await stand.see('alice', href.replaceAll('&amp;', '&'))).body, /routes#/);
  });

  it('lead nowhere else, whatever an address says', async () => {
    const at = `at=${TEST_NOW_MS - 3_600_000}&uid=${ci}`;
    for (const from of [
      '//evil.example',
      'https://evil.example/usage/calls',
      '/usage/callsX',
      '/\\evil',
      'javascript:x',
    ]) {
      const path = `/wallet/team-a/main/calls/req_served?${at}&from=${encodeURIComponent(from)}`;
      assert.ok(!(await stand.see('alice', path)).body.includes(from), from);
    }
  });

  it('have calls by channel, which routes lead to', async () => {
    assert.match((await stand.see('petra', '/routes')).body, /href="\/usage\/calls\?channel=anthropic%2Fdirect"/);
    const { body } = await stand.see('petra', '/usage/calls?channel=anthropic%2Fdirect');
    assert.match(body, /req_served/);
    assert.doesNotMatch(body, /req_elsewhere/);
    assert.match(body, /name="channel" value="anthropic\/direct"/);
  });
});

describe('margins', () => {
  const withoutCost = {
    ...ROUTE_WITH_COST,
    spec: {
      ...ROUTE_WITH_COST.spec,
      channels: ROUTE_WITH_COST.spec.channels.map((channel) => ({ ...channel, cost: undefined })),
    },
  };
  const records = [call('req_known', 'uid-ci', { upstreamCostNanoUsd: 25_500_000n }), call('req_unknown', 'uid-ci')];
  const at = `at=${TEST_NOW_MS - 3_600_000}`;
  const PAGES = [
    '/usage/calls?since=2026-08-01',
    '/usage/calls.csv?since=2026-08-01',
    '/wallet/team-a/main/calls',
    '/wallet/team-a/main/calls.csv',
    `/wallet/team-a/main/calls/req_known?${at}`,
    '/usage/margins?since=2026-08-01',
  ];

  it('are shown to the platform team only, on every page and in every download', async () => {
    const stand = walletStand(usageBook(records), [ROUTE_WITH_COST]);
    for (const path of PAGES) {
      const seen = await stand.see('petra', path);
      assert.equal(seen.status, 200, path);
      assert.match(seen.body, /0\.0255/, path);
      assert.match(seen.body, /(?:>−\$|,-)0\.0045/, path);
      for (const who of ['alice', 'rita', 'paul']) {
        const { body } = await stand.see(who, path);
        assert.doesNotMatch(body, /0\.0255|0\.0045|upstream_cost|margin_usd|>Margin</, `${who} ${path}`);
      }
    }
    assert.match((await stand.see('petra', '/usage')).body, /href="\/usage\/margins/);
    assert.doesNotMatch((await stand.see('alice', '/usage')).body, /margins/);
    assert.equal((await stand.see('alice', '/usage/margins')).status, 404);
    await stand.app.close();
  });

  it('show what is unknown, and are absent if no channel states its cost', async () => {
    const stand = walletStand(usageBook(records), [ROUTE_WITH_COST]);
    assert.match(textOf((await stand.see('petra', '/usage/margins')).body), /\$0\.0210 1 call \$0\.0255 −\$0\.0045/);
    assert.match(textOf((await stand.see('petra', '/usage/calls?since=2026-08-01')).body), /unknown unknown/);
    const without = walletStand(usageBook(records), [withoutCost]);
    for (const path of PAGES.slice(0, -1))
      assert.doesNotMatch((await without.see('petra', path)).body, /0\.0255|upstream_cost|>Margin</, path);
    assert.equal((await without.see('petra', '/usage/margins')).status, 404);
    await Promise.all([stand.app.close(), without.app.close()]);
  });
});
