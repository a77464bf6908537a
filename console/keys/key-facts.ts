/** [P] What a key's status says, as figures, marks and a list of facts. */
import type { ApiKey, Condition } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import type { BarTone } from '#web/theme/bar.ts';
import { secretNameOf } from '../../operator/store/key-secret.ts';
import { UNLIMITED } from '../forms/api-key.ts';

/** Whether a key works. Unknown: the gateway has not said so yet. */
interface Readiness {
  readonly state: 'Ready' | 'NotReady' | 'Unknown';
  /** "Ready", "GroupNotFound" */
  readonly reason: string;
  readonly message: string;
  /** It is being seen to; waiting helps. */
  readonly underWay: boolean;
}

export interface KeyFacts {
  readonly apiKey: ApiKey;
  /** What is searched in, in lower case. */
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
  if (!facts) known.set(apiKey, facts = readFacts(apiKey));
  return facts;
}

function readFacts(apiKey: ApiKey): KeyFacts {
  const { metadata: { namespace, name }, spec, status } = apiKey;
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

/** What the Ready condition says, if it speaks of the spec as it is now. */
export function readinessOf({ metadata, status }: ApiKey): Readiness {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (!ready)
    return { state: 'Unknown', reason: 'Pending', message: 'The gateway has not looked at it yet.', underWay: true };
  const { observedGeneration = Infinity } = ready;
  if (observedGeneration < (metadata.generation ?? 0)) return {
    state: 'Unknown', reason: 'Reconciling', message: 'The latest change is on its way to the proxies.', underWay: true,
  };
  const { reason, message } = ready;
  if (ready.status === 'True') return { state: 'Ready', reason, message, underWay: false };
  return { state: ready.status === 'False' ? 'NotReady' : 'Unknown', reason, message, underWay:
    holds('Reconciling', status?.conditions) };
}

function holds(type: string, conditions: readonly Condition[] = []): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
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

const REASON_LABELS: Readonly<Record<string, string>> = {
  Disabled: 'Disabled', Expired: 'Expired', LimitReached:
    'Limit reached', SecretPending: 'Waiting for its key', Reconciling: 'On its way', Pending: 'Waiting',
};

/** One mark; with a message it can be opened. */
export function renderReadiness({ state, reason, message, underWay }: Readiness): Html {
  if (state === 'Ready') return html`<span class="dot good">Ready</span>`;
  const tone = markTone(reason, underWay);
  const mark = html`<span class="dot ${tone}">${REASON_LABELS[reason] ?? reason}</span>`;
  if (message === '') return mark;
  return html`<details class="why"><summary>${state === 'NotReady' &&
    !underWay ? html`<span class="vh">Not ready: </span>` : NOTHING}${mark}</summary><p>${message}</p></details>`;
}

function markTone(reason: string, underWay: boolean): string {
  if (reason === 'Disabled') return 'quiet';
  return underWay ? 'info' : 'bad';
}

/** As the conditions QuotaLow and QuotaExhausted have it: from 80 % on, and at the limit. */
export function barToneOf(spentNanoUsd: bigint, limitNanoUsd: bigint): BarTone {
  if (spentNanoUsd >= limitNanoUsd) return 'bad';
  return spentNanoUsd * 5n >= limitNanoUsd * 4n ? 'warn' : 'plain';
}

/** The content of a card. */
export function renderKeyFacts(apiKey: ApiKey, nowMs: number): Html {
  const facts = factsOf(apiKey);
  return html`<h2 id="glance">At a glance</h2>
<dl class="facts key-facts">
<dt>State</dt><dd id="key-ready">${renderState(facts)}</dd>
${renderMoney(facts)}
<dt>Last used</dt><dd>${facts.lastUsedMs === undefined ? 'Never' : renderTime(facts.lastUsedMs, 'minute')}</dd>
${renderIdentity(apiKey, nowMs)}</dl>`;
}

/** The message stands there: whoever opens this page wants to know. */
function renderState({ readiness }: KeyFacts): Html {
  return readiness.state === 'Ready'
    ? renderReadiness(readiness)
    : html`${renderReadiness({ ...readiness, message: '' })}<p class="hint">${readiness.message}</p>`;
}

function renderMoney(facts: KeyFacts): Html {
  const { metadata: { namespace }, spec: { quota, accountRef } } = facts.apiKey;
  const once = quota.period === 'Never';
  return html`<dt>${once ? 'Spent' : 'Spent in this period'}</dt><dd>${renderSpent(facts)}</dd>
${once ? NOTHING : html`<dt>Spent in all</dt><dd>${renderUsd(facts.totalSpentNanoUsd)}</dd>`}
<dt>Remaining</dt><dd>${facts.remainingNanoUsd === undefined ? 'Unlimited' : renderUsd(facts.remainingNanoUsd)}</dd>
<dt>Account</dt><dd><a href="/wallet/${encodeURIComponent(
  namespace,
)}/${encodeURIComponent(accountRef.name)}"><bdi>${accountRef.name}</bdi></a></dd>`;
}

function renderIdentity(apiKey: ApiKey, nowMs: number): Html {
  const { metadata: { creationTimestamp }, spec: { key }, status } = apiKey;
  return html`<dt>Key</dt><dd>${status?.keyPrefix === undefined
    ? 'Not made yet'
    : html`<code>${status.keyPrefix}…</code>`}${renderRotation(apiKey)}</dd>
${renderPrevious(apiKey, nowMs)}<dt>Secret</dt><dd><code>${secretNameOf(apiKey)}</code>${key.type === 'Provided'
  ? html` <small class="soft">yours; the gateway never writes it</small>`
  : NOTHING}</dd>
${creationTimestamp === undefined ? NOTHING : html`<dt>Created</dt><dd>${expiryOf(creationTimestamp)}</dd>`}`;
}

function renderSpent({ spentNanoUsd, limitNanoUsd }: KeyFacts): Html {
  if (limitNanoUsd === undefined) return renderUsd(spentNanoUsd);
  return html`<div class="meter"><div><span>${renderUsd(
    spentNanoUsd,
  )}</span><span class="soft">of ${renderUsd(limitNanoUsd)}</span></div>\
${renderBar({ part: spentNanoUsd, whole: limitNanoUsd, tone: barToneOf(spentNanoUsd, limitNanoUsd) })}</div>`;
}

function renderRotation({ spec: { key }, status }: ApiKey): Html {
  if (key.type === 'Provided' || key.rotation === 1) return NOTHING;
  return status?.keyRotation !== undefined &&
    status.keyRotation < key.rotation ? html` <small class="soft">rotation ${key.rotation} is being made</small>`
    : html` <small class="soft">rotation ${key.rotation}</small>`;
}

/** Replaced keys that still work. */
export function renderPrevious({ status }: ApiKey, nowMs: number): Html {
  const working = (status?.previousKeys ?? []).filter(({ expirationTime }) => Date.parse(expirationTime) > nowMs);
  if (working.length === 0) return NOTHING;
  return html`<dt>${working.length === 1 ? 'Old key' : 'Old keys'}</dt><dd>${working.map(({ expirationTime }) =>
    html`<div>works until ${expiryOf(expirationTime)}</div>`)}</dd>\n`;
}

function expiryOf(time: string): Html | string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : renderTime(ms, 'minute');
}
