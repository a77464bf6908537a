/** Granting credit: rights, errors, and concurrent changes. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeEach, describe, test } from 'vitest';
import type { Account } from '#crds/types.gen.ts';
import { AccessError } from '../../../../console/access/access.ts';
import {
  emptyGrantForm,
  errorsOfRefusedGrant,
  parseGrantForm,
  validateGrant,
} from '../../../../console/wallet/grants.ts';
import { accountManifest, walletStand } from './stand.ts';
import type { WalletStand } from './stand.ts';

const PATH = '/wallet/team-a/main';
const BY_ALICE = { grantedBy: 'alice', grantTime: '2026-11-21T12:00:00Z' };
let stand: WalletStand;

function account(): Account {
  return stand.world.objects.get('Account team-a/main') as Account;
}

function fields(more: Record<string, string> = {}): Record<string, string> {
  const { uid = '', generation = 0 } = account().metadata;
  return { name: '2026-11', usd: '250.00', reason: 'November', uid, generation: String(generation), ...more };
}

beforeEach(() => {
  stand = walletStand(undefined);
});
afterEach(() => stand.app.close());
afterAll(() => stand.app.close());

describe('granting credit', () => {
  test('adds a grant to the existing ones', async () => {
    const { status, location } = await stand.post('alice', `${PATH}/grants`, fields());
    assert.equal(status, 303);
    assert.equal(location, `${PATH}?granted=2026-11`);
    assert.deepEqual(account().spec.grants, [
      {
        name: 'welcome',
        usd: '100.00',
        reason: 'To try it out',
      },
      { name: '2026-11', usd: '250.00', reason: 'November', ...BY_ALICE },
    ]);
    const { body } = await stand.see('alice', location);
    assert.match(body, /Granted: 250\.00 USD as 2026-11/);
    assert.match(body, /name="name" value="2026-11-2"/);
    assert.doesNotMatch((await stand.see('alice', `${PATH}?granted=nothing`)).body, /Granted/);
  });

  test('accepts amounts as people write them', async () => {
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields({ usd: '$1,250.5', reason: '' }))).status, 303);
    assert.deepEqual(account().spec.grants?.at(-1), { name: '2026-11', usd: '1250.5', ...BY_ALICE });
    const preset = fields({ name: 'preset', usd: '', preset: '25' });
    assert.equal((await stand.post('alice', `${PATH}/grants`, preset)).status, 303);
    assert.equal(account().spec.grants?.at(-1)?.usd, '25');
    const typed = fields({ name: 'typed', usd: '7', preset: '25' });
    assert.equal((await stand.post('alice', `${PATH}/grants`, typed)).status, 303);
    assert.equal(account().spec.grants?.at(-1)?.usd, '7', 'what was typed counts');
  });

  test('refuses negative amounts: taking credit back is another action', async () => {
    const before = account();
    const { status, body } = await stand.post('alice', `${PATH}/grants`, fields({ name: 'back', usd: '−10' }));
    assert.equal(status, 422);
    assert.match(body, /To take some back, use “Take credit back”/);
    assert.equal(account(), before);
  });

  test('shows the balance before and after, with who granted and when', async () => {
    const { body } = await stand.see('alice', PATH);
    assert.match(body, /id="credit-dialog" popover/);
    assert.match(body, /The balance is \$76\.54 now/);
    assert.match(body, /value="25"> <span>\$25<small>\$101\.54 after/);
    const dash = '<span class="soft">—';
    assert.ok(body.includes(`data-label="By">${dash}`) && body.includes(`data-label="Date">${dash}`));
    await stand.post('alice', `${PATH}/grants`, fields());
    assert.match(
      (await stand.see('rita', PATH)).body,
      /data-label="By"><bdi>alice<\/bdi>[\s\S]*datetime="2026-11-21T12:00:00Z"[^>]*>2026-11-21 12:00 UTC/,
    );
    assert.match((await stand.see('alice', `${PATH}?credit`)).body, /class="card" id="credit-dialog" role="dialog"/);
  });

  test('reports mistakes at their field, keeps what was typed, and changes nothing', async () => {
    const before = account();
    for (const [wrong, message] of [
      [{ name: '' }, /Enter a name/],
      [{ name: 'a b' }, /letters, digits/],
      [{ name: 'welcome' }, /There is a grant called welcome already/],
      [{ name: 'x'.repeat(64) }, /at most 63/],
      [{ usd: '' }, /Enter an amount/],
      [{ usd: 'lots' }, /It must be a decimal/],
      [{ usd: '1e3' }, /It must be a decimal/],
      [{ usd: '0.0000000001' }, /It must be a decimal/],
      [{ usd: '9000000001' }, /It must be a decimal/],
      [{ reason: 'x'.repeat(257) }, /at most 256/],
    ] as const) {
      const { status, body } = await stand.post('alice', `${PATH}/grants`, fields(wrong));
      assert.equal(status, 422, JSON.stringify(wrong));
      assert.match(body, message);
      assert.match(body, /role="alert"/);
      assert.match(body, /aria-invalid="true"/);
    }
    assert.match(
      (await stand.post('alice', `${PATH}/grants`, fields({ usd: '"><script>' }))).body,
      /value="&quot;&gt;&lt;script&gt;"/,
    );
    assert.equal(account(), before);
  });

  test('never overwrites concurrent changes', async () => {
    const seen = fields();
    stand.world.edit('Account', { namespace: 'team-a', name: 'main' }, (spec) => ({
      ...spec,
      grants: [...(spec.grants ?? []), { name: 'theirs', usd: '1' }],
    }));
    const { status, body } = await stand.post('alice', `${PATH}/grants`, seen);
    assert.equal(status, 409);
    assert.match(body, /Somebody else has changed this account meanwhile/);
    assert.match(body, /theirs/);
    assert.match(body, /name="name" value="2026-11"/);
    assert.match(body, /name="generation" value="2"/);
    assert.equal(account().spec.grants?.length, 2);
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields())).status, 303);
    assert.deepEqual(
      account().spec.grants?.map(({ name }) => name),
      ['welcome', 'theirs', '2026-11'],
    );
  });

  test('detects a change between reading and writing, and another object of the same name', async () => {
    stand.world.interfere = () => {
      stand.world.interfere = undefined;
      stand.world.edit('Account', { namespace: 'team-a', name: 'main' }, (spec) => ({ ...spec, grants: [] }));
    };
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields())).status, 409);
    assert.deepEqual(account().spec.grants, []);
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields({ uid: 'another' }))).status, 409);
  });

  test('is only for people who can change the account', async () => {
    assert.match((await stand.see('alice', PATH)).body, /Grant credit/);
    assert.doesNotMatch((await stand.see('rita', PATH)).body, /Grant credit/);
    const before = account();
    assert.equal((await stand.post('rita', `${PATH}/grants`, fields(), '/wallet')).status, 403);
    assert.equal((await stand.post('bob', `${PATH}/grants`, fields(), '/wallet')).status, 403);
    assert.equal((await stand.post('ulla', `${PATH}/grants?key=ci`, fields(), '/wallet')).status, 404);
    assert.equal(account(), before);
  });

  test("shows the API's error at its field", () => {
    const error = new AccessError('Invalid', 'refused', {
      fields: [
        { path: 'spec.grants[1].usd', message: 'too much' },
        {
          path: 'spec.grants',
          message: 'their sum is too large',
        },
        { path: 'spec.grants[0].name', message: 'no name' },
        { path: '', message: 'spec: no' },
      ],
    });
    assert.deepEqual(errorsOfRefusedGrant(error), [
      { field: 'usd', message: 'too much' },
      {
        field: undefined,
        message: 'spec.grants: their sum is too large',
      },
      { field: 'name', message: 'no name' },
      { field: undefined, message: 'spec: no' },
    ]);
    assert.deepEqual(errorsOfRefusedGrant(new AccessError('Invalid', 'refused by policy')), [
      {
        field: undefined,
        message: 'refused by policy',
      },
    ]);
  });

  test('suggests a free name while there are any', () => {
    const full = accountManifest(
      'team-a',
      'main',
      ['2026-11', '2026-11-2'].map((name) => ({ name, usd: '1' })),
    ) as Account;
    assert.equal(emptyGrantForm(full, Date.UTC(2026, 10, 21)).name, '2026-11-3');
    const many = accountManifest(
      'team-a',
      'main',
      Array.from({ length: 1000 }, (_, index) => ({ name: `n${index}`, usd: '1' })),
    ) as Account;
    assert.match(validateGrant(parseGrantForm({ name: 'x', usd: '1' }), many)[0]?.message ?? '', /1000 grants/);
  });
});

describe('taking credit back', () => {
  const TAKE_BACK = `${PATH}/take-back`;

  test('asks for confirmation with the balance before and after, and then adds a negative grant', async () => {
    assert.match((await stand.see('alice', PATH)).body, /href="\/wallet\/team-a\/main\/take-back">Take credit back</);
    assert.match((await stand.see('alice', TAKE_BACK)).body, /The balance is \$76\.5433 now/);
    const before = account();
    const asked = await stand.post('alice', TAKE_BACK, fields({ usd: '$10', reason: 'Unused' }), TAKE_BACK);
    assert.equal(asked.status, 200);
    assert.match(asked.body, /from\s+\$76\.5433 to <b>\$66\.5433<\/b>/);
    assert.match(asked.body, /name="confirmed" value="true"/);
    assert.doesNotMatch(asked.body, /is refused from then on/);
    assert.equal(account(), before, 'nothing has changed yet');
    const confirmed = fields({ usd: '10', reason: 'Unused', confirmed: 'true' });
    const done = await stand.post('alice', TAKE_BACK, confirmed, TAKE_BACK);
    assert.equal(done.status, 303);
    assert.deepEqual(account().spec.grants?.at(-1), { name: '2026-11', usd: '-10', reason: 'Unused', ...BY_ALICE });
    assert.match((await stand.see('alice', done.location)).body, /Taken back: 10 USD as 2026-11/);
  });

  test('warns that calls will be refused if nothing remains', async () => {
    const { body } = await stand.post('alice', TAKE_BACK, fields({ usd: '80' }), TAKE_BACK);
    assert.match(body, /to <b>−\$3\.4567<\/b>/);
    assert.match(body, /Every call of its keys is refused from then on/);
  });

  test('accepts an amount without a sign, and reports mistakes', async () => {
    const before = account();
    for (const usd of ['', '-10', '0', '0.00', 'lots']) {
      const { status, body } = await stand.post('alice', TAKE_BACK, fields({ usd, confirmed: 'true' }), TAKE_BACK);
      assert.equal(status, 422, usd);
      assert.match(body, /id="f-usd-fault"/);
    }
    assert.equal(account(), before);
  });

  test('changes nothing after a concurrent change, or without the right', async () => {
    const seen = fields({ usd: '10', confirmed: 'true' });
    stand.world.edit('Account', { namespace: 'team-a', name: 'main' }, (spec) => ({
      ...spec,
      grants: [...(spec.grants ?? []), { name: '2026-11', usd: '1' }],
    }));
    const before = account();
    const { status, body } = await stand.post('alice', TAKE_BACK, { ...seen, name: 'back' }, TAKE_BACK);
    assert.equal(status, 409);
    assert.match(body, /Somebody else has changed this account meanwhile/);
    assert.match(body, /name="name" value="2026-11-2"/);
    assert.equal((await stand.see('rita', TAKE_BACK)).status, 403);
    assert.equal((await stand.post('rita', TAKE_BACK, fields({ usd: '1', confirmed: 'true' }), '/wallet')).status, 403);
    assert.equal((await stand.post('bob', TAKE_BACK, fields({ usd: '1', confirmed: 'true' }), '/wallet')).status, 403);
    assert.equal(account(), before);
  });
});

describe('a new account', () => {
  const NEW = '/wallet/new';
  const made = (name: string): Account | undefined =>
    stand.world.objects.get(`Account team-a/${name}`) as Account | undefined;

  test('is created with its first credit, and leads to its key', async () => {
    const { body } = await stand.see('alice', `${NEW}?next=key`);
    assert.match(body, /In the namespace <bdi>team-a<\/bdi>/);
    assert.match(body, /name="next" value="key"/);
    const typed = { namespace: 'team-a', name: 'My Team', usd: '$1,000', reason: 'To begin', next: 'key' };
    const { status, location } = await stand.post('alice', NEW, typed, NEW);
    assert.equal(status, 303);
    assert.equal(location, '/keys/new?account=team-a%2Fmy-team');
    assert.deepEqual(made('my-team')?.spec, {
      gatewayNamespace: 'model-gateway',
      grants: [{ name: 'welcome', usd: '1000', reason: 'To begin', ...BY_ALICE }],
    });
    assert.match((await stand.see('alice', location)).body, /value="team-a\/my-team"[^>]* selected>my-team/);
  });

  test('starts without credit if none is given, and shows its page', async () => {
    const { location } = await stand.post('alice', NEW, { namespace: 'team-a', name: 'empty' }, NEW);
    assert.equal(location, '/wallet/team-a/empty');
    assert.equal(made('empty')?.spec.grants, undefined);
  });

  test('reports all mistakes at once, each at its field', async () => {
    const wrong = { namespace: 'team-a', name: '!', usd: 'lots', reason: 'x'.repeat(257) };
    const { status, body } = await stand.post('alice', NEW, wrong, NEW);
    assert.equal(status, 422);
    for (const field of ['name', 'usd', 'reason']) assert.match(body, new RegExp(`id="f-${field}-fault"`));
    const taken = await stand.post('alice', NEW, { namespace: 'team-a', name: 'main' }, NEW);
    assert.equal(taken.status, 409);
    assert.match(taken.body, /id="f-name-fault"/);
  });

  test('is only for people who can create one', async () => {
    assert.match((await stand.see('alice', '/wallet')).body, /href="\/wallet\/new">Create account</);
    assert.doesNotMatch((await stand.see('rita', '/wallet')).body, /wallet\/new/);
    assert.equal((await stand.see('rita', NEW)).status, 403);
    const { status } = await stand.post('bob', NEW, { namespace: 'team-a', name: 'theirs' }, NEW);
    assert.equal(status, 403);
    assert.equal(made('theirs'), undefined);
  });
});
