/** The status of keys and accounts: a table of situations and their names. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import type { Account, ApiKey } from '#crds/types.gen.ts';
import { KEY_STATUSES, keyStatusOf } from '../../../../console/queries/key-status.ts';
import type { KeyStatus, KeyStatusContext } from '../../../../console/queries/key-status.ts';
import type { Shortage } from '../../../../console/queries/shortages.ts';
import { accountFacts } from '../../../../console/queries/account-facts.ts';
import { accountStatusOf } from '../../../../console/queries/account-status.ts';
import { condition, createConsoleFixture, keyManifest, TEST_NOW_MS } from '../../../support/console-access.ts';

const READY = condition('Ready', 'True', 'Ready', '');
const LIMITED = { quota: { limitUsd: '25' } };
const spent = (usd: string) => ({ spentUsd: usd, conditions: [READY] });

function keyOf(spec: object, status?: object): ApiKey {
  return createConsoleFixture([keyManifest('team-a', 'ci-bot', spec, status)]).apiKey('team-a', 'ci-bot');
}

function accountOf(grants: readonly string[], status?: object): Account {
  const manifest = {
    apiVersion: 'modelgateway.dev/v1alpha1',
    kind: 'Account',
    metadata: { namespace: 'team-a', name: 'team-a' },
    spec: { grants: grants.map((usd, index) => ({ name: `g${index}`, usd })) },
    ...(status && { status }),
  };
  const [account] = createConsoleFixture([manifest]).objects.values();
  assert.ok(account?.kind === 'Account');
  return account;
}

const LIMIT_EXHAUSTED = condition(
  'LimitExhausted',
  'True',
  'LimitReached',
  "50 of 50 USD of this account's limit for the current Day in UTC are spent; it resets at 2026-11-28T00:00:00Z.",
);
const ACCOUNT_LIMIT = condition(
  'Ready',
  'False',
  'AccountLimitReached',
  'The credit of the Account "team-a" is spent.',
);
const NOT_READY = condition('Ready', 'False', 'LimitReached', LIMIT_EXHAUSTED.message);

const account = (balance: string, status: object = {}) =>
  accountFacts(
    accountOf(['100'], {
      creditUsd: '100',
      spentUsd: String(100 - Number(balance)),
      balanceUsd: balance,
      conditions: [READY],
      ...status,
    }),
    0,
  );

const shortage = (of: Shortage['of'], more: Partial<Shortage> = {}): Shortage => ({
  account: 'team-a/team-a',
  keyUid: 'u1',
  of,
  atMs: TEST_NOW_MS,
  limitNanoUsd: 25_000_000_000n,
  ...more,
});

interface Case {
  readonly what: string;
  readonly spec?: object;
  readonly status?: object;
  readonly context?: Partial<KeyStatusContext>;
  readonly is: KeyStatus;
  readonly says?: RegExp;
}

const CASES: readonly Case[] = [
  { what: 'a key that works', status: spent('0'), is: 'Active', says: /^$/ },
  { what: 'an unlimited key that has spent much', status: spent('100000'), is: 'Active' },
  { what: 'just below 80 %', spec: LIMITED, status: spent('19.999999999'), is: 'Active' },
  { what: 'at 80 %', spec: LIMITED, status: spent('20'), is: 'Low', says: /\$20\.00 of \$25\.00 is spent\.$/ },
  {
    what: 'at its limit',
    spec: LIMITED,
    status: spent('25'),
    is: 'LimitReached',
    says: /Raise the limit or set it to/,
  },
  { what: 'beyond its limit', spec: LIMITED, status: spent('25.01'), is: 'LimitReached' },
  {
    what: 'at a limit of a month',
    spec: { quota: { limitUsd: '25', period: 'Monthly' } },
    status: spent('25'),
    is: 'LimitReached',
    says: /or wait: it resets on the 1st \(UTC\)/,
  },
  { what: 'a limit of nothing', spec: { quota: { limitUsd: '0' } }, status: spent('0'), is: 'LimitReached' },
  {
    what: 'less than any call costs',
    spec: LIMITED,
    status: spent('24.9999'),
    is: 'LimitReached',
    context: { cheapestCallNanoUsd: () => 100_001n },
    says: /\$0\.0001 remains, less than any call costs/,
  },
  {
    what: 'just enough for the cheapest call',
    spec: LIMITED,
    status: spent('24.9999'),
    is: 'Low',
    context: { cheapestCallNanoUsd: () => 100_000n },
  },
  {
    what: 'a fraction of a cent is left, and the last call was refused for it',
    spec: LIMITED,
    is: 'LimitReached',
    status: { ...spent('24.998'), lastUsedTime: '2026-11-21T11:59:00Z' },
    context: { shortage: shortage('Key') },
    says: /\$0\.0020 remains, too little for its last call/,
  },
  {
    what: 'refused once, but called since',
    spec: LIMITED,
    is: 'Low',
    status: { ...spent('24.998'), lastUsedTime: '2026-11-21T11:59:00Z' },
    context: { shortage: shortage('Key', { atMs: TEST_NOW_MS - 3_600_000 }) },
  },
  {
    what: "refused by a limit of its account, which is not the key's",
    spec: LIMITED,
    is: 'Low',
    status: spent('24.998'),
    context: { shortage: shortage('AccountLimit') },
  },
  {
    what: 'at a limit of a month, of an API server that knows no time zones',
    spec: { quota: { limitUsd: '25', period: 'Monthly', timeZone: undefined } },
    status: spent('24.998'),
    is: 'LimitReached',
    context: { shortage: shortage('Key') },
    says: /too little for its last call\. .*or wait: it resets on the 1st \(UTC\)/,
  },
  {
    what: 'one call was too large, with much left',
    spec: LIMITED,
    status: spent('5'),
    is: 'Active',
    context: { shortage: shortage('Key') },
  },
  {
    what: 'refused before the limit was raised',
    spec: { quota: { limitUsd: '50' } },
    status: spent('24.998'),
    is: 'Active',
    context: { shortage: shortage('Key') },
  },
  {
    what: 'refused before the limit was raised a little',
    spec: { quota: { limitUsd: '25.01' } },
    status: spent('24.998'),
    is: 'Low',
    context: { shortage: shortage('Key') },
  },
  {
    what: 'refused today, by a limit of the day',
    spec: { quota: { limitUsd: '25', period: 'Daily' } },
    status: spent('24.998'),
    is: 'LimitReached',
    context: { shortage: shortage('Key', { atMs: Date.parse('2026-11-21T00:00:00Z') }) },
  },
  {
    what: 'refused yesterday, by a limit of the day',
    spec: { quota: { limitUsd: '25', period: 'Daily' } },
    status: spent('24.998'),
    is: 'Low',
    context: { shortage: shortage('Key', { atMs: Date.parse('2026-11-20T23:59:59Z') }) },
  },
  {
    what: 'refused last month, by a limit of the month',
    spec: { quota: { limitUsd: '25', period: 'Monthly' } },
    status: spent('24.998'),
    is: 'Low',
    context: { shortage: shortage('Key', { atMs: Date.parse('2026-10-31T23:59:59Z') }) },
  },
  {
    what: 'the limit was raised, and the condition speaks of the old one',
    spec: { quota: { limitUsd: '50' } },
    status: { spentUsd: '25', conditions: [condition('Ready', 'False', 'LimitReached', 'old')] },
    is: 'Pending',
  },
  {
    what: 'the ledger is not read yet, and the condition knows',
    spec: LIMITED,
    status: { conditions: [condition('Ready', 'False', 'LimitReached', 'spent')] },
    is: 'LimitReached',
  },
  { what: 'switched off', spec: { enabled: false, ...LIMITED }, status: spent('25'), is: 'Disabled' },
  {
    what: 'switched on, and the condition says Disabled still',
    is: 'Pending',
    status: { conditions: [condition('Ready', 'False', 'Disabled', 'spec.enabled is false.')] },
  },
  {
    what: 'expired',
    spec: { expirationTime: '2026-11-21T12:00:00Z' },
    status: spent('0'),
    is: 'Expired',
    says: /expired on 2026-11-21 12:00 UTC/,
  },
  { what: 'expires later', spec: { expirationTime: '2026-11-21T12:00:01Z' }, status: spent('0'), is: 'Active' },
  {
    what: 'its group is gone',
    spec: LIMITED,
    is: 'NotAccepted',
    says: /^The Group "x" does not exist\.$/,
    status: {
      spentUsd: '25',
      conditions: [condition('Ready', 'False', 'GroupNotFound', 'The Group "x" does not exist.')],
    },
  },
  {
    what: 'its Secret is being made',
    is: 'Pending',
    says: /soon/,
    status: {
      conditions: [
        condition('Ready', 'False', 'SecretPending', 'soon'),
        condition('Reconciling', 'True', 'SecretPending', 'soon'),
      ],
    },
  },
  {
    what: 'on its way to the proxies',
    status: { conditions: [condition('Ready', 'Unknown', 'Reconciling', 'soon')] },
    is: 'Pending',
  },
  { what: 'just created', is: 'Pending', says: /has not looked at it yet/ },
  {
    what: 'its account is used up',
    status: spent('1'),
    context: { account: account('0') },
    is: 'AccountOutOfCredit',
    says: /^Account team-a: All of its credit is spent/,
  },
  {
    what: 'its account is overdrawn',
    status: spent('1'),
    context: { account: account('-0.12') },
    is: 'AccountOutOfCredit',
    says: /overdrawn by \$0\.12/,
  },
  {
    what: 'its account has less than any call costs',
    status: spent('1'),
    is: 'AccountOutOfCredit',
    context: { account: account('0.00001'), cheapestCallNanoUsd: () => 20_000n },
  },
  {
    what: 'a limit of its account is spent',
    status: spent('1'),
    context: { account: account('50', { conditions: [NOT_READY, LIMIT_EXHAUSTED] }) },
    is: 'AccountLimitReached',
    says: /^Account team-a: 50 of 50 USD .* resets at/,
  },
  {
    what: 'a person who may not see its account reads it in the key',
    status: { ...spent('1'), conditions: [ACCOUNT_LIMIT] },
    is: 'AccountLimitReached',
    says: /^The credit of the Account "team-a" is spent\.$/,
  },
  {
    what: 'its account can pay again, and the condition follows',
    status: { ...spent('1'), conditions: [ACCOUNT_LIMIT] },
    context: { account: account('50') },
    is: 'Pending',
    says: /on its way/,
  },
  {
    what: 'a limit of its account was spent before the account was edited',
    status: spent('1'),
    context: { account: account('50', { conditions: [{ ...LIMIT_EXHAUSTED, observedGeneration: 0 }] }) },
    is: 'Active',
  },
  { what: 'its account is low', status: spent('1'), context: { account: account('5') }, is: 'Active' },
  {
    what: 'the last call was refused for its account, which the person may not see',
    status: spent('1'),
    context: { shortage: shortage('Account') },
    is: 'AccountOutOfCredit',
    says: /the account team-a is out of credit/,
  },
  {
    what: 'the last call was refused for its low account',
    status: spent('1'),
    is: 'AccountOutOfCredit',
    context: { account: account('0.01'), shortage: shortage('Account', { limitNanoUsd: 100_000_000_000n }) },
    says: /\$0\.0100 remains, too little for the last call/,
  },
  {
    what: 'its account got credit after the refusal',
    status: spent('1'),
    is: 'Active',
    context: { account: account('0.01'), shortage: shortage('Account', { limitNanoUsd: 99_990_000_000n }) },
  },
  {
    what: 'both the account and the limit',
    spec: LIMITED,
    status: spent('25'),
    context: { account: account('0') },
    is: 'AccountOutOfCredit',
  },
];

describe('the status of a key', () => {
  for (const { what, spec = {}, status, context = {}, is, says = /./ } of CASES) {
    it(`${what}: ${is}`, () => {
      const found = keyStatusOf(keyOf(spec, status), {
        nowMs: TEST_NOW_MS,
        account: undefined,
        cheapestCallNanoUsd: () => undefined,
        shortage: undefined,
        ...context,
      });
      assert.equal(found.status, is, found.message);
      if (is !== 'Active') assert.match(found.message, says);
    });
  }
  it('of an older generation of the spec is ignored', () => {
    const apiKey = keyOf({}, { conditions: [{ ...READY, observedGeneration: 1 }] });
    const changed = { ...apiKey, metadata: { ...apiKey.metadata, generation: 2 } };
    const context = {
      nowMs: TEST_NOW_MS,
      account: undefined,
      cheapestCallNanoUsd: () => undefined,
      shortage: undefined,
    };
    assert.equal(keyStatusOf(changed, context).status, 'Pending');
  });
  it('is red for every status that refuses calls, and each is in the table', () => {
    assert.deepEqual([...new Set(CASES.map(({ is }) => is))].sort(), [...KEY_STATUSES].sort());
  });
});

describe('the status of an account', () => {
  for (const [what, facts, is] of [
    ['with credit', account('50'), 'Active'],
    ['at 80 %', account('20'), 'Low'],
    ['with a billionth left', account('0.000000001'), 'Low'],
    ['used up', account('0'), 'OutOfCredit'],
    ['overdrawn', account('-1.5'), 'Overdrawn'],
    ['without any grant', accountFacts(accountOf([], { conditions: [READY] }), 0), 'OutOfCredit'],
    [
      'that does not count',
      account('50', { conditions: [condition('Ready', 'False', 'Invalid', 'no')] }),
      'NotAccepted',
    ],
    ['that the gateway has not seen', accountFacts(accountOf(['5']), 0), 'Pending'],
    [
      'to which credit was added a moment ago',
      account('50', { conditions: [condition('Ready', 'False', 'LimitReached', 'old')] }),
      'Pending',
    ],
  ] as const)
    it(`${what}: ${is}`, () => assert.equal(accountStatusOf(facts).status, is));
});
