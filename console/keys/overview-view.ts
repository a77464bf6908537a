/** [P] The overview of a key: its status, what remains, its last call, what it is, and Kubernetes' conditions. */
import type { ApiKey, Condition } from '#crds/types.gen.ts';
import { columnPlaces, renderRemaining, renderSpent, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import type { BarTone } from '#web/theme/bar.ts';
import { secretNameOf } from '#objects/key-secret.ts';
import { renderStatusDot } from '../components/status-mark.ts';
import { factsOf } from '../queries/key-facts.ts';
import type { KeyFacts } from '../queries/key-facts.ts';
import { resetWords } from '../queries/key-status.ts';
import { isLow } from '../queries/low.ts';
import type { KeyStatusFinding } from '../queries/key-status.ts';
import { notice } from '../components/notice.ts';
import { section } from '../components/page.ts';
import { table } from '../components/table.ts';
import type { Fact } from '../components/facts.ts';
import { facts, figures } from '../components/facts.ts';
import { formOfKey } from './key-form.ts';
import { KEY_ROWS } from './fields.ts';

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
  ${section(
    { id: 'details', title: 'Details' },
    html`${facts([...settingsOf(view), ...identityOf(apiKey, view.nowMs)], 'key-facts')}
    ${renderConditions(apiKey.status?.conditions ?? [])}`,
  )}`;
}

/** Why calls are refused, or will be soon. */
function renderStatusNotice({ tone, label, message }: KeyStatusFinding): Html {
  if (message === '') return NOTHING;
  return notice(html`<b>${label}.</b> ${message}`, {
    id: 'key-status-reason',
    ...((tone === 'bad' || tone === 'warn') && { tone }),
  });
}

const PERIOD_WORDS = { Never: '', Daily: ' today', Weekly: ' this week', Monthly: ' this month' } as const;

function renderFigures({ apiKey, finding, changeLimit }: KeyOverview): Html {
  const facts = factsOf(apiKey);
  const { period } = apiKey.spec.quota;
  const { spentNanoUsd, remainingNanoUsd } = facts;
  const places = columnPlaces([spentNanoUsd, remainingNanoUsd ?? 0n]);
  return figures(
    [
      { label: 'Status', value: renderStatusDot(finding), attributes: html`id="key-status"` },
      {
        label: `Remaining${PERIOD_WORDS[period]}`,
        value: remainingNanoUsd === undefined ? 'Unlimited' : renderRemaining(remainingNanoUsd, places),
        note:
          facts.limitNanoUsd === undefined
            ? 'by this key; its account pays'
            : resetWords(apiKey.spec.quota) || 'of its limit',
        below: changeLimit,
      },
      {
        label: `Spent${PERIOD_WORDS[period]}`,
        value: remainingNanoUsd === undefined ? renderUsd(spentNanoUsd) : renderSpent(spentNanoUsd, places),
        below: html`${renderShare(facts)}${
          period === 'Never' ? NOTHING : html`<small>${renderUsd(facts.totalSpentNanoUsd)} in total</small>`
        }`,
      },
      {
        label: 'Last call',
        value: facts.lastUsedMs === undefined ? 'None yet' : renderTime(facts.lastUsedMs, 'minute'),
        attributes: html`class="key-moment"`,
      },
    ],
    'key-figures',
  );
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

/** What the key's form says, as facts. */
function settingsOf({ apiKey, group }: KeyOverview): readonly Fact[] {
  const form = formOfKey(apiKey);
  return KEY_ROWS.flatMap(({ label, text, fact }): Fact[] =>
    fact === undefined ? [] : [[label, fact({ apiKey, group }, text(form))]],
  );
}

function identityOf(apiKey: ApiKey, nowMs: number): readonly Fact[] {
  const {
    metadata: { creationTimestamp },
    spec: { key },
    status,
  } = apiKey;
  const prefix = status?.keyPrefix === undefined ? 'Not made yet' : html`<code>${status.keyPrefix}…</code>`;
  const own = key.type === 'Provided' ? html` <small class="soft">yours; the gateway never writes it</small>` : NOTHING;
  return [
    ['Key', html`${prefix}${renderRotation(apiKey)}`],
    ...previousOf(apiKey, nowMs),
    ['Secret', html`<code>${secretNameOf(apiKey)}</code>${own}`],
    ['Created', creationTimestamp === undefined ? undefined : timeOf(creationTimestamp)],
  ];
}

/** As `kubectl get -o yaml` shows them. */
function renderConditions(conditions: readonly Condition[]): Html {
  if (conditions.length === 0) return NOTHING;
  return html`<details class="fold key-conditions">
    <summary>Conditions in Kubernetes</summary>
    ${table<Condition>(
      [
        { title: 'Type', cell: ({ type }) => type },
        { title: 'Status', cell: ({ status }) => status },
        { title: 'Reason', cell: ({ reason }) => reason },
        { title: 'Message', style: 'wrap', cell: ({ message }) => message },
        { title: 'Since', cell: ({ lastTransitionTime }) => timeOf(lastTransitionTime) },
      ],
      conditions,
      { label: 'Conditions' },
    )}
  </details>`;
}

function renderRotation({ spec: { key }, status }: ApiKey): Html {
  if (key.type === 'Provided' || key.rotation === 1) return NOTHING;
  return status?.keyRotation !== undefined && status.keyRotation < key.rotation
    ? html` <small class="soft">rotation ${key.rotation} is being made</small>`
    : html` <small class="soft">rotation ${key.rotation}</small>`;
}

/** Replaced keys that still work. */
export function previousOf({ status }: ApiKey, nowMs: number): readonly Fact[] {
  const working = (status?.previousKeys ?? []).filter(({ expirationTime }) => Date.parse(expirationTime) > nowMs);
  if (working.length === 0) return [];
  return [
    [
      working.length === 1 ? 'Old key' : 'Old keys',
      html`${working.map(({ expirationTime }) => html`<div>works until ${timeOf(expirationTime)}</div>`)}`,
    ],
  ];
}

function timeOf(time: string): Html | string {
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? time : renderTime(ms, 'minute');
}
