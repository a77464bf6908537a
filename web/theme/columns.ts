/**
 * [P] A column chart of money by day: an SVG without text, so that it can stretch, with a scale and dates, and the same
 * numbers as a table.
 */
import { formatCount, formatExactUsd, formatUsd, renderUsd } from '../format.ts';
import { html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';

interface DayColumn {
  /** "2026-11-21", in UTC. */
  readonly day: string;
  readonly costNanoUsd: bigint;
  readonly calls: number;
}

interface ColumnChart {
  readonly title: string;
  /** Shown next to the title, for example the sum. */
  readonly note: Html;
  /** Every day of the range in order, including those without calls. */
  readonly days: readonly DayColumn[];
}

const HEIGHT = 1000;
const PITCH = 10;
const GAP = 2;
const CENT_NANO_USD = 10_000_000n;

/** Renders the chart and its collapsed table. */
export function renderColumns({ title, note, days }: ColumnChart): Html {
  const top = roundUp(days.reduce((most, { costNanoUsd }) => (costNanoUsd > most ? costNanoUsd : most), 0n));
  const places = top < 10n * CENT_NANO_USD ? 4 : 2;
  const width = days.length * PITCH;
  return html`<figure class="chart">
    <figcaption>
      <h3>${title}</h3>
      <span class="soft">${note}</span>
    </figcaption>
    <div class="chart-plot" aria-hidden="true">
      <div class="chart-scale">
        <span>${formatUsd(top, places)}</span><span>${formatUsd(top / 2n, places)}</span><span>$0</span>
      </div>
      <svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" focusable="false">
        ${[0, HEIGHT / 2].map((y) => html`<path class="grid" d="M0 ${y}H${width}" />`)}
        ${days.map((day, index) => renderColumn(day, index, top))}
        <path class="grid base" d="M0 ${HEIGHT}H${width}" />
      </svg>
      <p class="chart-days">${dayMarks(days).map((day) => html`<span>${day}</span>`)}</p>
    </div>
    ${renderTable(title, days)}
  </figure>`;
}

function renderColumn({ day, costNanoUsd, calls }: DayColumn, index: number, top: bigint): Html {
  const height = costNanoUsd <= 0n ? 0 : Math.max(6, Number((costNanoUsd * BigInt(HEIGHT)) / top));
  const x = index * PITCH;
  return html`<g
    ><title>${day}: ${formatExactUsd(costNanoUsd)}, ${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}</title
    ><rect class="slot" x="${x}" width="${PITCH}" height="${HEIGHT}" />${
      height > 0
        ? html`<rect
            class="column"
            x="${x + GAP / 2}"
            y="${HEIGHT - height}"
            width="${PITCH - GAP}"
            height="${height}"
          />`
        : NOTHING
    }</g
  >`;
}

/** The first, the middle and the last day. */
function dayMarks(days: readonly DayColumn[]): string[] {
  const marks = days.length < 3 ? days : [days[0], days[Math.floor((days.length - 1) / 2)], days.at(-1)];
  return marks.flatMap((mark) => (mark ? [mark.day] : []));
}

function renderTable(title: string, days: readonly DayColumn[]): Html {
  const used = days.filter(({ calls }) => calls > 0);
  if (used.length === 0) return NOTHING;
  return html`<details class="fold">
    <summary>As a table</summary>
    <div class="table-box" tabindex="0" role="region" aria-label="${title}, as a table">
      <table class="table">
        <caption>
          Days without calls are left out. Days begin at midnight, UTC.
        </caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="num">Calls</th>
            <th scope="col" class="num">Cost</th>
          </tr>
        </thead>
        <tbody>
          ${used.toReversed().map(
            ({ day, calls, costNanoUsd }) =>
              html`<tr>
                <th scope="row">${day}</th>
                <td class="num">${formatCount(calls)}</td>
                <td class="num">${renderUsd(costNanoUsd, 6)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
}

/** The next round amount whose half is round too. */
function roundUp(nanoUsd: bigint): bigint {
  let power = 10_000n;
  while (power * 10n < nanoUsd) power *= 10n;
  const steps = [10n, 15n, 20n, 30n, 40n, 50n, 60n, 80n].map((tenths) => (tenths * power) / 10n);
  return steps.find((step) => step >= nanoUsd) ?? power * 10n;
}
