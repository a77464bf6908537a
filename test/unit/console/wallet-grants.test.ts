/** Granting credit: for whom, with which refusals, and never over somebody else's change. */
import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeEach, describe, test } from 'vitest';
import type { Account } from '#crds/types.gen.ts';
import { AccessError } from '../../../console/access/access.ts';
import { emptyGrantForm, validateGrant, errorsOfRefusedGrant, parseGrantForm } from '../../../console/wallet/grants.ts';
import { accountManifest, walletStand } from './wallet-stand.ts';
import type { WalletStand } from './wallet-stand.ts';

const PATH = '/wallet/team-a/main';
let stand: WalletStand;

function account(): Account {
  return stand.world.objects.get('Account team-a/main') as Account;
}

function fields(more: Record<string, string> = {}): Record<string, string> {
  const { uid = '', generation = 0 } = account().metadata;
  return { name: '2026-11', usd: '250.00', reason: 'November', uid, generation: String(generation), ...more };
}

beforeEach(() => { stand = walletStand(undefined); });
afterEach(() => stand.app.close());
afterAll(() => stand.app.close());

describe('granting credit', () => {
  test('adds a grant to those that are there', async () => {
    const { status, location } = await stand.post('alice', `${PATH}/grants`, fields());
    assert.equal(status, 303);
    assert.equal(location, `${PATH}?granted=2026-11`);
    assert.deepEqual(account().spec.grants, [{
      name: 'welcome', usd: '100.00', reason: 'To try it out',
    }, { name: '2026-11', usd: '250.00', reason: 'November' }]);
    const { body } = await stand.see('alice', location);
    assert.match(body, /Granted: 250\.00 USD as 2026-11/);
    assert.match(body, /name="name" value="2026-11-2"/);
    assert.doesNotMatch((await stand.see('alice', `${PATH}?granted=nothing`)).body, /Granted/);
  });

  test('takes amounts as people write them, and credit back', async () => {
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields({ usd: '$1,250.5', reason: '' }))).status, 303);
    assert.deepEqual(account().spec.grants?.at(-1), { name: '2026-11', usd: '1250.5' });
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields({ name: 'back', usd: '−10' }))).status, 303);
    assert.equal(account().spec.grants?.at(-1)?.usd, '-10');
  });

  test('says at the field what is wrong, keeps what was typed, and changes nothing', async () => {
    const before = account();
    for (const [wrong, message] of [
      [{ name: '' }, /Enter a name/], [
        { name: 'a b' }, /letters, digits/,
      ], [{ name: 'welcome' }, /There is a grant called welcome already/], [{ name: 'x'.repeat(64) }, /at most 63/],
      [{ usd: '' }, /Enter an amount/], [
        { usd: 'lots' }, /usd must be a decimal/,
      ], [{ usd: '1e3' }, /usd must be a decimal/], [{ usd: '0.0000000001' }, /usd must be a decimal/],
      [{ usd: '9000000001' }, /usd must be a decimal/], [{ reason: 'x'.repeat(257) }, /at most 256/],
    ] as const) {
      const { status, body } = await stand.post('alice', `${PATH}/grants`, fields(wrong));
      assert.equal(status, 422, JSON.stringify(wrong));
      assert.match(body, message);
      assert.match(body, /role="alert"/);
      assert.match(body, /aria-invalid="true"/);
    }
    assert.match((await stand.post(
      'alice', `${PATH}/grants`, fields({ usd: '"><script>' }),
    )).body, /value="&quot;&gt;&lt;script&gt;"/);
    assert.equal(account(), before);
  });

  test('never overwrites what somebody else has changed meanwhile', async () => {
    const seen = fields();
    stand.world.edit('Account', { namespace: 'team-a', name: 'main' }, (spec) =>
      ({ ...spec, grants: [...spec.grants ?? [], { name: 'theirs', usd: '1' }] }));
    const { status, body } = await stand.post('alice', `${PATH}/grants`, seen);
    assert.equal(status, 409);
    assert.match(body, /Somebody else has changed this account meanwhile/);
    assert.match(body, /theirs/);
    assert.match(body, /name="name" value="2026-11"/);
    assert.match(body, /name="generation" value="2"/);
    assert.equal(account().spec.grants?.length, 2);
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields())).status, 303);
    assert.deepEqual(account().spec.grants?.map(({ name }) => name), ['welcome', 'theirs', '2026-11']);
  });

  test('notices a change between reading and writing, and another object of the same name', async () => {
    stand.world.interfere = () => {
      stand.world.interfere = undefined;
      stand.world.edit('Account', { namespace: 'team-a', name: 'main' }, (spec) => ({ ...spec, grants: [] }));
    };
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields())).status, 409);
    assert.deepEqual(account().spec.grants, []);
    assert.equal((await stand.post('alice', `${PATH}/grants`, fields({ uid: 'another' }))).status, 409);
  });

  test('is only for who may change the account', async () => {
    assert.match((await stand.see('alice', PATH)).body, /Grant credit/);
    assert.doesNotMatch((await stand.see('rita', PATH)).body, /Grant credit/);
    const before = account();
    assert.equal((await stand.post('rita', `${PATH}/grants`, fields(), '/wallet')).status, 403);
    assert.equal((await stand.post('bob', `${PATH}/grants`, fields(), '/wallet')).status, 403);
    assert.equal((await stand.post('ulla', `${PATH}/grants?key=ci`, fields(), '/wallet')).status, 404);
    assert.equal(account(), before);
  });

  test('shows what the API refuses at the field that it speaks of', () => {
    const error = new AccessError('Invalid', 'refused', { fields: [
      { path: 'spec.grants[1].usd', message: 'too much' }, {
        path: 'spec.grants', message: 'their sum is too large',
      }, { path: 'spec.grants[0].name', message: 'no name' }, { path: '', message: 'spec: no' },
    ] });
    assert.deepEqual(errorsOfRefusedGrant(error), [
      { field: 'usd', message: 'too much' }, {
        field: undefined, message: 'spec.grants: their sum is too large',
      }, { field: 'name', message: 'no name' }, { field: undefined, message: 'spec: no' },
    ]);
    assert.deepEqual(errorsOfRefusedGrant(new AccessError('Invalid', 'refused by policy')), [{
      field: undefined, message: 'refused by policy',
    }]);
  });

  test('suggests a name that is free, until there are none', () => {
    const full =
      accountManifest('team-a', 'main', ['2026-11', '2026-11-2'].map((name) => ({ name, usd: '1' }))) as Account;
    assert.equal(emptyGrantForm(full, Date.UTC(2026, 10, 21)).name, '2026-11-3');
    const many = accountManifest('team-a', 'main', Array.from({ length: 1000 }, (_, index) =>
      ({ name: `n${index}`, usd: '1' }))) as Account;
    assert.match(validateGrant(parseGrantForm(new URLSearchParams('name=x&usd=1')), many)[0]?.message ??
      '', /1000 grants/);
  });
});
