/**
 * [P] The cost calculator: a GET form that works without scripts, and the cost of a call with its formula.
 * browser/calculator.js recalculates while the reader types, from the exact prices in `data-figures`.
 */
import type { GenerationRate } from '#price/generation.ts';
import { formatDecimal } from '../decimal.ts';
import { formatCount, formatExactUsd } from '../format.ts';
import { flag, html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import { COUNT_PARAMETERS, countsOf } from './calculation.ts';
import type { Calculated } from './calculation.ts';
import {
  amountRange,
  formatFineRange,
  formatRange,
  generationRates,
  generationUnit,
  offeredFigures,
  sizedFigures,
  unitsPriced,
} from './dollars.ts';
import type { GenerationUnit } from './dollars.ts';
import { amountOf, estimate, flatPrices, INPUT_CLASSES, inputOf, stepsOf } from './estimate.ts';
import type { CountName, FlatPrice } from './estimate.ts';
import { optionText } from './filters.ts';
import { formatE10 } from './json.ts';
import type { PriceFigures, PriceList, PricingRow } from './price-list.ts';
import { formatSort } from './query.ts';
import type { PricingQuery } from './query.ts';

const LABELS: Readonly<Record<CountName, string>> = {
  input: 'Input tokens',
  imageInput: 'Image input',
  audioInput: 'Audio input',
  cached: 'Cached input',
  cacheWrite5m: 'Cache write, 5 min',
  cacheWrite1h: 'Cache write, 1 h',
  output: 'Output tokens',
  reasoning: 'Reasoning tokens',
  imageOutput: 'Image output',
  audioOutput: 'Audio output',
  webSearch: 'Web searches',
  webFetch: 'Pages fetched',
  fileSearch: 'File searches',
  generations: 'Images, videos or requests',
};
const GENERATION_LABELS: Readonly<Record<GenerationUnit, string>> = {
  second: 'Seconds of video',
  minute: 'Seconds of audio',
  'million characters': 'Characters',
  image: 'Images',
  request: LABELS.generations,
};
/** The words for each count in the written-out sum. */
const WORDS: Readonly<Record<CountName, string>> = {
  input: 'input',
  imageInput: 'image input',
  audioInput: 'audio input',
  cached: 'cached',
  cacheWrite5m: 'written for 5 min',
  cacheWrite1h: 'written for 1 h',
  output: 'output',
  reasoning: 'reasoning',
  imageOutput: 'image output',
  audioOutput: 'audio output',
  webSearch: 'web searches',
  webFetch: 'pages fetched',
  fileSearch: 'file searches',
  generations: '',
};
/** What is charged by the piece, not by the million tokens. */
const UNITS: ReadonlySet<CountName> = new Set(['webSearch', 'webFetch', 'fileSearch', 'generations']);
const FAULT = 'Enter a whole number, at most 15 digits.';
const MILLION = 1_000_000n;
const MANY = 1000n;

/** The whole section. `vendors` is every vendor, in the order of the list's filter. */
export function renderCalculator(
  list: PriceList,
  query: PricingQuery,
  calculated: Calculated,
  vendors: readonly string[],
): Html {
  return html`<section id="calculator" class="calculator" aria-labelledby="calculator-title" tabindex="-1">
    <h2 id="calculator-title">What a call costs</h2>
    <form id="calculate" method="get" action="#calculator" autocomplete="off">
      ${hiddenView(query)}
      <div class="calculator-choice">
        <div class="field">
          <label for="calc-model">Model to price</label>
          <select id="calc-model" name="calc">
            ${renderModels(list, calculated.row, vendors)}
          </select>
        </div>
        <div class="field">
          <label for="calc-group">At the prices of</label>
          <select id="calc-group" name="at">
            <option value="">Base prices (group ratio 1)</option>
            ${list.pricing.groups.map(
              (group) =>
                html`<option value="${group.name}" ${flag('selected', group.name === calculated.group)}>
                  ${optionText(group, list)}
                </option>`,
            )}
          </select>
        </div>
      </div>
      ${renderCalculation(list, calculated)}
    </form>
  </section>`;
}

/** The part that another model, group or tier changes: which counts there are, and the result. */
export function renderCalculation(list: PriceList, calculated: Calculated): Html {
  const { row, typed, faulty } = calculated;
  const names = countsOf(row);
  return html`<div id="calculation" class="calculation">
    <div class="calculator-counts">
      ${renderServed(calculated)}
      ${names.map((name) => renderCount(row, name, { typed: typed[name] ?? '0', faulty: faulty.has(name) }))}
      <button type="submit" class="button calculate">Calculate</button>
    </div>
    ${renderResult(list, calculated, names)}
  </div>`;
}

/** The choices that change a model's price: service tier, region and size of the generated image or video. */
function renderServed({ row, served }: Calculated): Html {
  const { figures } = row;
  const { serviceTiers, regions } = figures;
  const sized = sizedFigures(figures);
  const label = generationUnit(row) === 'second' ? 'Size' : 'Size and quality';
  const tiers = [...serviceTiers.keys()].filter((name) => name !== 'standard').sort();
  return html`${renderChoice('tier', 'Service tier', served.tier, [
    ['', 'Standard'],
    ...tiers.map(named),
  ])}${renderChoice('region', 'Region', served.region, [['', 'Any other'], ...[...regions.keys()].sort().map(named)])}${
    sized.length < 2
      ? NOTHING
      : renderChoice('image', label, String(served.image ?? ''), [
          ['', 'Any'],
          ...sized.map((figure, index) => [String(index), describeSized(figure)] as const),
        ])
  }`;
}

type Option = readonly [value: string, label: string];

function named(name: string): Option {
  return [name, name];
}

/** Nothing where there is one option only. */
function renderChoice(name: string, label: string, chosen: string, options: readonly Option[]): Html {
  if (options.length < 2) return NOTHING;
  return html`<div class="field">
    <label for="calc-${name}">${label}</label>
    <select id="calc-${name}" name="${name}">
      ${options.map(
        ([value, text]) => html`<option value="${value}" ${flag('selected', value === chosen)}>${text}</option>`,
      )}
    </select>
  </div>`;
}

function describeSized({ size, quality }: GenerationRate): string {
  const words = [size, quality === undefined ? undefined : `${quality} quality`].filter((word) => word !== undefined);
  return words.length === 0 ? 'Any other' : words.join(', ');
}

/** The list's own view goes with the calculation. */
function hiddenView({ text, vendor, quotaType, use, context, group, sort }: PricingQuery): Html {
  const kept = [
    ['q', text],
    ['vendor', vendor],
    ['type', quotaType?.toLowerCase()],
    ['use', use],
    ['context', context],
    ['group', group],
    ['sort', formatSort(sort)],
  ] as const;
  return html`${kept.map(([name, value]) =>
    value ? html`<input type="hidden" name="${name}" value="${value}" />` : NOTHING,
  )}`;
}

function renderModels({ pricing }: PriceList, chosen: PricingRow, vendors: readonly string[]): Html {
  const byVendor = Map.groupBy(pricing.rows, ({ vendor }) => vendor);
  return html`${vendors.map(
    (vendor) =>
      html`<optgroup label="${vendor || '—'}">
        ${(byVendor.get(vendor) ?? []).map(
          ({ modelName }) =>
            html`<option value="${modelName}" ${flag('selected', modelName === chosen.modelName)}>
              ${modelName}
            </option>`,
        )}
      </optgroup>`,
  )}`;
}

function renderCount(
  row: PricingRow,
  name: CountName,
  { typed, faulty }: { readonly typed: string; readonly faulty: boolean },
): Html {
  const id = `calc-${COUNT_PARAMETERS[name]}`;
  const ofContext = INPUT_CLASSES.includes(name) ? html`data-context` : NOTHING;
  return html`<div class="field">
    <label for="${id}">${labelOf(row, name)}</label>
    <input
      id="${id}"
      name="${COUNT_PARAMETERS[name]}"
      value="${typed}"
      inputmode="numeric"
      maxlength="24"
      data-name="${name}"
      ${ofContext}
      aria-describedby="${id}-fault"
      ${faulty ? html`aria-invalid="true"` : NOTHING}
    />
    <p class="fault" id="${id}-fault" ${flag('hidden', !faulty)}>${FAULT}</p>
  </div>`;
}

function renderResult(list: PriceList, calculated: Calculated, names: readonly CountName[]): Html {
  const { row, group, counts, faulty, served } = calculated;
  const figures = pricesOf(list, row, group);
  if (figures.length === 0) return renderNotOffered(list, row, group);
  const prices = flatPrices(figures, served, counts);
  const { low, high } = estimate(prices, counts);
  const steps = stepsOf(figures, served);
  const isFaulty = faulty.size > 0;
  return html`<div
    class="estimate"
    id="estimate"
    data-figures="${JSON.stringify(prices.map(figuresOf))}"
    data-steps="${JSON.stringify(steps)}"
    data-step="${String(steps.filter((above) => inputOf(counts) > above).length)}"
  >
    <div class="estimate-sum" aria-live="polite" aria-atomic="true">
      <p>One call costs</p>
      <p class="sum" data-sum>${isFaulty ? '—' : formatExactRange(low, high)}</p>
      <p data-many ${flag('hidden', isFaulty)}>
        ${formatCount(MANY)} such calls: <b>${formatExactRange(low * MANY, high * MANY)}</b>
      </p>
    </div>
    <dl class="estimate-lines">
      ${names.map((name) => renderLine(labelOf(row, name), name, { prices, count: counts[name] ?? 0n }))}
    </dl>
    ${renderStep(prices)}${renderSum(list, calculated, names)}
  </div>`;
}

function renderStep(prices: readonly FlatPrice[]): Html {
  const above = prices.find((price) => price.above !== undefined)?.above;
  if (above === undefined) return NOTHING;
  return html`<p class="soft">
    With more than ${formatCount(above)} tokens of input, the prices of long requests count for all tokens.
  </p>`;
}

function renderNotOffered({ groups }: PriceList, row: PricingRow, group: string): Html {
  return html`<div class="estimate" id="estimate">
    <p aria-live="polite">
      <b><bdi>${groups.get(group)?.displayName ?? group}</bdi></b> does not offer <bdi>${row.modelName}</bdi>. Choose
      another group, or see base prices.
    </p>
  </div>`;
}

function pricesOf({ groups }: PriceList, row: PricingRow, group: string): PriceFigures[] {
  if (group === '') return [row.figures];
  const offer = groups.get(group)?.offers.get(row.modelName);
  return offer ? offeredFigures(offer) : [];
}

function renderLine(
  label: string,
  name: CountName,
  { prices, count }: { readonly prices: readonly FlatPrice[]; readonly count: bigint },
): Html {
  const rate = UNITS.has(name)
    ? html`${formatRange(amountOf(prices, name, 1n))} each`
    : html`${formatRange(amountOf(prices, name, MILLION))} a million`;
  return html`<div data-line="${name}">
    <dt>${label}</dt>
    <dd><span data-count>${formatCount(count)}</span> at ${rate}</dd>
    <dd class="num" data-amount>${formatFineRange(amountOf(prices, name, count))}</dd>
  </div>`;
}

/** The formula of docs and footnote, with these figures in it. */
function renderSum(list: PriceList, calculated: Calculated, names: readonly CountName[]): Html {
  const { row, group, counts } = calculated;
  const ratio = groupRatioWords(list, group);
  if (row.quotaType === 'Request')
    return html`<p class="formula">
      <span data-term="generations" data-always>${formatCount(counts.generations ?? 0n)}</span> ×
      ${requestPrice(calculated)}${dividedBy(row.figures)} × ${ratio}
    </p>`;
  if (!isPricedByRatios(row)) return renderDollarSum(calculated, names, ratio);
  const terms = names.map((name) => renderTerm(name, counts[name], name === 'input' ? '' : classRatio(row, name)));
  return html`<p class="formula">
    ( ${terms} ) × model ratio ${formatDecimal(row.modelRatioE9)} × $${formatDecimal(row.ratioBaseE9)} ÷ 1,000,000 ×
    ${ratio}
  </p>`;
}

/** " ÷ 60" where the price is for a minute. */
function dividedBy(figures: PriceFigures): string {
  const units = unitsPriced(figures);
  return units === 1n ? '' : ` ÷ ${formatCount(units)}`;
}

/** Whether the ratios say everything that tokens of the model can cost. */
function isPricedByRatios({ isInDollars, figures }: PricingRow): boolean {
  const { contextTiers, serviceTiers, regions, perUse } = figures;
  return !isInDollars && contextTiers.length === 0 && [serviceTiers, regions, perUse].every(({ size }) => size === 0);
}

/** One summand. Those that are 0 are hidden, except for the first. */
function renderTerm(name: CountName, count = 0n, rate = ''): Html {
  return html`<span data-term="${name}" ${name === 'input' ? html`data-always` : flag('hidden', count === 0n)}
    >${name === 'input' ? '' : ' + '}<span data-count>${formatCount(count)}</span>
    ${WORDS[name]}${rate === '' ? '' : ` × ${rate}`}</span
  >`;
}

function requestPrice({ row, served }: Calculated): string {
  if (generationUnit(row) === 'request') return `$${formatDecimal(row.requestNanoUsd, 2)}`;
  const { figures } = row;
  const chosen = served.image === undefined ? undefined : sizedFigures(figures)[served.image];
  return formatRange(
    amountRange(
      (chosen ? [chosen.rate] : generationRates(figures)).map((rate) => ({
        numerator: rate * unitsPriced(figures),
        denominator: figures.denominator,
      })),
    ),
  );
}

function labelOf(row: PricingRow, name: CountName): string {
  return name === 'generations' ? GENERATION_LABELS[generationUnit(row)] : LABELS[name];
}

/** With a rate in dollars for each class, as its tier and region have it. */
function renderDollarSum({ row, served, counts }: Calculated, names: readonly CountName[], ratio: string): Html {
  const base = flatPrices([row.figures], served, counts);
  const term = (name: CountName): Html =>
    renderTerm(name, counts[name], formatRange(amountOf(base, name, UNITS.has(name) ? 1n : MILLION)));
  const uses = names.filter((name) => UNITS.has(name));
  const tokens = html`( ${names.filter((name) => !UNITS.has(name)).map(term)} ) ÷ 1,000,000`;
  return html`<p class="formula">${uses.length === 0 ? tokens : html`( ${tokens}${uses.map(term)} )`} × ${ratio}</p>`;
}

function classRatio(row: PricingRow, name: CountName): string {
  if (name === 'cacheWrite1h') return formatE10(row.cacheWrite1hRatioE10);
  if (name === 'cacheWrite5m') return formatDecimal(row.cacheWriteRatioE9);
  return formatDecimal(name === 'cached' ? row.cacheRatioE9 : row.completionRatioE9);
}

function groupRatioWords({ pricing, groups }: PriceList, name: string): string {
  const ratio = formatDecimal(pricing.groups.find((group) => group.name === name)?.priceRatioE9 ?? 1_000_000_000n);
  const members = new Set(
    groups
      .get(name)
      ?.offers.values()
      .flatMap(({ tiers }) => tiers.flat().map(({ group }) => group)),
  );
  if (members.size === 0 || (members.size === 1 && members.has(name))) return `group ratio ${ratio}`;
  return `the ratio of the member that serves the call${ratio === '1' ? '' : ` × group ratio ${ratio}`}`;
}

/** Decimal strings: JSON has no whole numbers of this size. */
function figuresOf({ rates, denominator }: FlatPrice): Record<string, string> {
  return Object.fromEntries(Object.entries({ ...rates, denominator }).map(([name, value]) => [name, String(value)]));
}

function formatExactRange(low: bigint, high: bigint): string {
  return low === high ? formatExactUsd(low) : `${formatExactUsd(low)} – ${formatExactUsd(high)}`;
}
