/**
 * The spending that statuses record: a lower bound, at most 30 s old. It refills a ledger that lost its store, so that
 * no spent quota is granted again.
 */
import type { Account, ApiKey } from '#crds/types.gen.ts';
import type { QuotaPeriod } from '#ledger/ledger.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { accountIdOf, keyUidOf, namespacedName } from '../store/resources.ts';
import type { LiveObjects } from '../store/live-objects.ts';

export interface KnownSpending {
  readonly keys: readonly {
    readonly keyUid: string; readonly account: string; readonly totalSpentNanoUsd: bigint;
    readonly period: QuotaPeriod; readonly periodStartMs: number | null; readonly spentNanoUsd: bigint;
  }[];
  /** `account`: "namespace/name". */
  readonly accounts: readonly { readonly account: string; readonly spentNanoUsd: bigint }[];
}

interface SpendingObjects {
  readonly apiKeys: readonly ApiKey[];
  readonly accounts: readonly Account[];
  readonly objects: Pick<LiveObjects, 'live'>;
}

export function knownSpending({
  apiKeys, accounts, objects,
}: SpendingObjects, gatewayNamespace: string): KnownSpending {
  const statusOf = ({ kind, metadata }: ApiKey | Account): Readonly<Record<string, unknown>> =>
    ({ ...objects.live(`${kind} ${namespacedName(metadata)}`)?.status });
  return {
    keys: apiKeys.filter(({ spec }) => spec.gatewayNamespace === gatewayNamespace).flatMap((apiKey) => {
      const { totalSpentUsd, spentUsd, periodStartTime } = statusOf(apiKey);
      const totalSpentNanoUsd = amountOf(totalSpentUsd);
      const { spec } = apiKey;
      if (totalSpentNanoUsd === undefined) return [];
      return [{
        keyUid: keyUidOf(apiKey), account: accountIdOf(apiKey), totalSpentNanoUsd,
        period: spec.quota.period, periodStartMs: typeof periodStartTime === 'string'
          ? Date.parse(periodStartTime)
          : null, spentNanoUsd: amountOf(spentUsd) ?? 0n,
      }];
    }),
    accounts: accounts.filter(({ spec }) => spec.gatewayNamespace === gatewayNamespace).flatMap((account) => {
      const spentNanoUsd = amountOf(statusOf(account)['spentUsd']);
      return spentNanoUsd === undefined ? [] : [{ account: namespacedName(account.metadata), spentNanoUsd }];
    }),
  };
}

function amountOf(text: unknown): bigint | undefined {
  return typeof text === 'string' ? parseDecimal(text) : undefined;
}
