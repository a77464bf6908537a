/** The list of keys: queries, results, order and pages; and the page without results. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { ApiKey } from '#crds/types.gen.ts';
import { parseQuery } from '../../../../console/request-schema.ts';
import { keysCsv } from '../../../../console/keys/list-csv.ts';
import { readinessOf } from '../../../../console/queries/key-facts.ts';
import { keyStatusOf } from '../../../../console/queries/key-status.ts';
import { KEY_COLUMNS, keysPath, parseKeysQuery, sortedBy } from '../../../../console/keys/query.ts';
import { KEYS_PER_PAGE as PAGE_SIZE, selectKeys } from '../../../../console/keys/query.ts';
import { condition, createConsoleFixture, keyManifest, TEST_NOW_MS } from '../../../support/console-access.ts';
import { ACCOUNT, ANNA, BLIND, BOTH, keysStand, NOBODY, PLATFORM, READER, TENANTS } from './stand.ts';

const queryOf = (text: string) => parseKeysQuery(parseQuery(text));
const apiKeys = (manifests: readonly unknown[]) =>
  [...createConsoleFixture(manifests).objects.values()].filter((object): object is ApiKey => object.kind === 'ApiKey');
const ROW = {
  groupNames: new Map([
    ['auto-a', 'Auto-A'],
    ['economy', 'Cheap and slow'],
  ]),
  statusOf: (apiKey: ApiKey) =>
    keyStatusOf(apiKey, {
      nowMs: TEST_NOW_MS,
      account: undefined,
      cheapestCallNanoUsd: () => undefined,
      shortage: undefined,
    }),
};
const names = (manifests: readonly ApiKey[], query: string) =>
  selectKeys(manifests, queryOf(query), ROW).rows.map(({ facts }) => facts.apiKey.metadata.name);
const TENANT_KEYS = apiKeys(TENANTS);
const rowsIn = (markup: string) => [...markup.matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key);

describe('the query of the list', () => {
  it('survives a round trip through an address', () => {
    for (const text of [
      '',
      'q=a+b&namespace=team-a&group=g&status=LimitReached&sort=-spent&page=3',
      'sort=-name',
      'q=%2F%26%3F',
    ]) {
      assert.deepEqual(queryOf(keysPath(queryOf(text)).split('?')[1] ?? ''), queryOf(text), text);
    }
    assert.equal(keysPath(queryOf('')), '/keys');
  });
  it('leaves out defaults', () => {
    for (const text of [
      'sort=nonsense',
      'sort=--name',
      'page=0',
      'page=-1',
      'page=1.5',
      'page=1e99',
      'page=x',
      'status=maybe',
      'sort=constructor',
      'status=',
      'ready=no',
    ])
      assert.deepEqual(queryOf(text), queryOf(''), text);
  });
  it("sorts by a heading's column, reverses on the second click, and returns to the first page", () => {
    const once = sortedBy(queryOf('page=4'), 'spent');
    assert.deepEqual([once.sort, once.page], [{ column: 'spent', descending: false }, 1]);
    assert.equal(sortedBy(once, 'spent').sort.descending, true);
    assert.equal(sortedBy(sortedBy(once, 'spent'), 'spent').sort.descending, false);
  });
});

describe('the result of a search', () => {
  it('matches every word in name, namespace, prefix or group, in any case', () => {
    for (const [query, found] of [
      ['q=CI', ['ci-bot']],
      ['q=sk-4tz', ['ci-bot']],
      ['q=team-b', ['secret-project']],
      ['q=economy', ['nightly-evals']],
      ['q=cheap+SLOW', ['nightly-evals']],
      ['q=team-a+bot', ['ci-bot']],
      ['q=ci+vip', []],
      ['q=team-a%2Fci', ['ci-bot']],
    ] as const)
      assert.deepEqual(names(TENANT_KEYS, query), found, query);
  });
  it('matches every filter', () => {
    for (const [query, found] of [
      ['namespace=team-b', ['secret-project']],
      ['group=retired', ['intern-2026']],
      ['status=Disabled', ['nightly-evals']],
      ['status=Active', ['chat-frontend', 'secret-project']],
      ['status=Low', ['ci-bot']],
      ['status=NotAccepted', ['intern-2026']],
      ['status=Pending', ['new-service']],
      ['namespace=team', []],
    ] as const)
      assert.deepEqual(names(TENANT_KEYS, query), found, query);
  });
  it('is sorted by each column in both directions, unknown values last', () => {
    const by = (sort: string) => names(TENANT_KEYS, `namespace=team-a&sort=${sort}`);
    assert.deepEqual(by('spent'), ['new-service', 'intern-2026', 'ci-bot', 'chat-frontend', 'nightly-evals']);
    assert.deepEqual(by('-spent'), ['nightly-evals', 'chat-frontend', 'ci-bot', 'intern-2026', 'new-service']);
    assert.deepEqual(by('remaining'), ['intern-2026', 'ci-bot', 'chat-frontend', 'new-service', 'nightly-evals']);
    assert.deepEqual(by('-used'), ['chat-frontend', 'ci-bot', 'nightly-evals', 'intern-2026', 'new-service']);
    assert.deepEqual(by('used'), ['nightly-evals', 'ci-bot', 'chat-frontend', 'intern-2026', 'new-service']);
    assert.equal(by('expires')[0], 'ci-bot');
    assert.equal(by('-expires')[0], 'ci-bot');
    assert.equal(by('enabled').at(-1), 'nightly-evals');
    assert.equal(by('group').at(-1), 'intern-2026');
    assert.deepEqual(by('status'), ['intern-2026', 'ci-bot', 'new-service', 'nightly-evals', 'chat-frontend']);
    assert.deepEqual(names(TENANT_KEYS, 'namespace=team-a'), by('status'), 'the worst first, if nobody says');
    for (const column of KEY_COLUMNS) assert.equal(by(column).length, 5, column);
  });
  it('sorts names naturally, and ties by name', () => {
    const keys = apiKeys(['b-10', 'b-9', 'a', 'b-1'].map((name) => keyManifest('team-a', name)));
    assert.deepEqual(names(keys, ''), ['a', 'b-1', 'b-9', 'b-10']);
    assert.deepEqual(names(keys, 'sort=-spent'), ['a', 'b-1', 'b-9', 'b-10']);
  });
});

describe('pages of the list', () => {
  const many = (count: number) =>
    apiKeys(Array.from({ length: count }, (_, index) => keyManifest('team-a', `key-${index}`)));

  it('contain a hundred keys, the last one the rest; a page beyond the last is the last', () => {
    for (const [count, page, rows, pages] of [
      [0, 1, 0, 1],
      [1, 1, 1, 1],
      [100, 1, 100, 1],
      [101, 2, 1, 2],
      [101, 99, 1, 2],
      [250, 2, 100, 3],
    ] as const) {
      const selection = selectKeys(many(count), queryOf(`page=${page}`), ROW);
      assert.deepEqual([selection.rows.length, selection.pages], [rows, pages], `${count} keys, page ${page}`);
    }
    assert.equal(PAGE_SIZE, 100);
  });
  it('contain every key exactly once', () => {
    const keys = many(250);
    const seen = [1, 2, 3].flatMap((page) => names(keys, `sort=-used&page=${page}`));
    assert.equal(new Set(seen).size, 250);
  });
  it('have links that keep the view', async () => {
    const { browser } = keysStand({
      world: createConsoleFixture(Array.from({ length: 350 }, (_, index) => keyManifest('team-a', `key-${index}`))),
    });
    const { markup } = await (await browser(ANNA)).get('/keys?group=auto-a&sort=-used&page=2');
    assert.equal(rowsIn(markup).length, 100);
    assert.match(markup, /101–200 of 350 · page 2 of 4/);
    for (const words of ['Previous', 'Next', 'Last'])
      assert.match(markup, new RegExp(`href="/keys\\?group=auto-a&amp;sort=-used[^"]*">${words}<`));
    assert.match((await (await browser(ANNA)).get('/keys?page=999')).markup, /page 4 of 4/);
  });
});

describe('readiness', () => {
  const readiness = (status: ApiKey['status'], generation = 1) =>
    readinessOf({
      ...TENANT_KEYS[0]!,
      metadata: {
        namespace: 'a',
        name: 'b',
        generation,
      },
      ...(status === undefined ? {} : { status }),
    });

  it('is unknown before the gateway has written the status, or for an older spec', () => {
    assert.equal(readiness({}).state, 'Unknown');
    assert.deepEqual(
      readiness({ conditions: [{ ...condition('Ready', 'True', 'Ready', ''), observedGeneration: 1 }] }, 2),
      {
        state: 'Unknown',
        reason: 'Reconciling',
        message: 'The latest change is on its way to the proxies.',
        underWay: true,
      },
    );
  });
  it('distinguishes progress from failure', () => {
    const pending = condition('Ready', 'False', 'SecretPending', 'soon');
    assert.equal(
      readiness({ conditions: [pending, condition('Reconciling', 'True', 'SecretPending', 'soon')] }).underWay,
      true,
    );
    assert.equal(readiness({ conditions: [pending] }).underWay, false);
  });
});

describe('the page of keys', () => {
  it("shows the person's own keys, with their amounts", async () => {
    const { browser } = keysStand();
    const { markup, status } = await (await browser(ANNA)).get('/keys');
    assert.equal(status, 200);
    assert.deepEqual(
      rowsIn(markup),
      ['intern-2026', 'ci-bot', 'new-service', 'nightly-evals', 'chat-frontend'].map((name) => `team-a/${name}`),
    );
    for (const words of [
      'sk-4Tz9q…',
      '$21.38',
      '$25.00',
      '$3.61',
      'Auto-A',
      '>Not accepted</span>',
      'Active (1)',
      'title="$21.384512"',
      'datetime="2026-11-21T11:52:10Z"',
      'The Group &quot;retired&quot; does not exist.',
      '5 keys',
    ])
      assert.ok(markup.includes(words), words);
    assert.doesNotMatch(markup, /team-b|secret-project/);
  });
  it('exports the same keys as a file, with the same status', async () => {
    const { browser } = keysStand();
    const { markup, status } = await (await browser(ANNA)).get('/keys.csv?status=NotAccepted');
    assert.equal(status, 200);
    assert.deepEqual(
      markup
        .trimEnd()
        .split('\r\n')
        .map((line) => line.split(',').slice(0, 4)),
      [
        ['namespace', 'name', 'key_prefix', 'status'],
        ['team-a', 'intern-2026', 'sk-0aPq7', 'Not accepted'],
      ],
    );
    assert.match(keysCsv([]), /^namespace,[a-z_,]+\r\n$/);
  });
  it('says what to do without keys, matches or rights', async () => {
    const empty = keysStand({ world: createConsoleFixture(PLATFORM) });
    assert.match((await (await empty.browser(ANNA)).get('/keys')).markup, /id="no-keys"[\s\S]*href="\/keys\/new"/);
    assert.match(
      (await (await empty.browser(READER)).get('/keys')).markup,
      /id="no-keys"[\s\S]*<code>create<\/code> <code>apikeys\.modelgateway\.dev/,
    );
    const { browser } = keysStand();
    assert.match((await (await browser(ANNA)).get('/keys?q=nothing')).markup, /id="no-match"/);
    const { markup } = await (await browser(NOBODY)).get('/keys');
    assert.match(markup, /id="not-allowed"/);
    assert.ok(markup.includes('--user=&#39;nora@example.com&#39;'));
    assert.doesNotMatch(markup, /data-key/);
  });
  it('offers only what the person may do', async () => {
    const { browser } = keysStand();
    const reader = await (await browser(READER)).get('/keys');
    assert.doesNotMatch(reader.markup, /\/rotate|\/delete|href="\/keys\/new"/);
    assert.equal(
      (reader.markup.match(/role="switch"/g) ?? []).length,
      (reader.markup.match(/ disabled><\/button>/g) ?? []).length,
    );
    const own = await (await browser(ANNA)).get('/keys');
    assert.match(own.markup, /href="\/keys\/team-a\/ci-bot\/rotate"/);
    assert.doesNotMatch(own.markup, / disabled>/);
  });
  it('sends its script the same rows, and nothing if they are unchanged', async () => {
    const { browser, world } = keysStand();
    const person = await browser(ANNA);
    const page = await person.get('/keys?sort=-spent');
    const version = /data-version="([^"]*)"/.exec(page.markup)?.[1] ?? '';
    assert.equal((await person.get(`/keys?sort=-spent&part=${version}`)).markup, '');
    world.edit('ApiKey', { namespace: 'team-a', name: 'ci-bot' }, (spec) => ({ ...spec, enabled: false }));
    const part = await person.get(`/keys?sort=-spent&part=${version}`);
    assert.doesNotMatch(part.markup, /<html|<body/);
    const row = (markup: string) => /<tr data-key="team-a\/ci-bot" .*<\/tr>/.exec(markup)?.[0] ?? '';
    const table = (markup: string) => /<table[\s\S]*<\/table>/.exec(markup)?.[0];
    assert.notEqual(row(part.markup), row(page.markup));
    assert.equal(table(part.markup), table((await person.get('/keys?sort=-spent')).markup));
  });
  it('escapes names and messages', async () => {
    const hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202E';
    const world = createConsoleFixture([
      keyManifest(
        'team-a',
        'x',
        {},
        {
          keyHash: 'a',
          keyPrefix: hostile,
          keyRotation: 1,
          spentUsd: hostile,
          lastUsedTime: hostile,
          conditions: [condition('Ready', 'False', hostile, hostile), condition('QuotaLow', 'True', hostile, hostile)],
        },
      ),
    ]);
    const { browser } = keysStand({ world });
    const person = await browser(ANNA);
    for (const path of [
      '/keys',
      `/keys?q=${encodeURIComponent(hostile)}&namespace=${encodeURIComponent(hostile)}&group=${encodeURIComponent(hostile)}`,
      '/keys/team-a/x',
      '/keys/team-a/x/rotate',
      '/keys/team-a/x/delete',
      `/keys?deleted=${encodeURIComponent(hostile)}`,
    ]) {
      const { markup, status } = await person.get(path);
      assert.equal(status, 200, path);
      assert.doesNotMatch(markup, /<script>|<img|\u202E/, path);
    }
  });
  it('escapes the names of models and of groups', async () => {
    const hostile = `<img src=x onerror="alert(1)">'`;
    const platform = (kind: string, name: string, spec: object): unknown => ({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind,
      metadata: { namespace: 'model-gateway', name },
      spec,
    });
    const world = createConsoleFixture([
      platform('ModelRoute', 'r', {
        models: [
          {
            name: hostile,
            contextTokens: 1000,
            maxOutputTokens: 1000,
          },
        ],
        channels: [{ name: 'c', protocol: 'OpenAI', baseUrl: 'https://p.example/v1' }],
      }),
      platform('PriceCatalog', 'p', { models: [{ name: hostile, vendor: 'v', quotaType: 'Token', modelRatio: '1' }] }),
      platform('Group', 'auto-a', {
        displayName: hostile,
        allowedNamespaces: { from: 'All' },
        routes: [{ routeSelector: {} }],
      }),
      keyManifest('team-a', 'x', { models: [hostile, '</textarea><script>'] }),
      ACCOUNT,
    ]);
    const stand = keysStand({ world });
    const [anna, bob] = [await stand.browser(ANNA), await stand.browser(BLIND)];
    stand.world.mint('team-a', 'x');
    for (const [person, path] of [
      [anna, '/keys/team-a/x/settings'],
      [bob, '/keys/team-a/x/settings'],
      [anna, '/keys/team-a/x/use'],
      [anna, '/keys/new'],
      [anna, `/keys/team-a/x/created?rotation=1&since=${stand.clock.nowMs}`],
    ] as const) {
      const { markup, status } = await person.get(path);
      assert.equal(status, 200, path);
      assert.ok(markup.includes('&lt;img src=x'), path);
      assert.doesNotMatch(markup, /<img|<script>/, path);
    }
    await anna.get('/keys/team-a/x/settings');
    assert.equal((await anna.submit('key-form', { maxConcurrency: '5' })).status, 303);
    assert.deepEqual(
      stand.world.apiKey('team-a', 'x').spec.models,
      [hostile, '</textarea><script>'],
      'and they come back as they were',
    );
  });
  it('shows both namespaces to people who can see both', async () => {
    const { browser } = keysStand();
    assert.equal(rowsIn((await (await browser(BOTH)).get('/keys')).markup).length, 6);
    assert.equal(rowsIn((await (await browser(BLIND)).get('/keys')).markup).length, 5);
  });
});
