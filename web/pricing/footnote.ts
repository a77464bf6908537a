/** [P] Explains the price formula with an example from this list. */
import { formatDecimal } from '../decimal.ts';
import { html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import { formatAmount } from './dollars.ts';
import type { PricingRow } from './price-list.ts';

const INPUT = 2_000n;
const CACHED = 10_000n;
const OUTPUT = 800n;
const E9 = 10n ** 9n;
const MILLION = 10n ** 6n;

/** The formula and, where there is a model priced by tokens, the example. */
export function renderFootnote(example: PricingRow | undefined): Html {
  return html`<section class="how" aria-labelledby="how">
    <h2 id="how">How a call is priced</h2>
    <dl>
      <div>
        <dt>Token-based</dt>
        <dd>
          ( input + cached × cache ratio + output × completion ratio ) × model ratio × ratio base ÷ 1,000,000 × group
          ratio
        </dd>
      </div>
      <div>
        <dt>Per-request</dt>
        <dd>price × generations × group ratio</dd>
      </div>
    </dl>
    ${example ? renderExample(example) : NOTHING}
    <p>
      The ratio base is the price of a million input tokens at model ratio 1. Where writing to a cache has ratios of its
      own, a row's cached price opens to show them. A call costs what these prices say at the moment it is admitted,
      rounded once, to a billionth of a dollar.
    </p>
  </section>`;
}

function renderExample(row: PricingRow): Html {
  const cost = exampleCost(row);
  const { cache } = row.stated;
  return html`<p>
      <b>For example,</b> <bdi>${row.modelName}</bdi> reads 12,000 tokens${cache ? ', 10,000 of them cached,' : ''} and
      writes 800, in a group with ratio 1:
    </p>
    <p class="sum">
      ( ${cache ? html`2,000 + 10,000 × ${formatDecimal(row.cacheRatioE9)}` : '12,000'} + 800 ×
      ${formatDecimal(row.completionRatioE9)} ) × ${formatDecimal(row.modelRatioE9)} ×
      $${formatDecimal(row.ratioBaseE9)} ÷ 1,000,000 × 1 = <b>${cost}</b>
    </p>`;
}

function exampleCost({ cacheRatioE9, completionRatioE9, modelRatioE9, ratioBaseE9 }: PricingRow): string {
  const weightedE9 = INPUT * E9 + CACHED * cacheRatioE9 + OUTPUT * completionRatioE9;
  return formatAmount({ numerator: weightedE9 * modelRatioE9 * ratioBaseE9, denominator: E9 * E9 * MILLION });
}
