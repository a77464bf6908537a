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
  return html`<section class="section" aria-labelledby="spending">
    <div class="section-head">
      <h2 id="spending">Spending</h2>
      ${typeof spending === 'string' ? NOTHING : renderRanges(view)}
    </div>
    ${
      typeof spending === 'string'
        ? renderLedgerNotice(spending)
        : html`${renderMissing(spending, range.sinceMs)}${
            spending.all.calls === 0
              ? html`<p class="none">No calls in the last ${range.days} days.</p>`
              : renderCharts(spending, view)
          }`
    }
  </section>`;
}

function renderRanges({ range, pathFor }: SpendingView): Html {
  return html`<ul class="segments" aria-label="Range">
    ${RANGES.map(
      (days) =>
        html`<li>
          <a href="${pathFor(days)}" ${days === range.days ? html`aria-current="true"` : NOTHING}>${days} days</a>
        </li>`,
    )}
  </ul>`;
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

/** The most expensive ones, and the others together. */
function renderRanks(title: string, sums: ReadonlyMap<string, SpendingSum>, label: (name: string) => Html): Html {
  const ranked = [...sums];
  const most = ranked[0]?.[1].costNanoUsd ?? 0n;
  const rest = ranked.slice(SHOWN);
  return html`<section aria-labelledby="${idOf(title)}">
    <h3 id="${idOf(title)}">${title}</h3>
    <div class="table-box">
      <table class="table ranks" aria-labelledby="${idOf(title)}">
        <thead>
          <tr>
            <th scope="col">${title.slice('By '.length).replace(/^./, (first) => first.toUpperCase())}</th>
            <th scope="col" class="share"><span class="vh">Share</span></th>
            <th scope="col" class="num">Calls</th>
            <th scope="col" class="num">Cost</th>
          </tr>
        </thead>
        <tbody>
          ${ranked.slice(0, SHOWN).map(([name, sum]) => renderRank(label(name), sum, most))}${
            rest.length > 0
              ? renderRank(html`<span class="soft">${pluralize(rest.length, 'other')}</span>`, together(rest), most)
              : NOTHING
          }
        </tbody>
      </table>
    </div>
  </section>`;
}

function renderRank(label: Html, { calls, costNanoUsd }: SpendingSum, most: bigint): Html {
  return html`<tr>
    <th scope="row">${label}</th>
    <td class="share">${renderBar({ part: costNanoUsd, whole: most })}</td>
    <td class="num">${formatCount(calls)}</td>
    <td class="num">${renderUsd(costNanoUsd)}</td>
  </tr>`;
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
