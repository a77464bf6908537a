/**
 * The console of a cluster for people with different rights: a real API server, `mgw operator --console`, a proxy, the
 * fleet's ledger, and one Chromium for all of them.
 */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { openValkeyLedger } from '../../../dataplane/ledger/valkey.ts';
import { LONG_TIMEOUT } from '../../unit/dataplane/ledger/valkey/subject.ts';
import { DOES_ALL, EDITS_KEYS, makePerson, SEES_KEYS } from '../cluster/people.ts';
import { isReady, startCluster, until } from '../cluster/support.ts';
import type { Cluster, Live } from '../cluster/support.ts';
import { startMgw, tempFolder } from '../../support/cli.ts';
import type { RunningCli } from '../../support/cli.ts';
import { kubeApiserverMissing } from '../../support/kube-apiserver.ts';
import { freePort } from '../../support/free-port.ts';
import { need } from '../../support/needs.ts';
import { startValkey, valkey } from '../../support/valkey.ts';
import type { ValkeyServer } from '../../support/valkey.ts';
import { fillLedger, KEYS, platformManifests, teamManifests } from './console-scene.ts';
import { openStage } from './console-stage.ts';
import type { Stage, Visitor } from './console-stage.ts';
import {
  downloadCsv,
  eventually,
  remove,
  rotate,
  rowOf,
  shownKey,
  showToken,
  untilRefused,
  untilTaken,
} from './console-stories.ts';

const chromium = await need('chromium');
const missing = (await kubeApiserverMissing()) ?? (chromium.skip || valkey.skip || false);
const TEAMS = ['research', 'support'];

