/** [P] Refused calls: counted by reason, and listed with the error messages that the callers got. */
import { formatCount } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { fundsOf } from '#activity/activity.ts';
import type { ActivityEntry, RefusalCount } from '#activity/activity.ts';
import type { ObjectRef } from '../access/access.ts';
import { callPath, accountPath, modelPath } from '../paths.ts';
import type { Refusals } from '../queries/refusals.ts';
import { notice } from './notice.ts';
import { callLink, refOf, renderKey } from './calls-table.ts';
import { section } from './page.ts';
import type { Column } from './table.ts';
import { table } from './table.ts';

/** How refused calls are listed. */
export interface RefusedListView {
  /** Names of keys by uid. */
  readonly names: ReadonlyMap<string, string>;
  /** The name of the one key that the person sees of the account; undefined: the account itself. */
  readonly keyOf: (entry: ActivityEntry) => string | undefined;
  /** The calls are of several accounts. */
  readonly showAccounts?: boolean;
  /** The list with its filter, to which a call's page leads back; absent: to the account's calls. */
  readonly from?: string;
}

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
  insufficient_quota: { label: 'Spending limit reached', phrase: 'over a spending limit' },
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

/** The meaning of an error code, for counts, which do not tell whose limit it was. */
function reasonOf(errorCode: string | undefined): Reason {
  return REASONS[errorCode ?? ''] ?? INVALID;
}

/** Why calls can be refused, as filters and headings name it. */
export const REFUSAL_REASONS: readonly string[] = [
  ...new Set([...Object.values(REASONS), INVALID].map(({ label }) => label)),
];

/** The reason of an error code, one of REFUSAL_REASONS. */
export function refusalReason(errorCode: string | undefined): string {
  return reasonOf(errorCode).label;
}

/** Why one call was refused, for lists. */
export function whyRefused(entry: ActivityEntry): string {
  if (entry.errorCode !== 'insufficient_quota') return reasonOf(entry.errorCode).label;
  return fundsOf(entry) === 'AccountLimit' ? 'Account limit reached' : 'Key limit reached';
}

/** "14 refused today: 12 over a spending limit, 2 out of credit", or "None refused today". */
export function refusalSentence(counts: readonly RefusalCount[], day: number): string {
  const ofDay = counts.filter((count) => count.day === day);
  const total = sumOf(ofDay);
  if (total === 0) return 'None refused today';
  const byReason = [...Map.groupBy(ofDay, ({ errorCode }) => reasonOf(errorCode).phrase)]
    .map(([phrase, some]) => ({ phrase, calls: sumOf(some) }))
    .sort((a, b) => b.calls - a.calls);
  return `${formatCount(total)} refused today: ${byReason
    .map(({ phrase, calls }) => `${formatCount(calls)} ${phrase}`)
    .join(', ')}`;
}

/** The section of an account's or a key's page; nothing where none was refused for days. */
export function renderRefusalSection(refusals: Refusals, view: RefusalsView): Html {
  if (refusals === 'Missing') return NOTHING;
  if (refusals === 'Unavailable') return section({ id: 'refused', title: 'Refused calls' }, renderUnread(refusals));
  const { counts, latest, today } = refusals;
  if (counts.length === 0 && latest.length === 0) return NOTHING;
  const all = html`<p><a href="${accountPath(view.ref, 'refused', { key: view.key ?? '' })}">All refused calls</a></p>`;
  return section(
    { id: 'refused', title: 'Refused calls', beside: all },
    html`<p>${refusalSentence(counts, today)}. A refused call costs nothing.</p>
      ${renderRefusedTable(latest, listView(view))}`,
  );
}

function listView({ names, key }: RefusalsView): RefusedListView {
  return { names, keyOf: () => key };
}

/** The page of refused calls, below its heading. */
export function renderRefusals(refusals: Refusals, view: RefusalsView): Html {
  if (typeof refusals === 'string') return renderUnread(refusals);
  const { counts, latest, today } = refusals;
  return html`<p>${refusalSentence(counts, today)}.</p>
    ${counts.length === 0 ? NOTHING : renderCounts(counts, today)}
    ${section(
      { id: 'latest-refused', title: 'Latest', beside: 'Up to 100 of each key, for seven days' },
      latest.length === 0
        ? html`<p class="none">No call was refused in the last seven days.</p>`
        : renderRefusedTable(latest, listView(view)),
    )}`;
}

