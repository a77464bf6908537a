/** [P] One call: its record in the ledger, and the proxies' notes. */
import { perWords, viewLines } from '#price/bill.ts';
import type { BillLineView } from '#price/bill.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { formatCount, formatDuration, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ActivityEntry } from '../../dataplane/activity/activity.ts';
import { renderStatus } from '../components/calls-table.ts';
import { reasonOf } from '../components/refusals.ts';
import { renderMargin, renderUpstreamCost } from '../components/margin.ts';

export interface CallView {
  /** The ledger's; undefined: the call was refused before it cost anything. */
  readonly record: UsageRecord | undefined;
  /** Undefined: not kept any more. */
  readonly entry: ActivityEntry | undefined;
  /** Names of keys by uid; a key that is gone, or not the person's to see, has none. */
  readonly names: ReadonlyMap<string, string>;
  /** The person may see what the call cost the platform. */
  readonly margins: boolean;
  /** Names of groups as users know them. */
  readonly groups: ReadonlyMap<string, string>;
}

/** Token classes, for records of older versions, which have no lines. */
const CLASSES: readonly (readonly [keyof TokenCounts, string])[] = [
  ['input', 'input'],
  ['cached', 'cacheRead'],
  ['cacheWrite5m', 'cacheWrite5m'],
  ['cacheWrite1h', 'cacheWrite1h'],
  ['output', 'output'],
];
const DIMENSIONS: Readonly<Record<string, string>> = {
  input: 'Input',
  cacheRead: 'Cached input',
  cacheWrite5m: 'Cache writes, 5 minutes',
  cacheWrite1h: 'Cache writes, 1 hour',
  output: 'Output',
  reasoning: 'Reasoning',
  audioInput: 'Audio input',
  audioOutput: 'Audio output',
  imageInput: 'Image input',
  imageOutput: 'Image output',
  generation: 'Generations',
  webSearch: 'Web searches',
  webFetch: 'Web pages',
  fileSearch: 'File searches',
};
const NANO_DIGITS = 9;

/** What the page shows below its heading. */
export function renderCallDetails(view: CallView): Html {
  const { record } = view;
  return html`${renderError(view)}
    <section aria-labelledby="facts">
      <h2 id="facts" class="vh">Facts</h2>
      ${renderFacts(view)}
    </section>
    ${record ? renderPrice(record, view.margins) : NOTHING} ${renderTries(view)}`;
}

function renderError({ entry }: CallView): Html {
  if (entry?.errorCode === undefined) return NOTHING;
  return html`<div class="notice bad">
    <p>
      <b>${entry.refused ? `Refused: ${reasonOf(entry.errorCode).label}` : 'Failed'}</b> · ${entry.httpStatus}
      <code>${entry.errorCode}</code>
    </p>
    <p>${entry.message ?? "The provider's own words went to the caller; they are not kept."}</p>
  </div>`;
}

type Fact = readonly [label: string, value: Html | string | undefined];

/** A deleted key keeps the name that the record has. */
function keyLabel({ names, record }: CallView, keyUid: string): string {
  return names.get(keyUid) ?? record?.keyName ?? keyUid;
}

