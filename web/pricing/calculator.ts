/**
 * [P] The cost calculator: a GET form that works without scripts, and the cost of a call with its formula.
 * browser/calculator.js recalculates while the reader types, from the exact prices in `data-figures`.
 */
import { formatDecimal } from '../decimal.ts';
import { formatCount, formatExactUsd } from '../format.ts';
import { flag, html, NOTHING } from '../html.ts';
import type { Html } from '../html.ts';
import { COUNT_PARAMETERS, countsOf } from './calculation.ts';
import type { Calculated, CountName } from './calculation.ts';
import { baseDollars, formatFineRange, formatRange, generationUnit } from './dollars.ts';
import { amountOf, baseFigures, estimate, offeredFigures } from './estimate.ts';
import type { Counts } from './estimate.ts';
import { optionText } from './filters.ts';
import { formatE10 } from './json.ts';
import type { PriceFigures, PriceList, PricingRow } from './price-list.ts';
import { formatSort } from './query.ts';
import type { PricingQuery } from './query.ts';

const LABELS: Readonly<Record<CountName, string>> = {
  input: 'Input tokens', cached: 'Cached input', cacheWrite5m: 'Cache write, 5 min', cacheWrite1h: 'Cache write, 1 h',
  output: 'Output tokens',
  generations: 'Images, videos or requests',
};
/** The words for each count in the written-out sum. */
const WORDS: Readonly<Record<CountName, string>> = {
  input: 'input', cached: 'cached', cacheWrite5m: 'written for 5 min', cacheWrite1h: 'written for 1 h',
  output: 'output', generations: '',
};
const FAULT = 'Enter a whole number, at most 15 digits.';
const MILLION = 1_000_000n;
const MANY = 1000n;

/** The whole section. `vendors` is every vendor, in the order of the list's filter. */
export function renderCalculator(
  list: PriceList, query: PricingQuery, calculated: Calculated, vendors: readonly string[],
): Html {
  return html`<section id="calculator" class="calculator" aria-labelledby="calculator-title" tabindex="-1">
<h2 id="calculator-title">What a call costs</h2>
<form id="calculate" method="get" action="#calculator" autocomplete="off">${hiddenView(query)}
<div class="calculator-choice">
<div class="field"><label for="calc-model">Model to price</label><select id="calc-model" name="calc">\
${renderModels(list, calculated.row, vendors)}</select></div>
<div class="field"><label for="calc-group">At the prices of</label><select id="calc-group" name="at">\
<option value="">Base prices (group ratio 1)</option>${list.pricing.groups.map((group) => (
  html`<option value="${group.name}"${flag('selected', group.name === calculated.group)}>\
${optionText(group, list)}</option>`))}</select></div>
</div>
${renderCalculation(list, calculated)}
</form>
</section>`;
}

/** The part that another model or group changes: which counts there are, and the result. */
export function renderCalculation(list: PriceList, calculated: Calculated): Html {
  const { row, typed, counts } = calculated;
  const names = countsOf(row);
  return html`<div id="calculation" class="calculation">
<div class="calculator-counts">${names.map((name) => (
  renderCount(row, name, { typed: typed[name], faulty: counts[name] === undefined })))}
<button type="submit" class="button calculate">Calculate</button></div>
${renderResult(list, calculated, names)}
</div>`;
}

/** The list's own view goes with the calculation. */
function hiddenView({ text, vendor, quotaType, use, context, group, sort }: PricingQuery): Html {
  const kept = [
    ['q', text], ['vendor', vendor], ['type', quotaType?.toLowerCase()], ['use', use],
    ['context', context], ['group', group], ['sort', formatSort(sort)],
  ] as const;
  return html`${kept.map(([name, value]) => value ? html`<input type="hidden" name="${name}" \
value="${value}">` : NOTHING)}`;
}

function renderModels({ pricing }: PriceList, chosen: PricingRow, vendors: readonly string[]): Html {
  const byVendor = Map.groupBy(pricing.rows, ({ vendor }) => vendor);
  return html`${vendors.map((vendor) => html`<optgroup label="${vendor || '—'}">\
${(byVendor.get(vendor) ?? []).map(({ modelName }) => (
    html`<option value="${modelName}"${flag('selected', modelName === chosen.modelName)}>\
${modelName}</option>`))}</optgroup>`)}`;
}

function renderCount(
  row: PricingRow, name: CountName, { typed, faulty }: { readonly typed: string; readonly faulty: boolean },
): Html {
  const id = `calc-${COUNT_PARAMETERS[name]}`;
  return html`<div class="field"><label for="${id}">${labelOf(row, name)}</label>\
<input id="${id}" name="${COUNT_PARAMETERS[name]}" value="${typed}" inputmode="numeric" maxlength="24" \
aria-describedby="${id}-fault"${faulty ? html` aria-invalid="true"` : NOTHING}>\
<p class="fault" id="${id}-fault"${flag('hidden', !faulty)}>${FAULT}</p></div>`;
}

function renderResult(list: PriceList, { row, group, counts }: Calculated, names: readonly CountName[]): Html {
  const prices = pricesOf(list, row, group);
  if (prices.length === 0) return renderNotOffered(list, row, group);
  const known = knownCounts(counts, names);
  const { low, high } = estimate(prices, known);
  const faulty = names.some((name) => counts[name] === undefined);
  return html`<div class="estimate" id="estimate" data-figures="${JSON.stringify(prices.map(figuresOf))}">
<div class="estimate-sum" aria-live="polite" aria-atomic="true"><p>One call costs</p><p class="sum" data-sum>\
${faulty ? '—' : formatExactRange(low, high)}</p>\
<p data-many${flag('hidden', faulty)}>${formatCount(MANY)} such calls: <b>\
${formatExactRange(low * MANY, high * MANY)}</b></p></div>
<dl class="estimate-lines">${names.map((name) => (
  renderLine(labelOf(row, name), name, { prices, count: known[name] })))}</dl>
${renderSum(list, row, { group, names, known })}
</div>`;
}

