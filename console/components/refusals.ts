/** [P] Refused calls: counted by reason, and listed with the words that the caller got. */
import { formatCount, renderTime } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ActivityEntry, RefusalCount } from '../../dataplane/activity/activity.ts';
import type { ObjectRef } from '../access/access.ts';
import { callPath, accountPath } from '../paths.ts';
import { shortUid } from '../queries/names.ts';
import type { Refusals } from '../queries/refusals.ts';

export interface RefusalsView {
  readonly ref: ObjectRef;
  /** The name of the one key that is shown; undefined: the whole account. */
  readonly key: string | undefined;
  readonly names: ReadonlyMap<string, string>;
}

interface Reason {
  readonly label: string;
  /** Follows a number of calls. */
  readonly phrase: string;
}

const INVALID: Reason = { label: 'Invalid request', phrase: 'invalid requests' };
const BUSY: Reason = { label: 'Gateway not ready', phrase: 'while the gateway was not ready' };
const REASONS: Readonly<Record<string, Reason>> = {
  insufficient_quota: { label: 'Key limit reached', phrase: "over the key's limit" },
  credit_balance_exhausted: { label: 'Out of credit', phrase: 'out of credit' },
  rate_limit_exceeded: { label: 'Too many at once', phrase: 'over the limit of concurrent calls' },
  invalid_api_key: { label: 'Key not in force', phrase: 'with the key disabled, expired or replaced' },
  model_not_found: { label: 'Model not available', phrase: 'for a model the key cannot call' },
  model_not_priced: { label: 'Model without a price', phrase: 'for a model without a price' },
  wrong_endpoint: { label: 'Wrong endpoint', phrase: 'at the wrong endpoint' },
  not_found: { label: 'Not found', phrase: 'for something that does not exist' },
  context_length_exceeded: { label: 'Too long', phrase: 'too long for the model' },
  request_too_large: { label: 'Too large', phrase: 'too large' },
  request_timeout: { label: 'Upload too slow', phrase: 'sent too slowly' },
  ledger_unavailable: BUSY,
  not_ready: BUSY,
  shutting_down: BUSY,
  too_busy: BUSY,
  internal_error: { label: 'Gateway error', phrase: 'on an error of the gateway' },
  upstream_error: { label: 'Provider failed', phrase: 'by providers that failed' },
  upstream_overloaded: { label: 'Provider overloaded', phrase: 'by overloaded providers' },
};

/** The meaning of an error code, for lists. */
export function reasonOf(errorCode: string | undefined): Reason {
  return REASONS[errorCode ?? ''] ?? INVALID;
}

/** "14 refused today: 12 over the key's limit, 2 out of credit", or "None refused today". */
export function refusalSentence(counts: readonly RefusalCount[], day: number): string {
  const ofDay = counts.filter((count) => count.day === day);
  const total = ofDay.reduce((sum, { calls }) => sum + calls, 0);
  if (total === 0) return 'None refused today';
  const byReason = [...Map.groupBy(ofDay, ({ errorCode }) => reasonOf(errorCode).phrase)]
    .map(([phrase, some]) => ({ phrase, calls: some.reduce((sum, { calls }) => sum + calls, 0) }))
    .sort((a, b) => b.calls - a.calls);
  return `${formatCount(total)} refused today: ${byReason
    .map(({ phrase, calls }) => `${formatCount(calls)} ${phrase}`)
    .join(', ')}`;
}

/** The section of an account's or a key's page; nothing where none was refused for days. */
export function renderRefusalSection(refusals: Refusals, view: RefusalsView): Html {
  if (refusals === 'Missing') return NOTHING;
  if (refusals === 'Unavailable')
    return html`<section class="section" aria-labelledby="refused">
      <h2 id="refused">Refused calls</h2>
      ${renderUnavailable()}
    </section>`;
  const { counts, latest, today } = refusals;
  if (counts.length === 0 && latest.length === 0) return NOTHING;
  return html`<section class="section" aria-labelledby="refused">
    <div class="section-head">
      <h2 id="refused">Refused calls</h2>
      <p><a href="${accountPath(view.ref, 'refused', { key: view.key ?? '' })}">All refused calls</a></p>
    </div>
    <p>${refusalSentence(counts, today)}. A refused call costs nothing.</p>
    ${renderRefusedTable(latest, view)}
  </section>`;
}

