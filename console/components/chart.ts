/**
 * [P] Stacked columns over time as an SVG without text, so that it can stretch. Its scale and dates stand beside it in
 * HTML, and the same numbers in a table; each part of a column leads to the calls behind it.
 */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { formatMark, scaleEnd } from './scale.ts';
import type { Measure } from '../queries/usage-query.ts';

export interface StackedChart {
  readonly title: string;
  /** Beside the title. */
  readonly note: Html;
  readonly measure: Measure;
  /** From the bottom up; at most six. */
  readonly series: readonly ChartSeries[];
  /** In order. */
  readonly columns: readonly ChartColumn[];
  /** The table of the same numbers. */
  readonly table: Html;
}

export interface ChartSeries {
  readonly label: string;
  /** Of the theme's: 0 to 4; 5 is for all others. */
  readonly color: number;
}

export interface ChartColumn {
  /** "2026-11-21" or "2026-11-21 13:00". */
  readonly label: string;
  /** One for each series. */
  readonly parts: readonly ChartPart[];
}

export interface ChartPart {
  readonly value: bigint;
  /** The value in words. */
  readonly text: string;
  /** Where the calls behind it are. */
  readonly href: string;
}

const HEIGHT = 1000;
const PITCH = 10;
const GAP = 2;

export function renderStacked({ title, note, measure, series, columns, table }: StackedChart): Html {
  const end = scaleEnd(
    columns.reduce((most, { parts }) => larger(most, sum(parts)), 0n),
    measure,
  );
  const width = columns.length * PITCH;
  return html`<figure class="chart stacked">
    <figcaption>
      <h2>${title}</h2>
      <span class="soft">${note}</span>
    </figcaption>
    ${series.length > 1 ? renderLegend(series) : NOTHING}
    <div class="chart-plot" aria-hidden="true">
      <div class="chart-scale">
        <span>${formatMark(end, end, measure)}</span><span>${formatMark(end / 2n, end, measure)}</span
        ><span>${formatMark(0n, end, measure)}</span>
      </div>
      <svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" focusable="false">
        ${[0, HEIGHT / 2].map((y) => html`<path class="grid" d="M0 ${y}H${width}" />`)}
        ${columns.map((column, index) => renderColumn(column, { index, end, series }))}
        <path class="grid base" d="M0 ${HEIGHT}H${width}" />
      </svg>
      <p class="chart-days">${marks(columns).map((label) => html`<span>${label}</span>`)}</p>
    </div>
    ${table}
  </figure>`;
}

interface Place {
  readonly index: number;
  readonly end: bigint;
  readonly series: readonly ChartSeries[];
}

function renderColumn({ label, parts }: ChartColumn, { index, end, series }: Place): Html {
  const x = index * PITCH;
  let below = 0n;
  const rectangles = parts.map(({ value, text, href }, at) => {
    if (value <= 0n) return NOTHING;
    const { label: name = '', color = 0 } = series[at] ?? {};
    const [from, to] = [height(below, end), height((below += value), end)];
    return html`<a href="${href}" tabindex="-1"
      ><title>${label}, ${name}: ${text}</title
      ><rect
        class="s${color}"
        x="${x + GAP / 2}"
        y="${HEIGHT - to}"
        width="${PITCH - GAP}"
        height="${Math.max(to - from, 2)}"
    /></a>`;
  });
  return html`<g><rect class="slot" x="${x}" width="${PITCH}" height="${HEIGHT}" />${rectangles}</g>`;
}

/** In the chart's units. */
function height(value: bigint, end: bigint): number {
  return end === 0n ? 0 : Number((value * BigInt(HEIGHT)) / end);
}

export function renderLegend(series: readonly ChartSeries[]): Html {
  return html`<ul class="legend" aria-label="Colors">
    ${series.map(({ label, color }) => html`<li>${renderSwatch(color)}<bdi>${label}</bdi></li>`)}
  </ul>`;
}

/** The square in a series' color. */
export function renderSwatch(color: number): Html {
  return html`<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" focusable="false">
    <rect class="s${color}" width="10" height="10" rx="2" />
  </svg>`;
}

/** First, middle and last. */
function marks(columns: readonly ChartColumn[]): string[] {
  const shown =
    columns.length < 3 ? columns : [columns[0], columns[Math.floor((columns.length - 1) / 2)], columns.at(-1)];
  return shown.flatMap((column) => (column ? [column.label] : []));
}

function sum(parts: readonly ChartPart[]): bigint {
  return parts.reduce((total, { value }) => total + value, 0n);
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
