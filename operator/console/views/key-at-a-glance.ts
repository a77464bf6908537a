/** [P] What the gateway says about a key: whether it works, what it has spent, which key it is. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { money, moment } from '#web/figures.ts';
import { renderBar } from '#web/theme/bar.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import { secretNameOf } from '../../store/key-secret.ts';
import { factsOf } from './key-facts.ts';
import type { KeyFacts } from './key-facts.ts';
import { readyMark } from './key-marks.ts';
import { toneOf } from './keys-table.ts';

/** The content of a card. */
export function renderKeyFacts(apiKey: ApiKey, nowMs: number): Html {
  const facts = factsOf(apiKey);
  return html`<h2 id="glance">At a glance</h2>
<dl class="facts key-facts">
<dt>State</dt><dd id="key-ready">${renderState(facts)}</dd>
${renderMoney(facts)}
<dt>Last used</dt><dd>${facts.lastUsedMs === undefined ? 'Never' : moment(facts.lastUsedMs, 'minute')}</dd>
${renderIdentity(apiKey, nowMs)}</dl>`;
}

/** The message stands there: whoever opens this page wants to know. */
function renderState({ readiness }: KeyFacts): Html {
  return readiness.state === 'Ready' ? readyMark(readiness) : html`${readyMark({ ...readiness, message: '' })}<p class="hint">${readiness.message}</p>`;
}

function renderMoney(facts: KeyFacts): Html {
  const { metadata: { namespace }, spec: { quota, accountRef } } = facts.apiKey;
  const once = quota.period === 'Never';
  return html`<dt>${once ? 'Spent' : 'Spent in this period'}</dt><dd>${renderSpent(facts)}</dd>
${once ? NOTHING : html`<dt>Spent in all</dt><dd>${money(facts.totalSpentNanoUsd)}</dd>`}
<dt>Remaining</dt><dd>${facts.remainingNanoUsd === undefined ? 'Unlimited' : money(facts.remainingNanoUsd)}</dd>
<dt>Account</dt><dd><a href="/wallet/${encodeURIComponent(namespace)}/${encodeURIComponent(accountRef.name)}"><bdi>${accountRef.name}</bdi></a></dd>`;
}

function renderIdentity(apiKey: ApiKey, nowMs: number): Html {
  const { metadata: { creationTimestamp }, spec: { key }, status } = apiKey;
  return html`<dt>Key</dt><dd>${status?.keyPrefix === undefined ? 'Not made yet' : html`<code>${status.keyPrefix}…</code>`}${renderRotation(apiKey)}</dd>
${renderPrevious(apiKey, nowMs)}<dt>Secret</dt><dd><code>${secretNameOf(apiKey)}</code>${key.type === 'Provided' ? html` <small class="soft">yours; the gateway never writes it</small>` : NOTHING}</dd>
${creationTimestamp === undefined ? NOTHING : html`<dt>Created</dt><dd>${timeOf(creationTimestamp)}</dd>`}`;
}

function renderSpent({ spentNanoUsd, limitNanoUsd }: KeyFacts): Html {
  if (limitNanoUsd === undefined) return money(spentNanoUsd);
  return html`<div class="meter"><div><span>${money(spentNanoUsd)}</span><span class="soft">of ${money(limitNanoUsd)}</span></div>\
${renderBar({ part: spentNanoUsd, whole: limitNanoUsd, tone: toneOf(spentNanoUsd, limitNanoUsd) })}</div>`;
}

function renderRotation({ spec: { key }, status }: ApiKey): Html {
  if (key.type === 'Provided' || key.rotation === 1) return NOTHING;
  return status?.keyRotation !== undefined && status.keyRotation < key.rotation ? html` <small class="soft">rotation ${key.rotation} is being made</small>`
    : html` <small class="soft">rotation ${key.rotation}</small>`;
}

/** Replaced keys that still work. */
export function renderPrevious({ status }: ApiKey, nowMs: number): Html {
  const working = (status?.previousKeys ?? []).filter(({ expirationTime }) => Date.parse(expirationTime) > nowMs);
  if (working.length === 0) return NOTHING;
  return html`<dt>${working.length === 1 ? 'Old key' : 'Old keys'}</dt><dd>${working.map(({ expirationTime }) => html`<div>works until ${timeOf(expirationTime)}</div>`)}</dd>\n`;
}

function timeOf(time: string): Html | string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : moment(ms, 'minute');
}
