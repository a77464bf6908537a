/** [P] Translates an Account to the credit and the limits that its keys share. */
import type { Account } from '#crds/types.gen.ts';
import type { Account as AccountMessage } from '#snapshot/snapshot.gen.ts';
import { findingsOf } from '../status/findings.ts';
import { formatUsd } from '../status/spending.ts';
import { memoize } from './memoize.ts';
import { FieldReader, refuseInvalid } from './translated.ts';
import type { Translated } from './translated.ts';

/** The API's bound on money, which also keeps every sum within int64. */
const MAX_CREDIT_NANO_USD = 9_000_000_000_000_000_000n;

const translated = memoize<Account, Translated<AccountMessage>>();

/** Its credit is the sum of the grants. */
export function translateAccount(account: Account): Translated<AccountMessage> {
  return translated(account, [], () => translateSpec(account));
}

function translateSpec(account: Account): Translated<AccountMessage> {
  const findings = findingsOf(account);
  const fields = new FieldReader();
  let credit = 0n;
  for (const { name, usd } of account.spec.grants ?? []) credit += fields.decimal(`spec.grants "${name}": usd`, usd);
  const bounded = credit <= MAX_CREDIT_NANO_USD && credit >= -MAX_CREDIT_NANO_USD;
  fields.expect(
    bounded,
    `The sum of spec.grants is ${formatUsd(credit)} USD, and an account holds at most ` +
      `${formatUsd(MAX_CREDIT_NANO_USD)} either way`,
  );
  if (fields.faults.length > 0) return refuseInvalid(findings, fields.faults);
  const { namespace, name, generation } = findings;
  const { rateLimits } = account.spec;
  return {
    message: {
      namespace,
      name,
      generation: BigInt(generation),
      creditNanoUsd: credit,
      ...(rateLimits && { rateLimits }),
    },
    findings: { ...findings, fields: { creditUsd: formatUsd(credit) }, published: true },
  };
}
