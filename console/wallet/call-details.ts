/** [P] One call: what the ledger keeps of it, and what the proxies noted beside. */
import type { TokenCounts, UsageRecord } from '#ledger/usage-record.ts';
import { formatCount, formatDuration, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ActivityEntry, CallPrices } from '../../dataplane/activity/activity.ts';
import { renderStatus } from './calls-table.ts';
import { reasonOf } from './refusals.ts';

export interface CallView {
  /** The ledger's; undefined: the call was refused before it cost anything. */
  readonly record: UsageRecord | undefined;
  /** Undefined: not kept any more. */
  readonly entry: ActivityEntry | undefined;
  /** Names of keys by uid; a key that is gone, or not the person's to see, has none. */
  readonly names: ReadonlyMap<string, string>;
  /** Names of groups as users know them. */
  readonly groups: ReadonlyMap<string, string>;
}

const CLASSES: readonly (readonly [keyof TokenCounts, string])[] = [
  ['input', 'Input'], ['cached', 'Cached input'], ['cacheWrite5m', 'Cache writes, 5 minutes'],
  ['cacheWrite1h', 'Cache writes, 1 hour'], ['output', 'Output'],
];
const MILLION = 1_000_000n;

/** What the page shows below its heading. */
export function renderCallDetails(view: CallView): Html {
  const { record, entry } = view;
  return html`${renderError(view)}
<section aria-labelledby="facts"><h2 id="facts" class="vh">Facts</h2>${renderFacts(view)}</section>
${record ? renderPrice(record, entry?.prices) : NOTHING}
${renderTries(view)}`;
}

function renderError({ entry }: CallView): Html {
  if (entry?.errorCode === undefined) return NOTHING;
  return html`<div class="notice bad"><p><b>${entry.refused ? `Refused: ${reasonOf(entry.errorCode).label}` : 'Failed'}\
</b> · ${entry.httpStatus} <code>${entry.errorCode}</code></p>
<p>${entry.message ?? 'The provider\'s own words went to the caller; they are not kept.'}</p></div>`;
}

type Fact = readonly [label: string, value: Html | string | undefined];

function renderFacts({ record, entry, names, groups }: CallView): Html {
  const { callId, keyUid, model } = record ?? entry ?? { callId: '', keyUid: '', model: undefined };
  const facts: readonly Fact[] = [
    ['Id', html`<code>${callId}</code>`],
    ['Time', renderTime(record?.createdMs ?? entry?.atMs ?? 0)],
    ['Key', html`<bdi>${names.get(keyUid) ?? keyUid}</bdi>`],
    ['Model', bdi(model)],
    ['Status', record ? renderStatus(record) : html`<span class="dot bad">Refused</span>`],
    ...factsOfEntry(entry),
    ['Duration', durationOf(record, entry)],
    ...record ? factsOfRecord(record, groups) : [],
  ];
  return html`<dl class="facts call-facts">${facts.map(([label, value]) => value === undefined
    ? NOTHING
    : html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>`;
}

function factsOfEntry(entry: ActivityEntry | undefined): readonly Fact[] {
  if (!entry) return [];
  const { httpStatus, stream, firstByteMs } = entry;
  return [
    ['HTTP status', String(httpStatus)],
    ['Endpoint', endpointOf(entry)],
    ['Time to first token', stream && firstByteMs !== undefined ? formatDuration(firstByteMs) : undefined],
  ];
}

function factsOfRecord({ group, channel, catalog }: UsageRecord, groups: CallView['groups']): readonly Fact[] {
  return [
    ['Group', bdi(groups.get(group) ?? group)], ['Channel', html`<code>${channel}</code>`],
    ['Price of', html`<code>${catalog}</code>`],
  ];
}

/** Undefined: it is running. */
function durationOf(record: UsageRecord | undefined, entry: ActivityEntry | undefined): string | undefined {
  if (record?.status === 'Running') return undefined;
  return formatDuration(record?.durationMs ?? entry?.durationMs ?? 0);
}

const ENDPOINTS: Readonly<Record<string, string>> = {
  chat_completions: 'POST /v1/chat/completions', messages: 'POST /v1/messages', embeddings: 'POST /v1/embeddings',
  count_tokens: 'POST /v1/messages/count_tokens', images: 'POST /v1/images/generations', videos: 'POST /v1/videos',
  responses: 'POST /v1/responses',
};

/** Undefined: the call was refused before it was known. */
function endpointOf({ endpoint, stream }: ActivityEntry): string | undefined {
  const name = ENDPOINTS[endpoint];
  return name === undefined ? undefined : `${name}${stream ? ', streamed' : ''}`;
}