function renderFacts(view: CallView): Html {
  const { record, entry, groups } = view;
  const { callId, keyUid, model } = record ?? entry ?? { callId: '', keyUid: '', model: undefined };
  const facts: readonly Fact[] = [
    ['Id', html`<code>${callId}</code>`],
    ['Time', renderTime(record?.createdMs ?? entry?.atMs ?? 0)],
    ['Key', html`<bdi>${keyLabel(view, keyUid)}</bdi>`],
    ['Model', bdi(model)],
    ['Status', record ? renderStatus(record) : html`<span class="dot bad">Refused</span>`],
    ...factsOfEntry(entry),
    ['Duration', durationOf(record, entry)],
    ...(record ? factsOfRecord(record, groups) : []),
  ];
  return html`<dl class="facts call-facts">
    ${facts.map(([label, value]) =>
      value === undefined
        ? NOTHING
        : html`<dt>${label}</dt>
            <dd>${value}</dd>`,
    )}
  </dl>`;
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

function factsOfRecord({ group, channel, catalog, labels }: UsageRecord, groups: CallView['groups']): readonly Fact[] {
  return [
    ['Group', bdi(groups.get(group) ?? group)],
    ['Channel', html`<code>${channel}</code>`],
    ['Price of', html`<code>${catalog}</code>`],
    ['Labels', bdi(labels)],
  ];
}

/** Undefined: it is running. */
function durationOf(record: UsageRecord | undefined, entry: ActivityEntry | undefined): string | undefined {
  if (record?.status === 'Running') return undefined;
  return formatDuration(record?.durationMs ?? entry?.durationMs ?? 0);
}

const ENDPOINTS: Readonly<Record<string, string>> = {
  chat_completions: 'POST /v1/chat/completions',
  messages: 'POST /v1/messages',
  completions: 'POST /v1/completions',
  embeddings: 'POST /v1/embeddings',
  moderations: 'POST /v1/moderations',
  rerank: 'POST /v1/rerank',
  count_tokens: 'POST /v1/messages/count_tokens',
  images: 'POST /v1/images/generations',
  image_edits: 'POST /v1/images/edits',
  image_variations: 'POST /v1/images/variations',
  videos: 'POST /v1/videos',
  speech: 'POST /v1/audio/speech',
  transcriptions: 'POST /v1/audio/transcriptions',
  translations: 'POST /v1/audio/translations',
  responses: 'POST /v1/responses',
  batches: 'POST /v1/batches',
  message_batches: 'POST /v1/messages/batches',
  generate_content: 'POST /v1beta/models/{model}:generateContent',
  embed_content: 'POST /v1beta/models/{model}:embedContent',
  predict: 'POST /v1beta/models/{model}:predict',
};

/** Undefined: the call was refused before it was known. */
function endpointOf({ endpoint, stream }: ActivityEntry): string | undefined {
  const name = ENDPOINTS[endpoint];
  return name === undefined ? undefined : `${name}${stream ? ', streamed' : ''}`;
}

function bdi(text: string | undefined): Html | undefined {
  return text === undefined ? undefined : html`<bdi>${text}</bdi>`;
}

/** Each billed dimension with its quantity and rate; the sum is the ledger's. */
function renderPrice(record: UsageRecord, margins: boolean): Html {
  const { costNanoUsd, unbilledNanoUsd, lines } = record;
  return html`<section class="section" aria-labelledby="price">
    <h2 id="price">Tokens and price</h2>
    <div class="table-box" tabindex="0" role="region" aria-label="Price by class">
      <table class="table call-price">
        <caption class="vh">
          What was billed, by class: quantity, price and cost
        </caption>
        <thead>
          <tr>
            <th scope="col">Class</th>
            <th scope="col" class="num">Count</th>
            <th scope="col" class="num">Price</th>
            <th scope="col" class="num">Cost</th>
          </tr>
        </thead>
        <tbody>
          ${lines === undefined ? renderTokens(record) : viewLines(lines).map(renderLine)}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Billed</th>
            <td></td>
            <td></td>
            <td class="num">${renderUsd(costNanoUsd, 6)}</td>
          </tr>
          ${margins ? renderMargins(record) : NOTHING}
        </tfoot>
      </table>
    </div>
    ${
      unbilledNanoUsd > 0n
        ? html`<p>Not billed, since neither key nor account could pay it: ${renderUsd(unbilledNanoUsd, 6)}.</p>`
        : NOTHING
    }
    ${lines === undefined ? renderWhyWithout(record) : NOTHING}
  </section>`;
}

function renderMargins(record: UsageRecord): Html {
  return html`<tr>
      <th scope="row">Upstream cost</th>
      <td></td>
      <td></td>
      <td class="num">${renderUpstreamCost(record)}</td>
    </tr>
    <tr>
      <th scope="row">Margin</th>
      <td></td>
      <td></td>
      <td class="num">${renderMargin(record)}</td>
    </tr>`;
}

function renderLine(line: BillLineView): Html {
  return html`<tr>
    <th scope="row">${DIMENSIONS[line.dimension] ?? line.dimension}${renderMarks(line)}</th>
    <td class="num">${formatCount(BigInt(line.quantity))}</td>
    <td class="num">
      ${renderUsd(nanoUsd(line.rate_usd))}<small>${line.per === 1 ? 'each' : perWords(line).trim()}</small>
    </td>
    <td class="num">${renderUsd(nanoUsd(line.amount_usd), 6)}</td>
  </tr>`;
}

/** The tier, region or model because of which the rate differs from the model's own. */
function renderMarks({ service_tier: tier, context_above: above, region, model }: BillLineView): Html {
  const marks = [
    ...(model === null ? [] : [model]),
    ...(tier === null ? [] : [`${tier} tier`]),
    ...(above === null ? [] : [`context above ${formatCount(BigInt(above))}`]),
    ...(region === null ? [] : [region]),
  ];
  return marks.length === 0 ? NOTHING : html`<small>${marks.join(', ')}</small>`;
}

/** An exact decimal to the nano-dollar below it. */
function nanoUsd(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.');
  return BigInt(whole + fraction.slice(0, NANO_DIGITS).padEnd(NANO_DIGITS, '0'));
}

function renderTokens({ tokens }: UsageRecord): Html[] {
  return CLASSES.filter(([name]) => tokens[name] > 0 || name === 'input' || name === 'output').map(
    ([name, label]) =>
      html`<tr>
        <th scope="row">${DIMENSIONS[label] ?? label}</th>
        <td class="num">${formatCount(BigInt(tokens[name]))}</td>
        <td class="num">${UNKNOWN}</td>
        <td class="num">${UNKNOWN}</td>
      </tr>`,
  );
}

const UNKNOWN = html`<span class="soft">—</span>`;

function renderWhyWithout({ status }: UsageRecord): Html {
  if (status === 'Failed')
    return html`<p class="soft">A call that fails at the provider before any output costs nothing.</p>`;
  if (status === 'Refunded')
    return html`<p class="soft">The job failed at the provider, and its cost was given back.</p>`;
  return NOTHING;
}

function renderTries({ entry, record }: CallView): Html {
  if (!entry)
    return html`<p class="none">
      Tries and the time to the first token are kept of the latest calls of each key, for seven days. Of this call they
      are not, or no longer.
    </p>`;
  if (entry.attempts.length === 0) return NOTHING;
  return html`<section class="section" aria-labelledby="tries">
    <h2 id="tries">Tries</h2>
    <div class="table-box" tabindex="0" role="region" aria-label="Channels tried">
      <table class="table call-tries">
        <caption class="vh">
          Channels that were tried, in order
        </caption>
        <thead>
          <tr>
            <th scope="col">Channel</th>
            <th scope="col">What happened</th>
            <th scope="col" class="num">Took</th>
          </tr>
        </thead>
        <tbody>
          ${entry.attempts.map(
            ({ channel, outcome, durationMs }) =>
              html`<tr>
                <th scope="row"><code>${channel}</code></th>
                <td><span class="dot ${outcome === 'ok' ? 'good' : 'warn'}">${outcomeWords(outcome)}</span></td>
                <td class="num">${formatDuration(durationMs)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${record === undefined ? NOTHING : html`<p class="soft">Only the try that answered is billed.</p>`}
  </section>`;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  ok: 'Answered',
  full: 'Skipped: full',
  short: 'Skipped: costs more than is left',
  connect: 'Could not be reached',
  reset: 'The connection broke',
  timeout: 'No answer in time',
  cut: 'The answer broke off',
  idle: 'Went silent',
  aborted: 'Cancelled',
};

function outcomeWords(outcome: string): string {
  const [, status] = /^status_(\d+)$/.exec(outcome) ?? [];
  return status === undefined ? (OUTCOMES[outcome] ?? outcome) : `Answered ${status}`;
}
