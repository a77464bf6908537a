/** [P] The overview of a key: its status, what remains, its last call, what it is, and Kubernetes' conditions. */
import type { ApiKey, Condition } from '#crds/types.gen.ts';
import { columnPlaces, renderRemaining, renderSpent, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import type { BarTone } from '#web/theme/bar.ts';
import { secretNameOf } from '../../operator/store/key-secret.ts';
import { rateText } from '../views/rate-limits.ts';
import { renderStatusDot } from '../views/status-mark.ts';
import { accountPath } from '../wallet/account-facts.ts';
import { factsOf } from './key-facts.ts';
import type { KeyFacts } from './key-facts.ts';
import { isLow, resetWords } from './key-status.ts';
import type { KeyStatusFinding } from './key-status.ts';

export interface KeyOverview {
  readonly apiKey: ApiKey;
  readonly finding: KeyStatusFinding;
  /** The display name of its group. */
  readonly group: string;
  /** The control that changes the limit, for people who may change the key. */
  readonly changeLimit: Html;
  readonly nowMs: number;
}

/** Below the tabs. */
export function renderKeyOverview(view: KeyOverview): Html {
  const { apiKey, finding } = view;
  return html`${renderStatusNotice(finding)} ${renderFigures(view)}
    <section class="section" aria-labelledby="details">
      <h2 id="details">Details</h2>
      <dl class="facts key-facts">${renderSettings(view)}${renderIdentity(apiKey, view.nowMs)}</dl>
      ${renderConditions(apiKey.status?.conditions ?? [])}
    </section>`;
}

/** Why calls are refused, or will be soon. */
function renderStatusNotice({ tone, label, message }: KeyStatusFinding): Html {
  if (message === '') return NOTHING;
  return html`<div class="notice${tone === 'bad' || tone === 'warn' ? ` ${tone}` : ''}" id="key-status-reason">
    <p><b>${label}.</b> ${message}</p>
  </div>`;
}

const PERIOD_WORDS = { Never: '', Daily: ' today', Weekly: ' this week', Monthly: ' this month' } as const;

function renderFigures({ apiKey, finding, changeLimit }: KeyOverview): Html {
  const facts = factsOf(apiKey);
  const { period } = apiKey.spec.quota;
  const again = resetWords(apiKey.spec.quota);
  const { spentNanoUsd, remainingNanoUsd } = facts;
  const places = columnPlaces([spentNanoUsd, remainingNanoUsd ?? 0n]);
  return html`<dl class="figures" id="key-figures">
    <div>
      <dt>Status</dt>
      <dd id="key-status">${renderStatusDot(finding)}</dd>
    </div>
    <div>
      <dt>Remaining${PERIOD_WORDS[period]}</dt>
      <dd>
        ${remainingNanoUsd === undefined ? 'Unlimited' : renderRemaining(remainingNanoUsd, places)}<small>${
          facts.limitNanoUsd === undefined ? 'by this key; its account pays' : again || 'of its limit'
        }</small>${changeLimit}
      </dd>
    </div>
    <div>
      <dt>Spent${PERIOD_WORDS[period]}</dt>
      <dd>
        ${remainingNanoUsd === undefined ? renderUsd(spentNanoUsd) : renderSpent(spentNanoUsd, places)}${renderShare(facts)}${
          period === 'Never' ? NOTHING : html`<small>${renderUsd(facts.totalSpentNanoUsd)} in total</small>`
        }
      </dd>
    </div>
    <div>
      <dt>Last call</dt>
      <dd class="key-moment">
        ${facts.lastUsedMs === undefined ? 'None yet' : renderTime(facts.lastUsedMs, 'minute')}
      </dd>
    </div>
  </dl>`;
}

function renderShare({ spentNanoUsd, limitNanoUsd }: KeyFacts): Html {
  if (limitNanoUsd === undefined) return html`<small>no limit</small>`;
  return html`<small>of ${renderUsd(limitNanoUsd)}</small
    >${renderBar({ part: spentNanoUsd, whole: limitNanoUsd, tone: barToneOf(spentNanoUsd, limitNanoUsd) })}`;
}

/** As the status has it: from 80 % on, and at the limit. */
export function barToneOf(spentNanoUsd: bigint, limitNanoUsd: bigint): BarTone {
  if (spentNanoUsd >= limitNanoUsd) return 'bad';
  return isLow(spentNanoUsd, limitNanoUsd) ? 'warn' : 'plain';
}

function renderSettings({ apiKey: { metadata, spec }, group }: KeyOverview): Html {
  const { accountRef, models, maxConcurrency, rateLimits, expirationTime } = spec;
  const account = accountPath({ namespace: metadata.namespace, name: accountRef.name });
  return html`<dt>Group</dt>
    <dd><bdi>${group}</bdi></dd>
    <dt>Account</dt>
    <dd>
      <a href="${account}"><bdi>${accountRef.name}</bdi></a>
    </dd>
    <dt>Models</dt>
    <dd>${models === undefined ? 'All of its group' : html`<bdi>${models.join(', ')}</bdi>`}</dd>
    <dt>Expires</dt>
    <dd>${expirationTime === undefined ? 'Never' : timeOf(expirationTime)}</dd>
    <dt>Concurrent calls</dt>
    <dd>${maxConcurrency ?? 'Any number'}</dd>
    <dt>Per minute</dt>
    <dd>${rateText(rateLimits) || 'No limit'}</dd>`;
}

function renderIdentity(apiKey: ApiKey, nowMs: number): Html {
  const {
    metadata: { creationTimestamp },
    spec: { key },
    status,
  } = apiKey;
  return html`<dt>Key</dt>
    <dd>
      ${
        status?.keyPrefix === undefined ? 'Not made yet' : html`<code>${status.keyPrefix}…</code>`
      }${renderRotation(apiKey)}
    </dd>
    ${renderPrevious(apiKey, nowMs)}
    <dt>Secret</dt>
    <dd>
      <code>${secretNameOf(apiKey)}</code>${
        key.type === 'Provided' ? html` <small class="soft">yours; the gateway never writes it</small>` : NOTHING
      }
    </dd>
    ${
      creationTimestamp === undefined
        ? NOTHING
        : html`<dt>Created</dt>
            <dd>${timeOf(creationTimestamp)}</dd>`
    }`;
}

/** As `kubectl get -o yaml` shows them. */
function renderConditions(conditions: readonly Condition[]): Html {
  if (conditions.length === 0) return NOTHING;
  return html`<details class="fold key-conditions">
    <summary>Conditions in Kubernetes</summary>
    <div class="table-box" tabindex="0" role="region" aria-label="Conditions">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">Status</th>
            <th scope="col">Reason</th>
            <th scope="col">Message</th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          ${conditions.map(
            ({ type, status, reason, message, lastTransitionTime }) =>
              html`<tr>
                <th scope="row">${type}</th>
                <td>${status}</td>
                <td>${reason}</td>
                <td class="wrap">${message}</td>
                <td>${timeOf(lastTransitionTime)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

function renderRotation({ spec: { key }, status }: ApiKey): Html {
  if (key.type === 'Provided' || key.rotation === 1) return NOTHING;
  return status?.keyRotation !== undefined && status.keyRotation < key.rotation
    ? html` <small class="soft">rotation ${key.rotation} is being made</small>`
    : html` <small class="soft">rotation ${key.rotation}</small>`;
}

/** Replaced keys that still work. */
export function renderPrevious({ status }: ApiKey, nowMs: number): Html {
  const working = (status?.previousKeys ?? []).filter(({ expirationTime }) => Date.parse(expirationTime) > nowMs);
  if (working.length === 0) return NOTHING;
  return html`<dt>${working.length === 1 ? 'Old key' : 'Old keys'}</dt>
    <dd>${working.map(({ expirationTime }) => html`<div>works until ${timeOf(expirationTime)}</div>`)}</dd>`;
}

function timeOf(time: string): Html | string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : renderTime(ms, 'minute');
}
