/** [P] The figures in a key's spec and status. */
import { conditionOf, isCurrent, isUnderWay } from './conditions.ts';
import type { ApiKey, ApiKeyQuota } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { UTC } from '#snapshot/time-zone.ts';

/** Whether a key works. Unknown: the gateway has not reported yet. */
interface Readiness {
  readonly state: 'Ready' | 'NotReady' | 'Unknown';
  /** "Ready", "GroupNotFound" */
  readonly reason: string;
  readonly message: string;
  /** It is in progress, and ends by itself. */
  readonly underWay: boolean;
}

export interface KeyFacts {
  readonly apiKey: ApiKey;
  /** The text that searches look at, in lower case. */
  readonly text: string;
  /** By which names sort as people expect it: key-2 before key-10. */
  readonly order: string;
  /** In this period. */
  readonly spentNanoUsd: bigint;
  /** Over all periods. */
  readonly totalSpentNanoUsd: bigint;
  /** undefined: Unlimited, or not a number. */
  readonly limitNanoUsd: bigint | undefined;
  /** undefined: Unlimited. */
  readonly remainingNanoUsd: bigint | undefined;
  readonly lastUsedMs: number | undefined;
  readonly expiresMs: number | undefined;
  readonly readiness: Readiness;
}

const known = new WeakMap<ApiKey, KeyFacts>();

/** Of one key; the same object as before for the same key object. */
export function factsOf(apiKey: ApiKey): KeyFacts {
  let facts = known.get(apiKey);
  if (!facts) known.set(apiKey, (facts = readFacts(apiKey)));
  return facts;
}

function readFacts(apiKey: ApiKey): KeyFacts {
  const {
    metadata: { namespace, name },
    spec,
    status,
  } = apiKey;
  const spentNanoUsd = moneyOf(status?.spentUsd) ?? 0n;
  const limitNanoUsd = spec.quota.limitUsd === UNLIMITED ? undefined : moneyOf(spec.quota.limitUsd);
  return {
    apiKey,
    text: `${namespace}/${name}\n${status?.keyPrefix ?? ''}\n${spec.groupRef.name}`.toLowerCase(),
    order: naturalOrder(`${name}\n${namespace}`),
    spentNanoUsd,
    totalSpentNanoUsd: moneyOf(status?.totalSpentUsd) ?? spentNanoUsd,
    limitNanoUsd,
    remainingNanoUsd: limitNanoUsd === undefined ? undefined : limitNanoUsd - spentNanoUsd,
    lastUsedMs: timeOf(status?.lastUsedTime),
    expiresMs: timeOf(spec.expirationTime),
    readiness: readinessOf(apiKey),
  };
}

/** The Ready condition, if it refers to the current spec. */
export function readinessOf(apiKey: ApiKey): Readiness {
  const ready = conditionOf(apiKey, 'Ready');
  if (!ready)
    return { state: 'Unknown', reason: 'Pending', message: 'The gateway has not looked at it yet.', underWay: true };
  if (!isCurrent(ready, apiKey))
    return {
      state: 'Unknown',
      reason: 'Reconciling',
      message: 'The latest change is on its way to the proxies.',
      underWay: true,
    };
  const { reason, message } = ready;
  if (ready.status === 'True') return { state: 'Ready', reason, message, underWay: false };
  return {
    state: ready.status === 'False' ? 'NotReady' : 'Unknown',
    reason,
    message,
    underWay: isUnderWay(apiKey),
  };
}

function moneyOf(usd: string | undefined): bigint | undefined {
  return usd === undefined ? undefined : parseDecimal(usd);
}

function timeOf(time: string | undefined): number | undefined {
  const ms = time === undefined ? NaN : Date.parse(time);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Numbers in names count by their size. */
function naturalOrder(name: string): string {
  return /\d/.test(name) ? name.replace(/\d+/g, (digits) => digits.padStart(16, '0')) : name;
}

/** The zone of a quota's period; an API server with definitions of an earlier version keeps none. */
export function zoneOf({ timeZone = UTC }: Partial<Pick<ApiKeyQuota, 'timeZone'>>): string {
  return timeZone;
}

export const UNLIMITED = 'Unlimited';
