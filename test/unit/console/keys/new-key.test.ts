/** Creating a key without scripts, seeing it once, and the groups that can be chosen. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { createConsoleFixture, keyManifest } from '../../../support/console-access.ts';
import { defaultPayer } from '../../../../console/keys/payers.ts';
import { ACCOUNT, ADMIN, ANNA, BLIND, BOTH, GATEWAY, keysStand, NOBODY, PLATFORM, READER, TENANTS } from './stand.ts';
import type { Browser } from './stand.ts';
import { nameOf } from '../../../../console/queries/object-name.ts';

const NEW_KEY = {
  name: 'bot',
  group: 'auto-a',
  account: 'team-a',
  quota: 'Limited',
  limitUsd: '12.50',
  period: 'Daily',
};

/** Creates a key and returns the page that follows. */
async function create(browser: Browser, fields: Record<string, string | string[]> = {}): Promise<string> {
  await browser.get('/keys/new');
  const { status, location } = await browser.submit('key-form', { ...NEW_KEY, ...fields });
  assert.equal(status, 303);
  return location;
}

describe('creating a key', () => {
  it('creates the key of the form, and shows it once it exists, and only once', async () => {
    const { browser, world, logged, clock } = keysStand();
    const anna = await browser(ANNA);
    const made = await create(anna, {
      allowed: 'Some',
      model: ['gpt-5', 'gpt-5-mini'],
      maxConcurrency: '3',
      requestsPerMinute: '60',
      outputTokensPerMinute: '20000',
      expires: '2027-03-01T08:30',
    });
    assert.deepEqual(world.apiKey('team-a', 'bot').spec, {
      gatewayNamespace: 'model-gateway',
      enabled: true,
      groupRef: { name: 'auto-a' },
      accountRef: { name: 'team-a' },
      quota: {
        limitUsd: '12.50',
        period: 'Daily',
        timeZone: 'UTC',
        whenShort: 'Lower',
        minOutputTokens: 16,
      },
      expirationTime: '2027-03-01T08:30:00Z',
      models: ['gpt-5', 'gpt-5-mini'],
      maxConcurrency: 3,
      rateLimits: { requestsPerMinute: 60, outputTokensPerMinute: 20_000 },
      key: { type: 'Generated', rotation: 1, overlapSeconds: 0 },
    });
    const waiting = await anna.get(made);
    assert.match(
      waiting.markup,
      /data-state="Waiting" data-refresh="2"[\s\S]*<noscript><meta http-equiv="refresh" content="2"><\/noscript>/,
    );
    const text = world.mint('team-a', 'bot');
    assert.doesNotMatch(made, new RegExp(text));
    // a HEAD request does not show the key
    assert.equal(await anna.head(made), '');
    const shown = await anna.get(made);
    assert.match(shown.markup, new RegExp(`<code id="key-text">${text}</code>`));
    for (const words of [
      'curl &#39;https://models.example.com/v1/chat/completions&#39;',
      'base_url=&quot;https://models.example.com/v1&quot;',
      'baseURL: &quot;https://models.example.com/v1&quot;',
      'base_url=&quot;https://models.example.com&quot;',
      'model=&quot;gpt-5&quot;',
    ])
      assert.ok(shown.markup.includes(words), words);
    assert.doesNotMatch(shown.markup, /id="placeholders"/);
    const again = await anna.get(made);
    assert.match(again.markup, /data-state="Over"/);
    assert.doesNotMatch(again.markup, new RegExp(text));
    assert.doesNotMatch(JSON.stringify(logged), new RegExp(text));
    clock.nowMs += 1;
    for (const path of ['/keys', '/keys/team-a/bot/settings'])
      assert.doesNotMatch((await anna.get(path)).markup, new RegExp(text));
  });
  it('shows the key to the script that waits for it, in the same markup', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const made = await create(anna);
    assert.match((await anna.get(`${made}&part=`)).markup, /^<div id="made" data-state="Waiting"/);
    const text = world.mint('team-a', 'bot');
    assert.match(
      (await anna.get(`${made}&part=`)).markup,
      new RegExp(`^<div id="made" data-state="Shown"[\\s\\S]*${text}`),
    );
    assert.match((await anna.get(made)).markup, /data-state="Over"/);
  });
  it('does not show the key of an older Secret as the new one', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    world.keyTexts.set('team-a/bot', 'sk-of-a-deleted-key-of-this-name-000000000000');
    const made = await create(anna);
    assert.match((await anna.get(made)).markup, /data-state="Waiting"/);
    world.mint('team-a', 'bot');
    world.keyTexts.set('team-a/bot', 'sk-of-a-deleted-key-of-this-name-000000000000');
    const { markup } = await anna.get(made);
    assert.match(markup, /data-state="Waiting"/);
    assert.doesNotMatch(markup, /sk-of-a-deleted/);
  });
  it('stops waiting after a while with the reason, and shows no old key', async () => {
    const { browser, world, clock } = keysStand();
    const anna = await browser(ANNA);
    const made = await create(anna);
    clock.nowMs += 61_000;
    const late = await anna.get(made);
    assert.match(late.markup, /data-state="Waiting">[\s\S]*id="late"[\s\S]*The gateway has not looked at it yet/);
    assert.doesNotMatch(late.markup, /http-equiv|data-refresh/);
    const text = world.mint('team-a', 'bot');
    clock.nowMs += 540_000;
    const over = await anna.get(made);
    assert.match(over.markup, /data-state="Over"[\s\S]*kubectl get secret bot-key -n team-a/);
    assert.doesNotMatch(over.markup, new RegExp(text));
  });
  it('reports that the person cannot read the Secret', async () => {
    const { browser, world } = keysStand();
    const bob = await browser(BLIND);
    const { markup } = await bob.get('/keys/new');
    assert.match(markup, /<input id="f-account" name="account"[^>]*required/);
    const made = (await bob.submit('key-form', NEW_KEY)).location;
    const text = world.mint('team-a', 'bot');
    const unreadable = await bob.get(made);
    assert.match(unreadable.markup, /data-state="Unreadable"[\s\S]*kubectl get secret bot-key/);
    assert.doesNotMatch(unreadable.markup, new RegExp(text));
  });
  it("marks an address as a placeholder if the gateway's is not configured", async () => {
    const { browser, world } = keysStand({ gatewayUrl: undefined });
    const anna = await browser(ANNA);
    const made = await create(anna);
    world.mint('team-a', 'bot');
    assert.match((await anna.get(made)).markup, /id="placeholders">https:\/\/gateway\.example stands for/);
  });
  it('uses a key of a Secret, and explains how to create it', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const made = await create(anna, { keyType: 'Provided', secret: 'mine' });
    assert.deepEqual(world.apiKey('team-a', 'bot').spec.key, {
      type: 'Provided',
      rotation: 1,
      overlapSeconds: 0,
      secretRef: { name: 'mine' },
    });
    assert.match(
      (await anna.get(made)).markup,
      /data-state="Provided"[\s\S]*kubectl create secret generic mine -n team-a/,
    );
    assert.match((await anna.get('/keys/team-a/bot/rotate')).markup, /id="provided"/);
  });
  it('mentions folders instead of Secrets for a folder of manifests', async () => {
    const { browser, world } = keysStand({ backend: 'Files' });
    const anna = await browser(ANNA);
    const made = await create(anna);
    world.mint('team-a', 'bot');
    await anna.get(made);
    const over = await anna.get(made);
    assert.match(over.markup, /data-state="Over"[\s\S]*data folder/);
    assert.doesNotMatch(over.markup, /kubectl/);
    const { markup } = await anna.get(await create(anna, { name: 'own', keyType: 'Provided' }));
    assert.match(markup, /kind: Secret\nmetadata: \{name: own-key, namespace: team-a\}/);
    assert.doesNotMatch((await (await browser(NOBODY)).get('/keys')).markup, /kubectl/);
    const rita = await browser(READER);
    for (const path of ['/keys/team-a/ci-bot/settings', '/keys/new'])
      assert.match((await rita.get(path)).markup, /The folder of manifests cannot be written to/, path);
  });
  it("shows the API's error at its field, and keeps what was typed", async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/new');
    const { status, markup } = await anna.submit('key-form', {
      ...NEW_KEY,
      limitUsd: '12,50',
      allowed: 'Some',
      maxConcurrency: '0',
      requestsPerMinute: '1000000001',
    });
    assert.equal(status, 422);
    assert.match(markup, /<a href="#f-limitUsd">Quota: It must be a decimal such as &quot;25.00&quot;/);
    assert.match(
      markup,
      /id="f-limitUsd" name="limitUsd" value="12,50"[^>]* aria-invalid="true" aria-describedby="f-limitUsd-fault"/,
    );
    assert.match(markup, /id="f-models-fault"><p class="fault">[^<]*at least 1/);
    assert.match(markup, /id="f-maxConcurrency-fault"/);
    assert.match(markup, /<a href="#f-requestsPerMinute">Requests per minute: [^<]*less than or equal to 1000000000/);
    assert.match(markup, /name="requestsPerMinute" value="1000000001"[^>]* aria-invalid="true"/);
    assert.match(markup, /value="bot"/);
    assert.match(markup, /name="group" value="auto-a" required checked/);
    assert.equal(world.objects.has('ApiKey team-a/bot'), false);
    assert.equal(
      (
        await anna.submit('key-form', {
          limitUsd: '12.50',
          maxConcurrency: '1',
          requestsPerMinute: '',
          allowed: 'All',
        })
      ).status,
      303,
    );
  });
  it('shows a name that is taken at the name', async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/new');
    const { status, markup } = await anna.submit('key-form', { ...NEW_KEY, name: 'ci-bot' });
    assert.equal(status, 409);
    assert.match(markup, /id="f-name-fault"><p class="fault">[^<]*already/);
  });
  it('is one page also for people with several namespaces: the account determines it', async () => {
    const { browser, world } = keysStand();
    const olga = await browser(BOTH);
    const { markup } = await olga.get('/keys/new?namespace=team-b');
    assert.match(markup, /<option value="team-a\/team-a"[^>]*>team-a \/ team-a · \$182\.43 left<\/option>/);
    assert.match(markup, /<option value="team-b\/team-b"[^>]* selected>/);
    assert.match(markup, /data-namespaces="team-b"><label[^>]*><input[^>]*name="group" value="vip"/);
    const fields = { ...NEW_KEY, group: 'vip' };
    const refused = await olga.submit('key-form', { ...fields, account: 'team-a/team-a' });
    assert.equal(refused.status, 422);
    assert.match(refused.markup, /id="f-group-fault"><p class="fault">VIP does not admit keys of team-a\./);
    assert.equal((await olga.submit('key-form', { ...fields, account: 'team-b/team-b' })).status, 303);
    assert.equal(world.apiKey('team-b', 'bot').spec.groupRef.name, 'vip');
    assert.equal((await olga.get('/keys/new?namespace=team-c')).status, 403);
  });
  it('starts with the last choice, or the only account and the group with the most models', async () => {
    const checked = (markup: string) => /name="group" value="([^"]*)" required checked/.exec(markup)?.[1];
    const chosen = (markup: string) => /<option value="([^"]*)"[^>]* selected>[^<]* left</.exec(markup)?.[1];
    const fresh = keysStand({ world: createConsoleFixture([...PLATFORM, ...TENANTS.slice(0, 2)]) });
    const first = (await (await fresh.browser(ANNA)).get('/keys/new')).markup;
    assert.deepEqual([checked(first), chosen(first)], ['auto-a', 'team-a/team-a']);
    const both = (await (await fresh.browser(BOTH)).get('/keys/new')).markup;
    assert.deepEqual([checked(both), chosen(both)], ['auto-a', undefined], 'of two accounts none is guessed');
  });
  it('starts with what this person chose for their last key, whatever others have used since', async () => {
    const world = createConsoleFixture([...PLATFORM, ...TENANTS]);
    const used = world.apiKey('team-b', 'secret-project');
    world.put({ ...used, status: { ...used.status, lastUsedTime: '2026-11-21T00:00:00Z' } });
    const { browser } = keysStand({ world });
    const olga = await browser(BOTH);
    const before = (await olga.get('/keys/new')).markup;
    assert.match(before, /<option value="">Choose an account<\/option>/, "somebody's last call chooses nothing");
    await create(olga, { name: 'one', group: 'economy', account: 'team-a/team-a' });
    const after = (await olga.get('/keys/new')).markup;
    assert.match(after, /<option value="team-a\/team-a"[^>]* selected>/);
    assert.match(after, /name="group" value="economy" required checked/);
    assert.match((await (await browser(BOTH)).get('/keys/new')).markup, /Choose an account/, 'in another browser');
  });
  it('offers an account on a fresh gateway, in its own namespace too', async () => {
    const { browser } = keysStand({ world: createConsoleFixture([...PLATFORM]) });
    const { markup } = await (await browser(ADMIN)).get('/keys/new');
    assert.match(markup, /id="no-account"[\s\S]*href="\/wallet\/new\?next=key">Create account</);
    assert.doesNotMatch(markup, /takes the right|cannot be written/);
  });
  it('starts with an automatic group if several have the most models', async () => {
    const automatic = {
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'Group',
      metadata: { namespace: 'model-gateway', name: 'smart' },
      spec: {
        type: 'Automatic',
        priceRatio: '2',
        allowedNamespaces: { from: 'All' },
        members: [{ name: 'auto-a' }],
      },
    };
    const { browser } = keysStand({ world: createConsoleFixture([...PLATFORM, automatic, ACCOUNT]) });
    const { markup } = await (await browser(ANNA)).get('/keys/new');
    assert.match(markup, /name="group" value="smart" required checked/);
  });
  it('copies the settings of another key, and never its text or Secret', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    const { markup } = await anna.get('/keys');
    assert.match(markup, /href="\/keys\/new\?copy=team-a%2Fchat-frontend">Duplicate</);
    await anna.get('/keys/new?copy=team-a%2Fchat-frontend');
    assert.equal((await anna.submit('key-form', {})).status, 303);
    const { spec } = world.apiKey('team-a', 'chat-frontend');
    const made = world.apiKey('team-a', 'chat-frontend-copy').spec;
    assert.deepEqual(made, { ...spec, key: made.key });
    assert.deepEqual(made.key, { type: 'Generated', rotation: 1, overlapSeconds: 0 });
    assert.equal((await anna.get('/keys/new?copy=team-b%2Fsecret-project')).status, 403);
  });
  it("never chooses the gateway's own namespace where there is another", () => {
    const payer = (namespace: string) => ({ namespace, name: 'main', balanceNanoUsd: 1n });
    assert.equal(defaultPayer([payer(GATEWAY), payer('team-a')], undefined, GATEWAY)?.namespace, 'team-a');
    assert.equal(defaultPayer([payer(GATEWAY)], undefined, GATEWAY)?.namespace, GATEWAY);
    assert.equal(defaultPayer([payer('a'), payer('b')], undefined, GATEWAY), undefined);
  });
  it('turns any name into a valid object name', async () => {
    const { browser, world } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/new');
    const { location } = await anna.submit('key-form', { ...NEW_KEY, name: '  My CI Bot (Zürich)!' });
    assert.match(location, /^\/keys\/team-a\/my-ci-bot-zurich\/created/);
    assert.ok(world.apiKey('team-a', 'my-ci-bot-zurich'));
    for (const [typed, name] of [
      ['ci-bot', 'ci-bot'],
      ['A.b', 'a.b'],
      ['--x--', 'x'],
      ['日本', ''],
      ['a'.repeat(80), 'a'.repeat(63)],
    ] as const)
      assert.equal(nameOf(typed), name, typed);
  });
  it("reports all mistakes at once, including the API's, and opens the sections with mistakes", async () => {
    const { browser } = keysStand();
    const anna = await browser(ANNA);
    await anna.get('/keys/new');
    const { status, markup } = await anna.submit('key-form', {
      name: '!',
      account: '',
      group: [],
      quota: 'Limited',
      limitUsd: 'lots',
      expires: '2020-01-01T00:00',
      allowed: 'Some',
      maxConcurrency: 'many',
      inputTokensPerMinute: 'many',
      keyType: 'Provided',
      secret: 'Not A Name',
    });
    assert.equal(status, 422);
    const faults = [...markup.matchAll(/<li><a href="#f-(\w+)">/g)].map(([, field]) => field);
    assert.deepEqual(
      new Set(faults),
      new Set([
        'name',
        'account',
        'group',
        'limitUsd',
        'expires',
        'models',
        'maxConcurrency',
        'inputTokensPerMinute',
        'secret',
      ]),
    );
    for (const field of faults) assert.match(markup, new RegExp(`id="f-${field}-fault"`));
    assert.match(markup, /<details class="fold key-more" open>/);
  });
  it('leads to a new account if there is none, for people who can create one', async () => {
    const withoutAccounts = TENANTS.filter((each) => (each as { kind: string }).kind !== 'Account');
    const world = createConsoleFixture([...PLATFORM, ...withoutAccounts]);
    const { browser } = keysStand({ world });
    const { markup } = await (await browser(ANNA)).get('/keys/new');
    assert.match(markup, /The namespace <b><bdi>team-a<\/bdi><\/b> has no account\./);
    assert.match(markup, /href="\/wallet\/new\?next=key">Create account</);
    const one = createConsoleFixture([...PLATFORM, ...TENANTS.slice(0, 1)]);
    const olga = (await (await keysStand({ world: one }).browser(BOTH)).get('/keys/new?namespace=team-b')).markup;
    assert.match(
      olga,
      /The namespace <bdi>team-b<\/bdi> has no account\. <a href="\/wallet\/new\?next=key&amp;namespace/,
    );
  });
  it('is not offered to people who cannot', async () => {
    const { browser } = keysStand();
    for (const rights of [READER, NOBODY]) {
      const { status, markup } = await (await browser(rights)).get('/keys/new');
      assert.equal(status, 403);
      assert.match(markup, /id="may-not-create"/);
    }
  });
});