/** Says why refused calls are not shown. */
export function renderUnread(reason: Extract<Refusals, string>): Html {
  if (reason === 'Missing') return notice('The console has not been told where refused calls are kept.');
  return notice('Refused calls cannot be shown at the moment. Try again in a few seconds.', {
    tone: 'warn',
    role: 'status',
  });
}

/** By day and reason, the latest day first. */
function renderCounts(counts: readonly RefusalCount[], today: number): Html {
  const days = [...new Set(counts.map(({ day }) => day))].sort((a, b) => b - a);
  return renderCountTable(counts, {
    rows: days,
    heading: { title: 'Day (UTC)', style: 'nowrap', cell: (day) => dayLabel(day, today) },
    isOf: (count, day) => count.day === day,
    label: 'Refused calls by day and reason',
  });
}

interface CountTable<Row> {
  readonly rows: readonly Row[];
  readonly heading: Column<Row>;
  /** Whether a count belongs to a row. */
  readonly isOf: (count: RefusalCount, row: Row) => boolean;
  readonly label: string;
}

/** A column for each reason, the most frequent first, with the sums of rows and columns. */
export function renderCountTable<Row>(counts: readonly RefusalCount[], view: CountTable<Row>): Html {
  const { rows, heading, isOf, label } = view;
  const reasons = [...Map.groupBy(counts, ({ errorCode }) => refusalReason(errorCode))]
    .map(([reason, some]) => ({ reason, some, calls: sumOf(some) }))
    .sort((a, b) => b.calls - a.calls);
  const column = (title: string, some: readonly RefusalCount[]): Column<Row> => ({
    title,
    num: true,
    cell(row) {
      const calls = sumOf(some.filter((count) => isOf(count, row)));
      return calls === 0 ? html`<span class="soft">0</span>` : formatCount(calls);
    },
    ...(rows.length > 1 && { foot: formatCount(sumOf(some)) }),
  });
  return table(
    [
      { ...heading, ...(rows.length > 1 && { foot: 'All' }) },
      ...reasons.map(({ reason, some }) => column(reason, some)),
      column('All', counts),
    ],
    rows,
    { label, caption: label, style: 'refused-days' },
  );
}

function dayLabel(day: number, today: number): string {
  const date = new Date(day * 86_400_000).toISOString().slice(0, 10);
  return day === today ? `${date}, today` : date;
}

/** All the calls that were counted. */
export function sumOf(counts: readonly RefusalCount[]): number {
  return counts.reduce((sum, { calls }) => sum + calls, 0);
}

/** The refused calls, with the error messages that the callers got. */
export function renderRefusedTable(entries: readonly ActivityEntry[], view: RefusedListView): Html {
  if (entries.length === 0) return NOTHING;
  return table<ActivityEntry>(
    [
      {
        title: 'Time and id',
        cell: (entry) =>
          callLink(
            callPath(
              refOf(entry),
              { callId: entry.callId, keyUid: entry.keyUid },
              { key: view.keyOf(entry), from: view.from },
            ),
            entry,
          ),
      },
      { title: 'Key', cell: (entry) => renderKey(entry, view) },
      {
        title: 'Model',
        style: 'wrap',
        cell: ({ model }) =>
          model === undefined
            ? html`<span class="soft">—</span>`
            : html`<a href="${modelPath(model)}"><bdi>${model}</bdi></a>`,
      },
      {
        title: 'Why',
        cell: (entry) =>
          html`<span class="dot bad">${whyRefused(entry)}</span
            ><small>${entry.httpStatus} <span class="mono">${entry.errorCode ?? ''}</span></small>`,
      },
      {
        title: 'What the API said',
        style: 'words wrap',
        cell: ({ message }) =>
          message ?? html`<span class="soft">The provider's own words went to the caller; they are not kept.</span>`,
      },
    ],
    entries,
    {
      label: 'Latest refused calls',
      caption: 'Refused calls with what the API said',
      cards: true,
      style: 'calls refused',
    },
  );
}
