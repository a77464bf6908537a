/** [P] Compiles keys by hash, and accounts by name. */
import { Period, WhenShort } from '#snapshot/snapshot.gen.ts';
import type { Account, Key, SpendingLimit } from '#snapshot/snapshot.gen.ts';
import type { QuotaPeriod } from '#ledger/spending.ts';
import type { AccountLimit, KeyQuota } from '../ledger/ledger.ts';
import { windowKindOf } from '#ledger/periods.ts';
import { UTC } from '#snapshot/time-zone.ts';
import { compileLimits } from './compile-limits.ts';
import type { AccountState, Credential, KeyState } from './state.ts';

const PERIODS: Readonly<Record<Period, QuotaPeriod>> = {
  [Period.UNSPECIFIED]: 'Never',
  [Period.NEVER]: 'Never',
  [Period.DAILY]: 'Daily',
  [Period.MONTHLY]: 'Monthly',
  [Period.WEEKLY]: 'Weekly',
};

/** The default for keys from an operator that does not know the field yet. */
const MIN_OUTPUT_TOKENS = 16;

/** Credentials by key hash. */
export function compileKeys(keys: readonly Key[]): Map<string, Credential> {
  return new Map(keys.flatMap(compileKey));
}

/** The hashes that open a key, and the credential of each. */
export function compileKey(key: Key): [sha256: string, credential: Credential][] {
  const state = keyState(key);
  return key.hashes.map(({ sha256, notAfterMs }) => [sha256, { key: state, notAfterMs: optionalMs(notAfterMs) }]);
}

function keyState(key: Key): KeyState {
  const id = `key/${key.uid}`;
  const quota = key.quota ?? { nanoUsd: key.limitNanoUsd, period: key.period, timeZone: '' };
  return {
    uid: key.uid,
    namespace: key.namespace,
    name: key.name,
    prefix: key.prefix,
    enabled: key.enabled,
    refusal: key.refusal,
    expirationMs: optionalMs(key.expirationMs),
    group: key.group,
    account: key.account,
    quota: {
      scope: 'Key',
      id,
      measure: 'UsdNano',
      amountNanoUsd: quota.nanoUsd ?? null,
      ...windowOf(quota),
      generation: key.generation,
    },
    period: PERIODS[quota.period],
    whenShort: key.whenShort === WhenShort.REFUSE ? 'Refuse' : 'Lower',
    minOutputTokens: key.minOutputTokens || MIN_OUTPUT_TOKENS,
    models: key.models && new Set(key.models.names),
    usageLabels: key.usageLabels,
    limits: compileLimits('Key', id, key),
  };
}

/** Accounts by "namespace/name". */
export function compileAccounts(accounts: readonly Account[]): Map<string, AccountState> {
  return new Map(accounts.map(compileAccount));
}

/** An account with its id "namespace/name". */
export function compileAccount(account: Account): [id: string, account: AccountState] {
  const { namespace, name, generation, creditNanoUsd, limitedCreditNanoUsd: amountNanoUsd = creditNanoUsd } = account;
  const id = `${namespace}/${name}`;
  const owner = { scope: 'Account', id: `account/${id}` } as const;
  const credit = { ...owner, measure: 'UsdNano', amountNanoUsd, window: 'Total', generation } as const;
  const spending = account.limits.map((limit): AccountLimit => ({
    ...owner,
    measure: 'UsdNano',
    amountNanoUsd: limit.nanoUsd ?? 0n,
    ...windowOf(limit),
    generation,
    isLimit: true,
  }));
  return [id, { id, credit, spending, limits: compileLimits('Account', owner.id, account) }];
}

function windowOf({
  period,
  timeZone,
}: Pick<SpendingLimit, 'period' | 'timeZone'>): Pick<KeyQuota, 'window' | 'timeZone'> {
  const window = windowKindOf(PERIODS[period]) ?? 'Total';
  return timeZone === '' || timeZone === UTC ? { window } : { window, timeZone };
}

/** Converts a time. Times too large for an exact Number (from the year 287396 on) never come. */
function optionalMs(ms: bigint | undefined): number | undefined {
  return ms === undefined ? undefined : Number(ms);
}