describe('the groups to choose from', () => {
  it('are those that allow the namespace, with ratio and priced models', async () => {
    const { browser } = keysStand();
    const { markup } = await (await browser(ANNA)).get('/keys/new');
    assert.match(markup, /name="group" value="auto-a"[\s\S]*?× 0\.8[\s\S]*?claude-haiku-4-5/);
    assert.match(markup, /name="group" value="economy"[\s\S]*?× 0\.5/);
    assert.doesNotMatch(markup, /value="vip"|value="internal"|unpriced/);
  });
  it('are visible to everybody who can see keys there, as on the price page', async () => {
    const { browser } = keysStand();
    const { markup } = await (await browser(BLIND)).get('/keys/new');
    assert.match(markup, /name="group" value="auto-a"[\s\S]*?× 0\.8[\s\S]*?name="model" value="claude-haiku-4-5"/);
    assert.doesNotMatch(markup, /value="vip"|value="internal"|unpriced/);
  });
  it('are typed, like models, if there are none yet', async () => {
    const { browser, world } = keysStand({ world: createConsoleFixture([ACCOUNT]) });
    const anna = await browser(ANNA);
    const { markup } = await anna.get('/keys/new?namespace=team-a');
    assert.match(markup, /<input id="f-group" name="group"[^>]*required/);
    assert.match(markup, /<textarea id="models-text"/);
    await anna.submit('key-form', { ...NEW_KEY, allowed: 'Some', models: 'gpt-5\r\nclaude-haiku-4-5' });
    assert.deepEqual(world.apiKey('team-a', 'bot').spec.models, ['gpt-5', 'claude-haiku-4-5']);
  });
  it('include the one of a key although it is deleted', async () => {
    const { browser } = keysStand();
    assert.match(
      (await (await browser(ANNA)).get('/keys/team-a/intern-2026/settings')).markup,
      /name="group" value="retired" required checked[\s\S]*?There is no such group/,
    );
  });
  it('multiply the ratios of an automatic group and its members', async () => {
    const automatic = (name: string, members: readonly string[]): unknown => ({
      apiVersion: 'modelgateway.dev/v1alpha1',
      kind: 'Group',
      metadata: { namespace: 'model-gateway', name },
      spec: {
        type: 'Automatic',
        priceRatio: '2',
        allowedNamespaces: { from: 'All' },
        members: members.map((member) => ({ name: member })),
      },
    });
    const { browser } = keysStand({
      world: createConsoleFixture([
        ...PLATFORM,
        automatic('smart', ['auto-a', 'economy']),
        automatic('plain', ['economy']),
        keyManifest('team-a', 'k'),
        ACCOUNT,
      ]),
    });
    const { markup } = await (await browser(ANNA)).get('/keys/new');
    assert.match(markup, /value="smart"[\s\S]*?× 1 to 1\.6/);
    assert.match(markup, /value="plain"[\s\S]*?× 1</);
  });
});