function bdi(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<bdi>${text}</bdi>`;
}

/** Tokens and price by class; the sum is the ledger's. */
function renderPrice(record: UsageRecord, prices: CallPrices | undefined): Html {
  const { costNanoUsd, unbilledNanoUsd } = record;
  const lines = linesOf(record, prices);
  // a call that failed, was cut or was capped costs something else than its tokens: only their sum is told then
  const adds = sumsUp(lines, costNanoUsd + unbilledNanoUsd);
  return html`<section class="section" aria-labelledby="price"><h2 id="price">Tokens and price</h2>
<div class="table-box" tabindex="0" role="region" aria-label="Price by class"><table class="table call-price">
<caption class="vh">Tokens by class, their price and their cost</caption>
<thead><tr><th scope="col">Class</th><th scope="col" class="num">Count</th>\
<th scope="col" class="num">Price</th><th scope="col" class="num">Cost</th></tr></thead>
<tbody>${lines.map((line) => renderLine(line, adds))}</tbody>
<tfoot><tr><th scope="row">Billed</th><td></td><td></td>\
<td class="num">${renderUsd(costNanoUsd, 6)}</td></tr></tfoot></table></div>
${unbilledNanoUsd > 0n ? html`<p>Not billed, since neither key nor account could pay it: \
${renderUsd(unbilledNanoUsd, 6)}.</p>` : NOTHING}
${prices && !adds ? html`<p class="soft">${whyOther(record)}</p>` : NOTHING}</section>`;
}

function renderLine({ label, count, price, unit, cost }: PriceLine, adds: boolean): Html {
  return html`
<tr><th scope="row">${label}</th><td class="num">${formatCount(count)}</td><td class="num">${price === undefined
  ? UNKNOWN
  : html`${renderUsd(price)}<small>${unit}</small>`}</td><td class="num">${adds && cost !== undefined
  ? renderUsd(cost, 6)
  : UNKNOWN}</td></tr>`;
}

const UNKNOWN = html`<span class="soft">—</span>`;

function whyOther({ status }: UsageRecord): string {
  if (status === 'Failed') return 'A call that fails at the provider before any output costs nothing.';
  if (status === 'Refunded') return 'The job failed at the provider, and its cost was given back.';
  return 'Not billed by these figures alone: the call was cut short, or its provider exceeded what was asked for.';
}

interface PriceLine {
  readonly label: string;
  readonly count: bigint;
  /** Nano-USD per unit. */
  readonly price: bigint | undefined;
  readonly unit: string;
  readonly cost: bigint | undefined;
}

function linesOf({ tokens, costNanoUsd }: UsageRecord, prices: CallPrices | undefined): PriceLine[] {
  const perGeneration = BigInt(prices?.generation ?? '0');
  const ofTokens = CLASSES.filter(([name]) => tokens[name] > 0 || name === 'input' || name === 'output')
    .map(([name, label]): PriceLine => {
      const count = BigInt(tokens[name]);
      const price = prices && BigInt(prices[name]);
      return {
        label, count, price, unit: 'per million', cost: price === undefined ? undefined : half(count * price, MILLION),
      };
    });
  if (perGeneration === 0n) return ofTokens;
  const generation: PriceLine = {
    label: 'Generations', count: half(costNanoUsd, perGeneration), price: perGeneration, unit: 'each',
    cost: half(costNanoUsd, perGeneration) * perGeneration,
  };
  return [generation, ...ofTokens.filter(({ count }) => count > 0n)];
}

/** Rounded half up. */
function half(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}

/** Whether the lines are what was billed, but for the rounding of each. */
function sumsUp(lines: readonly PriceLine[], costNanoUsd: bigint): boolean {
  if (lines.some(({ cost }) => cost === undefined)) return false;
  const difference = lines.reduce((sum, { cost = 0n }) => sum + cost, 0n) - costNanoUsd;
  return difference <= BigInt(lines.length) && -difference <= BigInt(lines.length);
}

function renderTries({ entry, record }: CallView): Html {
  if (!entry) return html`<p class="none">Tries, the time to the first token and prices by class are kept of the \
latest calls of each key, for seven days. Of this call they are not, or no longer.</p>`;
  if (entry.attempts.length === 0) return NOTHING;
  return html`<section class="section" aria-labelledby="tries"><h2 id="tries">Tries</h2>
<div class="table-box" tabindex="0" role="region" aria-label="Channels tried"><table class="table call-tries">
<caption class="vh">Channels that were tried, in order</caption>
<thead><tr><th scope="col">Channel</th><th scope="col">What happened</th><th scope="col" class="num">Took</th></tr>\
</thead><tbody>${entry.attempts.map(({ channel, outcome, durationMs }) => html`
<tr><th scope="row"><code>${channel}</code></th><td><span class="dot ${outcome === 'ok' ? 'good' : 'warn'}">\
${outcomeWords(outcome)}</span></td><td class="num">${formatDuration(durationMs)}</td></tr>`)}</tbody></table></div>
${record === undefined ? NOTHING : html`<p class="soft">Only the try that answered is billed.</p>`}</section>`;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  ok: 'Answered', full: 'Skipped: full', short: 'Skipped: dearer than what is left', connect: 'Could not be reached',
  reset: 'The connection broke', timeout: 'No answer in time', cut: 'The answer broke off', idle: 'Went silent',
  aborted: 'Cancelled',
};

function outcomeWords(outcome: string): string {
  const [, status] = /^status_(\d+)$/.exec(outcome) ?? [];
  return status === undefined ? OUTCOMES[outcome] ?? outcome : `Answered ${status}`;
}