function renderNotOffered({ groups }: PriceList, row: PricingRow, group: string): Html {
  return html`<div class="estimate" id="estimate"><p aria-live="polite"><b><bdi>\
${groups.get(group)?.displayName ?? group}</bdi></b> does not offer <bdi>${row.modelName}</bdi>. Choose another \
group, or see base prices.</p></div>`;
}

function pricesOf({ groups }: PriceList, row: PricingRow, group: string): PriceFigures[] {
  if (group === '') return baseFigures(row);
  const offer = groups.get(group)?.offers.get(row.modelName);
  return offer ? offeredFigures(offer) : [];
}

function renderLine(
  label: string, name: CountName,
  { prices, count }: { readonly prices: readonly PriceFigures[]; readonly count: bigint },
): Html {
  const rate = name === 'generations' ? html`${formatRange(amountOf(prices, name, 1n))} \
each` : html`${formatRange(amountOf(prices, name, MILLION))} a million`;
  return html`<div data-line="${name}"><dt>${label}</dt><dd><span data-count>\
${formatCount(count)}</span> at ${rate}</dd>\
<dd class="num" data-amount>${formatFineRange(amountOf(prices, name, count))}</dd></div>`;
}

interface Sum {
  readonly group: string;
  readonly names: readonly CountName[];
  readonly known: Counts;
}

/** The formula of docs and footnote, with these figures in it. */
function renderSum(list: PriceList, row: PricingRow, { group, names, known }: Sum): Html {
  const ratio = groupRatioWords(list, group);
  if (row.quotaType === 'Request')
    return html`<p class="formula"><span data-term="generations" data-always>${formatCount(known.generations)}</span> \
× ${requestPrice(row)} × ${ratio}</p>`;
  if (row.figures) return renderDollarSum(row.figures, { group, names, known }, ratio);
  const terms = names.map((name) => html`<span data-term="${name}"${name === 'input' ? html` \
data-always` : flag('hidden', known[name] === 0n)}>${name === 'input' ? '' : ' + '}\
<span data-count>${formatCount(known[name])}</span> \
${WORDS[name]}${name === 'input' ? '' : ` × ${classRatio(row, name)}`}</span>`);
  return html`<p class="formula">( ${terms} ) × model ratio ${formatDecimal(row.modelRatioE9)} × \
$${formatDecimal(row.ratioBaseE9)} ÷ 1,000,000 × ${ratio}</p>`;
}

function requestPrice(row: PricingRow): string {
  const dollars = baseDollars(row);
  return generationUnit(row) === 'request' || dollars.quotaType === 'Token'
    ? `$${formatDecimal(row.requestNanoUsd, 2)}` : formatRange(dollars.request);
}

function labelOf(row: PricingRow, name: CountName): string {
  const unit = generationUnit(row);
  if (name !== 'generations' || unit === 'request') return LABELS[name];
  return unit === 'second' ? 'Seconds of video' : 'Images';
}

/** A price in dollars has a rate for each class. */
function renderDollarSum(figures: PriceFigures, { names, known }: Sum, ratio: string): Html {
  const terms = names.map((name) => html`<span data-term="${name}"${name === 'input' ? html` \
data-always` : flag('hidden', known[name] === 0n)}>${name === 'input' ? '' : ' + '}\
<span data-count>${formatCount(known[name])}</span> \
${WORDS[name]} × ${formatRange(amountOf([figures], name, MILLION))}</span>`);
  return html`<p class="formula">( ${terms} ) ÷ 1,000,000 × ${ratio}</p>`;
}

function classRatio(row: PricingRow, name: CountName): string {
  if (name === 'cacheWrite1h') return formatE10(row.cacheWrite1hRatioE10);
  if (name === 'cacheWrite5m') return formatDecimal(row.cacheWriteRatioE9);
  return formatDecimal(name === 'cached' ? row.cacheRatioE9 : row.completionRatioE9);
}

function groupRatioWords({ pricing, groups }: PriceList, name: string): string {
  const ratio = formatDecimal(pricing.groups.find((group) => group.name === name)?.priceRatioE9 ?? 1_000_000_000n);
  const members = new Set(groups.get(name)?.offers.values().flatMap(({ tiers }) =>
    tiers.flat().map(({ group }) => group)));
  if (members.size === 0 || (members.size === 1 && members.has(name))) return `group ratio ${ratio}`;
  return `the ratio of the member that serves the call${ratio === '1' ? '' : ` × group ratio ${ratio}`}`;
}

/** What the model is priced by; other counts, of another model, are left out. */
function knownCounts(counts: Calculated['counts'], names: readonly CountName[]): Counts {
  const known = (name: CountName): bigint => names.includes(name) ? counts[name] ?? 0n : 0n;
  return {
    input: known('input'), cached: known('cached'), cacheWrite5m: known('cacheWrite5m'),
    cacheWrite1h: known('cacheWrite1h'), output: known('output'), generations: known('generations'),
  };
}

/** Decimal strings: JSON has no whole numbers of this size. */
function figuresOf({ perToken, perGeneration, denominator }: PriceFigures): Record<string, string> {
  const figures = { ...perToken, generations: perGeneration, denominator };
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, String(value)]));
}

function formatExactRange(low: bigint, high: bigint): string {
  return low === high ? formatExactUsd(low) : `${formatExactUsd(low)} – ${formatExactUsd(high)}`;
}
