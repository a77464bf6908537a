/** [P] Translates an Account to the credit and the limits that its keys share. */
import type { Account } from '#crds/types.gen.ts';
import { Period } from '#snapshot/snapshot.gen.ts';
import type { Account as AccountMessage, SpendingLimit } from '#snapshot/snapshot.gen.ts';
import { timeZoneOf } from '#snapshot/time-zone.ts';
import { findingsOf } from '../status/findings.ts';
import { formatUsd } from '../status/spending.ts';
import { memoize } from './memoize.ts';
import { expectTimeZone, FieldReader, refuseInvalid } from './translated.ts';
import type { Translated } from './translated.ts';

const PERIODS = { Total: Period.NEVER, Day: Period.DAILY, Week: Period.WEEKLY, Month: Period.MONTHLY } as const;
/** The API's bound on money, which also keeps every sum within int64. */
const MAX_CREDIT_NANO_USD = 9_000_000_000_000_000_000n;

const translated = memoize<Account, Translated<AccountMessage>>();

/** Its credit is the sum of the grants. */
export function translateAccount(account: Account): Translated<AccountMessage> {
  return translated(account, [], () => translateSpec(account));
}

function limitMessage(
  fields: FieldReader,
  limit: NonNullable<Account['spec']['limits']>[number],
  index: number,
): SpendingLimit {
  const { usd, period } = limit;
  const timeZone = timeZoneOf(limit);
  const path = `spec.limits[${index}]`;
  expectTimeZone(fields, `${path}.timeZone`, timeZone);
  return { nanoUsd: fields.decimal(`${path}.usd`, usd), period: PERIODS[period], timeZone };
}

/** Proxies of earlier versions do not know an account's limits: they refuse its calls. */
function creditMessage(
  credit: bigint,
  limits: SpendingLimit[],
): Pick<AccountMessage, 'creditNanoUsd' | 'limits' | 'limitedCreditNanoUsd'> {
  if (limits.length === 0) return { creditNanoUsd: credit, limits };
  return { creditNanoUsd: -MAX_CREDIT_NANO_USD, limits, limitedCreditNanoUsd: credit };
}

function translateSpec(account: Account): Translated<AccountMessage> {
  const findings = findingsOf(account);
  const fields = new FieldReader();
  let credit = 0n;
  for (const { name, usd } of account.spec.grants ?? []) credit += fields.decimal(`spec.grants "${name}": usd`, usd);
  const bounded = credit <= MAX_CREDIT_NANO_USD && credit >= -MAX_CREDIT_NANO_USD;
  fields.expect(
    bounded,
    `The sum of spec.grants is ${formatUsd(credit)} USD; it must be between -${formatUsd(MAX_CREDIT_NANO_USD)} ` +
      `and ${formatUsd(MAX_CREDIT_NANO_USD)}`,
  );
  const limits = (account.spec.limits ?? []).map((limit, index) => limitMessage(fields, limit, index));
  if (fields.faults.length > 0) return refuseInvalid(findings, fields.faults);
  const { namespace, name, generation } = findings;
  const { rateLimits } = account.spec;
  return {
    message: {
      namespace,
      name,
      generation: BigInt(generation),
      ...creditMessage(credit, limits),
      ...(rateLimits && { rateLimits }),
    },
    findings: { ...findings, fields: { creditUsd: formatUsd(credit) }, published: true },
  };
}
