/**
 * [P] The price list with filters, calculator and formula, shared by the public page and the console. The controls are
 * GET forms and need no script; browser/pricing.js sorts and filters in place. Names from manifests are always escaped
 * (html.ts). Wrap it in an element of class "prices".
 */
import { ONE_E9 } from '../decimal.ts';
import { flag, html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import { resolveCalculation } from './calculation.ts';
import { renderCalculation, renderCalculator } from './calculator.ts';
import { renderBasis, renderFilters } from './filters.ts';
import { renderFootnote } from './footnote.ts';
import type { PriceList, PricingRow } from './price-list.ts';
import type { PricingQuery } from './query.ts';
import { arrangeRows, rankRows } from './rows.ts';
import type { ArrangedRow, RankedRow } from './rows.ts';
import { renderTable } from './table.ts';

export interface PricesOptions {
  /** The prefix of the addresses of models' own pages. */
  readonly modelRoot: string;
  /** The ranked rows, if they are known already. */
  readonly ranked?: readonly RankedRow[];
  /** Parameters that the filters keep. */
  readonly kept?: Readonly<Record<string, string>>;
}

/** The view that is asked for. */
export function renderPrices(list: PriceList, query: PricingQuery, options: PricesOptions): Html {
  return list.pricing.rows.length === 0 ? renderEmpty() : renderList(list, query, options);
}

/** The calculator's changing part alone, for its script; undefined: there is no model. */
export function renderCalculationPart(list: PriceList, query: PricingQuery): Html | undefined {
  const calculated = resolveCalculation(list, query.calculation, query.group, undefined);
  return calculated && renderCalculation(list, calculated);
}

/** The models' count of a view, as the script writes it too. */
export function countText(visible: number, all: number): string {
  const models = `${all.toLocaleString('en-US')} ${all === 1 ? 'model' : 'models'}`;
  return visible === all ? models : `${visible.toLocaleString('en-US')} of ${models}`;
}

function renderList(list: PriceList, query: PricingQuery, options: PricesOptions): Html {
  const { modelRoot, ranked = rankRows(list.pricing.rows), kept = {} } = options;
  const vendors = vendorsInOrder(ranked);
  const rows = arrangeRows(ranked, query, query.group === undefined ? undefined : list.groups.get(query.group));
  const example = exampleRow(rows);
  const calculated = resolveCalculation(list, query.calculation, query.group, example);
  const visible = rows.filter((row) => row.visible).length;
  return html`${renderFilters(list, query, { vendors, kept })}
    <section id="list" tabindex="-1" aria-label="Price list">
      <div class="bar-line">
        <p id="count" class="count" role="status">${countText(visible, rows.length)}</p>
        <p id="basis">${renderBasis(list, query)}</p>
      </div>
      ${renderTable(list, query, rows, { vendors, modelRoot })}
      <p id="none" ${flag('hidden', visible > 0)}>
        No model matches these filters. <a href="?" id="clear">Show all models</a>
      </p>
    </section>
    ${calculated ? renderCalculator(list, query, calculated, vendors) : NOTHING} ${renderFootnote(example)}`;
}

/** A visible model that is priced by tokens, preferably one with all ratios. */
function exampleRow(rows: readonly ArrangedRow[]): PricingRow | undefined {
  const candidates = rows.flatMap(({ visible, ranked: { row } }) =>
    visible && row.quotaType === 'Token' && !row.isInDollars ? [row] : [],
  );
  const isTelling = ({ stated, cacheRatioE9, completionRatioE9 }: PricingRow): boolean =>
    stated.cache && cacheRatioE9 !== ONE_E9 && completionRatioE9 !== ONE_E9;
  return candidates.find(isTelling) ?? candidates[0];
}

function vendorsInOrder(ranked: readonly RankedRow[]): string[] {
  const ranks = new Map(ranked.map(({ row, ranks }) => [row.vendor, ranks.vendor]));
  return [...ranks].sort(([, a], [, b]) => a - b).map(([vendor]) => vendor);
}

function renderEmpty(): Html {
  return html`<section class="empty" aria-labelledby="empty">
    <h2 id="empty">No models are priced yet</h2>
    <p>
      A model appears here as soon as a <code>PriceCatalog</code> in the gateway's namespace gives it a price. Apply
      one, for example:
    </p>
    <pre><code>apiVersion: modelgateway.dev/v1alpha1
kind: PriceCatalog
metadata:
  name: anthropic
spec:
  models:
  - name: claude-sonnet-4-5
    vendor: Anthropic
    quotaType: Token
    modelRatio: "1.5"
    completionRatio: "5"
    cacheRatio: "0.1"</code></pre>
    <p>Keys can call it once a <code>ModelRoute</code> serves it and a <code>Group</code> allows it.</p>
  </section>`;
}