describe.skipIf(missing)('the console of a cluster in a browser', () => {
  let folder: Awaited<ReturnType<typeof tempFolder>>;
  let cluster: Cluster;
  let store: ValkeyServer;
  let stage: Stage;
  let url = '';
  let sdkUrl = '';
  const programs: RunningCli[] = [];
  const tokens = new Map<string, string>();

  function run(args: readonly string[]): RunningCli {
    const program = startMgw(args);
    programs.push(program);
    return program;
  }

  /** All processes of a cluster, on free ports, with a month of calls in the ledger. */
  async function startFleet(): Promise<void> {
    const [, demoUrl = ''] = await run(['demo-provider', '--listen', '127.0.0.1:0']).until(
      /the demo provider is listening on (\S+)/,
    );
    await cluster.apply(platformManifests(demoUrl));
    for (const team of TEAMS) await cluster.apply(teamManifests(team));
    const uids = new Map(
      (await cluster.list('ApiKey')).map(({ metadata: { namespace, name, uid } }: Live) => [
        `${namespace}/${name}`,
        String(uid),
      ]),
    );
    const ledger = await openValkeyLedger({ url: store.url, dataDir: undefined, over: LONG_TIMEOUT });
    // by the store's clock all of it is spent today: only the calls' times are of the last month
    await fillLedger(ledger, {
      clock: { nowMs: 0 },
      uidOf: (namespace, name) => uids.get(`${namespace}/${name}`) ?? '',
      nowMs: Date.now(),
    });
    const [xds, operatorAdmin, web, sdk, proxyAdmin] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    [url, sdkUrl] = [`http://localhost:${web}`, `http://127.0.0.1:${sdk}`];
    run([
      'operator',
      '--kubeconfig',
      cluster.kubeconfig,
      '--insecure-xds',
      '--xds-listen',
      `127.0.0.1:${xds}`,
      '--admin',
      `127.0.0.1:${operatorAdmin}`,
      '--ledger',
      store.url,
      '--console',
      `127.0.0.1:${web}`,
      '--console-gateway-url',
      sdkUrl,
    ]);
    run([
      'dataplane',
      '--insecure-xds',
      '--xds',
      `127.0.0.1:${xds}`,
      '--listen',
      `127.0.0.1:${sdk}`,
      '--admin',
      `127.0.0.1:${proxyAdmin}`,
      '--data',
      folder.path,
      '--ledger',
      store.url,
    ]);
    const working = KEYS.filter(({ more = '' }) => !/enabled: false|expirationTime/.test(more));
    await until(
      'the keys are ready',
      () => cluster.list('ApiKey'),
      (all) => all.filter(isReady).length >= working.length,
    );
    await until(
      'statuses tell of spending',
      () => cluster.list('ApiKey'),
      (all) => all.every(({ status }: Live) => status?.spentUsd !== undefined),
    );
    await until(
      'the console',
      () =>
        fetch(`${url}/sign-in`).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
  }

  beforeAll(async () => {
    folder = await tempFolder();
    [cluster, store] = await Promise.all([startCluster(TEAMS), startValkey()]);
    await startFleet();
    for (const [name, roles] of Object.entries({
      anna: { research: EDITS_KEYS },
      ben: { support: EDITS_KEYS },
      rita: { research: SEES_KEYS },
      nina: {},
      paul: { '': DOES_ALL },
    }))
      tokens.set(name, await makePerson(cluster, name, roles));
    stage = await openStage(chromium.path);
  });
  afterAll(async () => {
    try {
      await stage?.close();
    } finally {
      for (const program of programs.toReversed()) await program[Symbol.asyncDispose]();
      await store?.[Symbol.asyncDispose]();
      await cluster?.stop();
      await folder[Symbol.asyncDispose]();
    }
  });

  /** A person at the page, signed in with their own token. */
  async function enter(name: string, path = '/keys'): Promise<Visitor> {
    const visitor = await stage.visitor();
    await visitor.page.goto(url + path);
    await showToken(visitor, 'Token', tokens.get(name) ?? '');
    await visitor.page.waitForURL(url + path);
    return visitor;
  }

  async function keysSeen({ page }: Visitor): Promise<readonly string[]> {
    await page.goto(`${url}/keys`);
    return (
      await page
        .locator('#keys-table tbody tr')
        .evaluateAll<string[], { dataset: { key: string } }>((rows) => rows.map(({ dataset }) => dataset.key))
    ).sort();
  }

  const namesOf = (team: string): string[] =>
    KEYS.filter(({ namespace }) => namespace === team)
      .map(({ namespace, name }) => `${namespace}/${name}`)
      .sort();
  const addressesOf = (team: string, name: string): string[] => [
    ...['', '/activity', '/settings', '/use', '/rotate', '/delete'].map((page) => `/keys/${team}/${name}${page}`),
    `/wallet/${team}/main`,
    `/wallet/${team}/main/calls`,
    `/keys/new?namespace=${team}`,
  ];

  test('refuses a token that the cluster does not know', async () => {
    const visitor = await stage.visitor();
    await visitor.page.goto(`${url}/keys`);
    await visitor.inspect('cluster-sign-in');
    visitor.expectStatus(422);
    await showToken(visitor, 'Token', 'nobody');
    await visitor.page.getByText('The cluster does not know this token').waitFor();
    await visitor.context.close();
  });

  test("shows each of two tenants their own objects, and none of the other's at any address", async () => {
    for (const [name, own, other, theirs] of [
      ['anna', 'research', 'support', 'chat-widget'],
      ['ben', 'support', 'research', 'ci-bot'],
    ] as const) {
      const visitor = await enter(name);
      assert.deepEqual(await keysSeen(visitor), namesOf(own));
      await visitor.page.getByText(`system:serviceaccount:default:${name}`).waitFor();
      for (const address of addressesOf(other, theirs)) {
        visitor.expectStatus(403);
        await visitor.page.goto(url + address);
        const words = await visitor.page.locator('main').innerText();
        assert.match(words, /may not/, address);
        assert.doesNotMatch(words, /\$|sk-/, address);
      }
      if (name === 'anna') await visitor.inspect('cluster-fault');
      await visitor.page.goto(`${url}/wallet`);
      assert.deepEqual(await visitor.page.locator('.table tbody th').allInnerTexts(), [`main\n${own}`]);
      await visitor.context.close();
    }
  });

  test('shows keys and spending to people who can only read, and lets them change nothing', async () => {
    const rita = await enter('rita');
    const { page } = rita;
    assert.deepEqual(await keysSeen(rita), namesOf('research'));
    assert.equal(await page.getByRole('switch').and(page.locator(':enabled')).count(), 0);
    assert.equal(await page.getByRole('link', { name: /Create|Edit|Copy|Rotate|Delete/ }).count(), 0);
    await rita.inspect('cluster-keys-read-only');
    await page.goto(`${url}/keys/research/ci-bot/settings`);
    await page.locator('#read-only').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0);
    await rita.inspect('cluster-key-read-only');
    await page.goto(`${url}/wallet`);
    await page.getByRole('link', { name: 'ci-bot' }).click();
    await page.getByText('You may not see this account').waitFor();
    await page.locator('.calls tbody tr').first().waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /nightly-evals|Balance|Grant credit/);
    await rita.inspect('cluster-wallet-of-a-key');
    await rita.context.close();
  });

  test('lists the required rights to people without any', async () => {
    const nina = await enter('nina');
    await nina.page.locator('#not-allowed').waitFor();
    await nina.inspect('cluster-keys-not-allowed');
    await nina.page.goto(`${url}/wallet`);
    await nina.page.getByText('No account that you may see').waitFor();
    await nina.inspect('cluster-wallet-none');
    await nina.page.goto(`${url}/models`);
    await nina.page.getByText('claude-sonnet-4-6').first().waitFor();
    await nina.context.close();
  });

  test('lets a tenant create, call, see the cost, edit, resolve a conflict, rotate, disable and delete', async () => {
    const anna = await enter('anna', '/keys/new');
    const { page, press } = anna;
    await page.getByLabel('Name', { exact: true }).fill('her-own');
    await page.locator('input[name=group][value=standard]').check(); // groups are public
    await page.getByLabel('A limit in US dollars').check();
    await page.locator('input[name=limitUsd]').fill('lots');
    anna.expectStatus(422);
    await press('Create key');
    await page.locator('#f-limitUsd-fault').getByText('must be a decimal').waitFor();
    await anna.inspect('cluster-key-new-refused');
    await page.locator('input[name=limitUsd]').fill('4');
    await press('Create key');
    const first = await shownKey(anna);
    await untilTaken(sdkUrl, first);
    const made = await cluster.get('ApiKey', 'research', 'her-own');
    assert.ok(
      made.metadata.managedFields.some(({ manager }: { manager: string }) => manager === 'model-gateway-console'),
    );

    await page.goto(`${url}/wallet/research/main?key=her-own`);
    await eventually('the call is in the wallet', async () => {
      await page.reload();
      return (await page.locator('.calls tbody tr').count()) > 0;
    });
    await page.goto(`${url}/keys?q=her-own`);
    await rowOf(page, 'her-own')
      .getByText(/^\$0\.00\d+$/)
      .first()
      .waitFor(); // by itself

    await page.goto(`${url}/keys/research/her-own/settings`);
    await page.locator('input[name=limitUsd]').fill('5');
    const changed = await cluster.admin.call(
      'PATCH',
      '/apis/modelgateway.dev/v1alpha1/namespaces/research/apikeys/her-own',
      { spec: { quota: { limitUsd: '9' }, maxConcurrency: 3 } },
      'application/merge-patch+json',
    );
    assert.equal(changed.status, 200);
    anna.expectStatus(409);
    await press('Save');
    await page.locator('#conflict').waitFor();
    assert.match(await page.locator('#conflict').innerText(), /Quota\s+4\s+9\s+5[\s\S]*3/);
    assert.equal((await cluster.get('ApiKey', 'research', 'her-own')).spec.quota.limitUsd, '9');
    await anna.inspect('cluster-key-conflict');
    await press('Apply on top of the new state');
    await page.waitForURL(/her-own\/settings\?done=/);
    const { quota, maxConcurrency } = (await cluster.get('ApiKey', 'research', 'her-own')).spec;
    assert.deepEqual([quota.limitUsd, maxConcurrency], ['5', 3]);

    const second = await rotate(anna, `${url}/keys/research/her-own`);
    await untilTaken(sdkUrl, second);
    await untilRefused(sdkUrl, first);
    await page.goto(`${url}/keys?q=her-own`);
    await rowOf(page, 'her-own').getByRole('switch').click();
    await rowOf(page, 'her-own').getByText('Disabled').waitFor();
    await untilRefused(sdkUrl, second);
    await remove(anna, `${url}/keys/research/her-own`, 'her-own');
    assert.equal(await cluster.get('ApiKey', 'research', 'her-own'), undefined);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out.').waitFor();
    await anna.context.close();
  });

  test("shows a wallet on the fleet's ledger with charts, calls and CSV, and grants credit", async () => {
    const ben = await enter('ben', '/wallet/support/main');
    await ben.page.locator('.chart .column').nth(5).waitFor();
    assert.equal(await ben.page.getByText('Grant credit').count(), 0);
    await ben.page.goto(`${url}/wallet/support/main/calls?status=Failed`);
    const shown = await ben.page.locator('.calls tbody tr').count();
    assert.ok(shown > 0);
    assert.equal((await downloadCsv(ben.page)).length, shown);
    await ben.context.close();

    const paul = await enter('paul', '/wallet/support/main');
    assert.deepEqual(await keysSeen(paul), [...namesOf('research'), ...namesOf('support')].sort());
    await paul.inspect('cluster-keys');
    await paul.page.goto(`${url}/wallet/support/main`);
    await paul.press('Grant credit');
    await paul.page.getByLabel('Name', { exact: true }).fill('extra');
    await paul.page.getByLabel('Amount in USD').fill('12.50');
    await paul.page.getByLabel('Reason').fill('For the voice pilot');
    await paul.press('Grant');
    await paul.page.getByText('Granted: 12.5').waitFor();
    const { spec } = await cluster.get('Account', 'support', 'main');
    const { grantedBy, grantTime, ...grant } = spec.grants.at(-1);
    assert.deepEqual(grant, { name: 'extra', usd: '12.50', reason: 'For the voice pilot' });
    assert.match(grantedBy, /paul/);
    assert.ok(Date.parse(grantTime) <= Date.now());
    await paul.page.goto(`${url}/wallet`);
    await eventually('the credit counts', async () => {
      await paul.page.reload();
      return (await paul.page.getByText('$262.50').count()) > 0;
    });
    await paul.inspect('cluster-wallets');
    await paul.context.close();
  });
});
