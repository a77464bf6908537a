/**
 * The spending that statuses record: a lower bound, at most 30 s old. It refills a ledger that lost its store, so that
 * no spent quota is granted again.
 */
import type { Account, ApiKey } from '#crds/types.gen.ts';
import type { QuotaPeriod } from '#ledger/spending.ts';
import { timeZoneOf } from '#snapshot/time-zone.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { accountIdOf, keyUidOf, namespacedName, objectId } from '#objects/resources.ts';
import type { LiveObjects } from '../store/live-objects.ts';

export interface KnownSpending {
  readonly keys: readonly {
    readonly keyUid: string;
    readonly account: string;
    readonly totalSpentNanoUsd: bigint;
    readonly period: QuotaPeriod;
    readonly timeZone: string;
    readonly periodStartMs: number | null;
    readonly spentNanoUsd: bigint;
  }[];
  /** `account`: "namespace/name". */
  readonly accounts: readonly {
    readonly account: string;
    readonly spentNanoUsd: bigint;
    readonly windows?: readonly { readonly startMs: number; readonly spentNanoUsd: bigint }[];
  }[];
}

/** The spending of this gateway's keys and accounts, by their live statuses. */
export function knownSpending(objects: Pick<LiveObjects, 'live' | 'ofKind'>, gatewayNamespace: string): KnownSpending {
  const isOurs = ({ spec }: ApiKey | Account): boolean => spec.gatewayNamespace === gatewayNamespace;
  const statusOf = ({ kind, metadata }: ApiKey | Account): Readonly<Record<string, unknown>> => ({
    ...objects.live(objectId(kind, metadata))?.status,
  });
  return {
    keys: objects
      .ofKind('ApiKey')
      .filter(isOurs)
      .flatMap((apiKey) => {
        const { totalSpentUsd, spentUsd, periodStartTime } = statusOf(apiKey);
        const totalSpentNanoUsd = amountOf(totalSpentUsd);
        const { spec } = apiKey;
        if (totalSpentNanoUsd === undefined) return [];
        return [
          {
            keyUid: keyUidOf(apiKey),
            account: accountIdOf(apiKey),
            totalSpentNanoUsd,
            period: spec.quota.period,
            timeZone: timeZoneOf(spec.quota),
            periodStartMs: typeof periodStartTime === 'string' ? Date.parse(periodStartTime) : null,
            spentNanoUsd: amountOf(spentUsd) ?? 0n,
          },
        ];
      }),
    accounts: objects
      .ofKind('Account')
      .filter(isOurs)
      .flatMap((account) => {
        const { spentUsd, limits } = statusOf(account);
        const spentNanoUsd = amountOf(spentUsd);
        if (spentNanoUsd === undefined) return [];
        const windows = Array.isArray(limits) ? limits.flatMap(windowOf) : [];
        return [{ account: namespacedName(account.metadata), spentNanoUsd, ...(windows.length > 0 && { windows }) }];
      }),
  };
}

/** What a status says of a limit in a calendar window. */
function windowOf(limit: unknown): { startMs: number; spentNanoUsd: bigint }[] {
  if (typeof limit !== 'object' || limit === null || !('periodStartTime' in limit) || !('spentUsd' in limit)) return [];
  const [startMs, spentNanoUsd] = [Date.parse(String(limit.periodStartTime)), amountOf(limit.spentUsd)];
  return Number.isNaN(startMs) || spentNanoUsd === undefined ? [] : [{ startMs, spentNanoUsd }];
}

function amountOf(text: unknown): bigint | undefined {
  return typeof text === 'string' ? parseDecimal(text) : undefined;
}