/** The page of refused calls, below its heading. */
export function renderRefusals(refusals: Refusals, view: RefusalsView): Html {
  if (refusals === 'Missing')
    return html`<div class="notice"><p>The console has not been told where refused calls are kept.</p></div>`;
  if (refusals === 'Unavailable') return renderUnavailable();
  const { counts, latest, today } = refusals;
  return html`<p>${refusalSentence(counts, today)}.</p>
    ${counts.length === 0 ? NOTHING : renderCounts(counts, today)}
    <section class="section" aria-labelledby="latest-refused">
      <div class="section-head">
        <h2 id="latest-refused">Latest</h2>
        <p>Up to 100 of each key, for seven days</p>
      </div>
      ${
        latest.length === 0
          ? html`<p class="none">No call was refused in the last seven days.</p>`
          : renderRefusedTable(latest, view)
      }
    </section>`;
}

function renderUnavailable(): Html {
  return html`<div class="notice warn" role="status">
    <p>Refused calls cannot be shown at the moment. Try again in a few seconds.</p>
  </div>`;
}

/** By day and reason, the latest day first. */
function renderCounts(counts: readonly RefusalCount[], today: number): Html {
  const reasons = [...Map.groupBy(counts, ({ errorCode }) => reasonOf(errorCode).label)]
    .map(([label, some]) => ({ label, some, calls: sumOf(some) }))
    .sort((a, b) => b.calls - a.calls);
  const days = [...new Set(counts.map(({ day }) => day))].sort((a, b) => b - a);
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Refused calls by day">
    <table class="table refused-days">
      <caption class="vh">
        Refused calls by day and reason
      </caption>
      <thead>
        <tr>
          <th scope="col">Day (UTC)</th>
          ${reasons.map(({ label }) => html`<th scope="col" class="num">${label}</th>`)}
          <th scope="col" class="num">All</th>
        </tr>
      </thead>
      <tbody>
        ${days.map(
          (day) =>
            html`<tr>
              <th scope="row" class="nowrap">${dayLabel(day, today)}</th>
              ${reasons.map(({ some }) => {
                const calls = sumOf(some.filter((count) => count.day === day));
                return html`<td class="num">
                  ${calls === 0 ? html`<span class="soft">0</span>` : formatCount(calls)}
                </td>`;
              })}
              <td class="num">${formatCount(sumOf(counts.filter((count) => count.day === day)))}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

function dayLabel(day: number, today: number): string {
  const date = new Date(day * 86_400_000).toISOString().slice(0, 10);
  return day === today ? `${date}, today` : date;
}

function sumOf(counts: readonly RefusalCount[]): number {
  return counts.reduce((sum, { calls }) => sum + calls, 0);
}

function renderRefusedTable(entries: readonly ActivityEntry[], view: RefusalsView): Html {
  if (entries.length === 0) return NOTHING;
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Latest refused calls">
    <table class="table cards calls refused">
      <caption class="vh">
        Refused calls with what the API said
      </caption>
      <thead>
        <tr>
          <th scope="col">Time and id</th>
          <th scope="col">Key</th>
          <th scope="col">Model</th>
          <th scope="col">Why</th>
          <th scope="col">What the API said</th>
        </tr>
      </thead>
      <tbody>
        ${entries.map((entry) => renderEntry(entry, view))}
      </tbody>
    </table>
  </div>`;
}

function renderEntry(entry: ActivityEntry, { ref, names, key }: RefusalsView): Html {
  const { callId, keyUid, atMs, model, errorCode, httpStatus, message } = entry;
  const name = names.get(keyUid);
  return html`<tr>
    <th scope="row" class="main">
      <a href="${callPath(ref, { callId, keyUid }, key)}">${renderTime(atMs)}</a><small class="mono">${callId}</small>
    </th>
    <td data-label="Key">
      ${
        name === undefined
          ? html`<span class="soft" title="${keyUid}"><bdi>${shortUid(keyUid)}</bdi></span>`
          : html`<bdi>${name}</bdi>`
      }
    </td>
    <td data-label="Model" class="wrap">
      ${model === undefined ? html`<span class="soft">—</span>` : html`<bdi>${model}</bdi>`}
    </td>
    <td data-label="Why">
      <span class="dot bad">${reasonOf(errorCode).label}</span
      ><small>${httpStatus} <span class="mono">${errorCode ?? ''}</span></small>
    </td>
    <td data-label="What the API said" class="words wrap">
      ${message ?? html`<span class="soft">The provider's own words went to the caller; they are not kept.</span>`}
    </td>
  </tr>`;
}
