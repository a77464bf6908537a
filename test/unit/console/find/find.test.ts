/** What people paste leads to its page, and nobody finds what they may not see. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { ActivityEntry, RefusalCount } from '#activity/activity.ts';
import { keyManifest, TEST_NOW_MS } from '../../../support/console-access.ts';
import { refusedEntry } from '../../dataplane/activity/entries.ts';
import { activityOf, call, ROUTE_WITH_COST, usageBook, walletStand } from '../wallet/stand.ts';
import type { WalletStand } from '../wallet/stand.ts';

const SERVED = 'req_1f0e58dfb2cf4b01a6a4f8c8d1a4d4aa';
const REFUSED = 'req_2a0e58dfb2cf4b01a6a4f8c8d1a4d4bb';
const CATALOG = {
  apiVersion: 'modelgateway.dev/v1alpha1',
  kind: 'PriceCatalog',
  metadata: { namespace: 'model-gateway', name: 'anthropic' },
  spec: {
    models: [{ name: 'claude-sonnet-4-5', vendor: 'A', quotaType: 'Token', modelRatio: '1.5', completionRatio: '5' }],
  },
};

describe('the field that finds things', () => {
  const entries: ActivityEntry[] = [];
  const counts: RefusalCount[] = [];
  const records: UsageRecord[] = [];
  let stand: WalletStand;

  beforeAll(() => {
    const prefixed = keyManifest('team-a', 'bot', { accountRef: { name: 'main' } }) as { status?: object };
    prefixed.status = { keyPrefix: 'sk-Ab3dEf' };
    stand = walletStand(usageBook(records), [ROUTE_WITH_COST, CATALOG, prefixed], activityOf(entries, counts));
    const ci = stand.world.apiKey('team-a', 'ci').metadata.uid ?? '';
    records.push(call(SERVED, ci), call('req_other_call', ci));
    const of = { account: 'team-a/main', keyUid: ci, errorCode: 'insufficient_quota' };
    entries.push(refusedEntry(REFUSED, { ...of, atMs: TEST_NOW_MS - 1_000 }));
    counts.push({ ...of, day: Math.floor(TEST_NOW_MS / 86_400_000), calls: 1 });
  });
  afterAll(() => stand.app.close());
  const find = (token: string, text: string) => stand.see(token, `/find?q=${encodeURIComponent(text)}`);
  const whither = async (token: string, text: string) => (await find(token, text)).headers['location'];

  it('is on every page', async () => {
    for (const path of ['/keys', '/usage', '/models', '/wallet/team-a/main', '/find'])
      assert.match((await stand.raw('alice', path)).body, /<input id="find" type="search"/, path);
  });

  it('keeps a whole key that is pasted out of every address', async () => {
    const pasted = `sk-abcde${'x'.repeat(43)}`;
    const { location } = await stand.post('alice', '/find', { q: ` ${pasted} ` }, '/keys');
    assert.equal(location, '/find?q=sk-abcde');
    const found = await stand.post('alice', '/find', { q: SERVED }, '/keys');
    assert.equal(found.location, `/find?q=${SERVED}`);
  });

  it('opens a call by its whole id, served or refused', async () => {
    for (const token of ['alice', 'petra', 'ulla']) {
      assert.match(
        String(await whither(token, ` ${SERVED} `)),
        /^\/wallet\/team-a\/main\/calls\/req_1f0e.*at=\d+/,
        token,
      );
      assert.match(String(await whither(token, REFUSED)), /^\/wallet\/team-a\/main\/calls\/req_2a0e/, token);
      assert.equal((await stand.see(token, String(await whither(token, SERVED)))).status, 200, token);
      assert.equal((await stand.see(token, String(await whither(token, REFUSED)))).status, 200, token);
    }
  });

  it('finds nothing that a person may not see', async () => {
    for (const text of [SERVED, REFUSED, 'team-a/main', 'team-a', 'team-a/ci', 'sk-Ab3dEf']) {
      const { status, body } = await find('bob', text);
      assert.equal(status, 200, text);
      assert.match(body, /Nothing that you may see matches/, text);
    }
    assert.match((await find('alice', 'anthropic/direct')).body, /Nothing that you may see matches/);
  });

  it('opens keys by name and prefix, accounts, models, and channels for the platform', async () => {
    for (const [text, path] of [
      ['team-a/ci', '/keys/team-a/ci'],
      ['sk-Ab3dEf', '/keys/team-a/bot'],
      ['sk-Ab3dEfGhIjKlMn', '/keys/team-a/bot'],
      ['team-a/main', '/wallet/team-a/main'],
      ['CLAUDE-sonnet-4-5', '/models/claude-sonnet-4-5'],
      ['anthropic/direct', '/routes#route-anthropic'],
    ] as const)
      assert.equal(await whither('petra', text), path, text);
    assert.equal(await whither('petra', 'team-b'), '/keys?namespace=team-b');
  });

  it('reads the calls only for the id of one', async () => {
    const book = usageBook([]);
    const activity = activityOf([]);
    const other = walletStand(book, [CATALOG], activity);
    await other.see('petra', '/find?q=claude-sonnet-4-5');
    assert.deepEqual([book.asked, activity.asked], [[], []]);
    await other.see('petra', `/find?q=${SERVED}`);
    assert.equal(book.asked.length, 1);
    await other.app.close();
  });

  it('lists what holds the text where no name is exactly it', async () => {
    const { body, status } = await find('petra', 'a/');
    assert.equal(status, 200);
    for (const href of ['/keys/team-a/ci', '/keys/team-a/bot', '/wallet/team-a/main'])
      assert.ok(body.includes(`href="${href}"`), href);
    assert.doesNotMatch((await find('petra', '<img src=x>')).body, /<img/);
  });

  it('finds the rest while the ledger and the store of refused calls are down', async () => {
    const fails = () => Promise.reject(new LedgerUnavailable('down'));
    const down = walletStand({ ...usageBook([]), page: fails }, [CATALOG], {
      ...activityOf([]),
      refusals: () => Promise.reject(new Error('down')),
    });
    assert.match((await down.see('alice', `/find?q=${SERVED}`)).body, /Nothing that you may see/);
    assert.equal(
      (await down.see('alice', '/find?q=claude-sonnet-4-5')).headers['location'],
      '/models/claude-sonnet-4-5',
    );
    await down.app.close();
  });
});

describe('the navigation', () => {
  it('has the pages of the platform for the platform alone', async () => {
    const stand = walletStand(usageBook([]), [ROUTE_WITH_COST]);
    const items = async (token: string): Promise<string[]> => {
      const [nav = ''] = /<nav class="site-nav".*?<\/nav>/.exec((await stand.raw(token, '/keys')).body) ?? [];
      return [...nav.matchAll(/<a [^>]*>([^<]*)<\/a>/g)].map(([, label = '']) => label);
    };
    const own = ['Overview', 'API Keys', 'Wallet', 'Usage', 'Models', 'Playground'];
    assert.deepEqual(await items('alice'), own);
    assert.deepEqual(await items('petra'), [...own, 'Routes', 'Groups', 'Price catalogs']);
    await stand.app.close();
  });

  it('redirects the paths of earlier versions', async () => {
    const stand = walletStand(usageBook([]), [CATALOG]);
    for (const [from, to] of [
      ['/prices?group=vip&q=x', '/models?group=vip&q=x'],
      ['/prices/models/claude-sonnet-4-5', '/models/claude-sonnet-4-5'],
      ['/prices/change?catalog=anthropic', '/catalogs/change?catalog=anthropic'],
    ] as const)
      assert.equal((await stand.see('petra', from)).headers['location'], to);
    const { body } = await stand.see('petra', '/catalogs');
    assert.match(body, /href="\/catalogs\/change\?catalog=anthropic"/);
    assert.equal((await stand.see('petra', '/catalogs/anthropic/yaml')).status, 200);
    assert.match((await stand.see('alice', '/catalogs')).body, /are the platform team/);
    await stand.app.close();
  });
});
