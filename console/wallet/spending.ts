/** [P] Spending of a range of days: as columns by day, and as bars by key and by model. */
import { pluralize, formatCount, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderBar } from '#web/theme/bar.ts';
import { renderColumns } from '#web/theme/columns.ts';
import type { SpendingSum, SpendingSums } from '../data/usage.ts';
import { daysOf, RANGES } from './query.ts';
import type { DayRange } from './query.ts';
import { shortUid } from '../queries/names.ts';
import { renderLedgerNotice, renderMissing } from '../components/ledger-notice.ts';
import { section } from '../components/page.ts';
import { table } from '../components/table.ts';
import { segments } from '../components/tabs.ts';

/** Missing: no ledger is known here. Unavailable: it does not answer. */
export type Spending = SpendingSums | 'Missing' | 'Unavailable';

export interface SpendingView {
  readonly spending: Spending;
  readonly range: DayRange;
  /** The address of this page for another range. */
  readonly pathFor: (days: number) => string;
  /** A key's name, and where its calls are. */
  readonly key: (uid: string) => { readonly name: string | undefined; readonly path: string };
  readonly modelPath: (model: string) => string;
  /** False: it is the spending of one key. */
  readonly byKey: boolean;
}

const SHOWN = 10;
const NONE: SpendingSum = { calls: 0, costNanoUsd: 0n, inputTokens: 0, outputTokens: 0 };

export function renderSpending(view: SpendingView): Html {
  const { spending, range } = view;
  if (typeof spending === 'string')
    return section({ id: 'spending', title: 'Spending', beside: NOTHING }, renderLedgerNotice(spending));
  return section(
    { id: 'spending', title: 'Spending', beside: renderDays(view) },
    html`${renderMissing(spending, range.sinceMs)}${
      spending.all.calls === 0
        ? html`<p class="none">No calls in the last ${range.days} days.</p>`
        : renderCharts(spending, view)
    }`,
  );
}

function renderDays({ range, pathFor }: SpendingView): Html {
  return segments(
    'Range',
    RANGES.map((days) => ({ label: `${days} days`, href: pathFor(days), current: days === range.days })),
  );
}

function renderCharts({ all, byDay, byKey, byModel }: SpendingSums, view: SpendingView): Html {
  const days = daysOf(view.range).map((day) => {
    const { calls, costNanoUsd } = byDay.get(day) ?? NONE;
    return { day, calls, costNanoUsd };
  });
  const note = html`<b>${renderUsd(all.costNanoUsd)}</b> for ${pluralize(all.calls, 'call')} in ${view.range.days} days`;
  return html`${renderColumns({ title: 'By day', note, days })}
    <div class="split">
      ${view.byKey ? renderRanks('By key', byKey, (uid) => keyLabel(uid, view)) : NOTHING}
      ${renderRanks('By model', byModel, (model) => html`<a href="${view.modelPath(model)}"><bdi>${model}</bdi></a>`)}
    </div>`;
}

function keyLabel(uid: string, { key }: SpendingView): Html {
  const { name, path } = key(uid);
  if (name !== undefined) return html`<a href="${path}"><bdi>${name}</bdi></a>`;
  return html`<a href="${path}" title="${uid}, which is gone or not yours to see">Key <bdi>${shortUid(uid)}</bdi></a>`;
}

interface Rank {
  readonly label: Html;
  readonly sum: SpendingSum;
}

/** The most expensive ones, and the others together. */
function renderRanks(title: string, sums: ReadonlyMap<string, SpendingSum>, label: (name: string) => Html): Html {
  const ranked = [...sums];
  const most = ranked[0]?.[1].costNanoUsd ?? 0n;
  const rest = ranked.slice(SHOWN);
  const others = {
    label: html`<span class="soft">${pluralize(rest.length, 'other')}</span>`,
    sum: together(rest),
  };
  const shown = ranked.slice(0, SHOWN).map(([name, sum]): Rank => ({ label: label(name), sum }));
  return html`<section aria-labelledby="${idOf(title)}">
    <h3 id="${idOf(title)}">${title}</h3>
    ${table<Rank>(
      [
        {
          title: title.slice('By '.length).replace(/^./, (first) => first.toUpperCase()),
          cell: (rank) => rank.label,
        },
        {
          title: 'Share',
          hidden: true,
          columnStyle: 'share',
          cell: ({ sum }) => renderBar({ part: sum.costNanoUsd, whole: most }),
        },
        { title: 'Calls', num: true, cell: ({ sum }) => formatCount(sum.calls) },
        { title: 'Cost', num: true, cell: ({ sum }) => renderUsd(sum.costNanoUsd) },
      ],
      rest.length > 0 ? [...shown, others] : shown,
      { labelledBy: idOf(title), style: 'ranks' },
    )}
  </section>`;
}

function together(sums: readonly (readonly [string, SpendingSum])[]): SpendingSum {
  return sums.reduce(
    (total, [, sum]) => ({
      calls: total.calls + sum.calls,
      costNanoUsd: total.costNanoUsd + sum.costNanoUsd,
      inputTokens: total.inputTokens + sum.inputTokens,
      outputTokens: total.outputTokens + sum.outputTokens,
    }),
    NONE,
  );
}

function idOf(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}
