/** [P] One call: its record in the ledger, and the proxies' notes. */
import { perWords, viewLines } from '#price/bill.ts';
import type { BillLineView } from '#price/bill.ts';
import type { UsageRecord } from '#usage/record.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { formatCount, formatDuration, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ActivityEntry } from '#activity/activity.ts';
import type { ObjectRef } from '../access/access.ts';
import { accountPath, modelPath, routePath } from '../paths.ts';
import { linkedKey, renderStatus } from '../components/calls-table.ts';
import { whyRefused } from '../components/refusals.ts';
import { renderMargin, renderUpstreamCost } from '../components/margin.ts';
import { notice } from '../components/notice.ts';
import { section } from '../components/page.ts';
import { table } from '../components/table.ts';
import type { Fact } from '../components/facts.ts';
import { facts } from '../components/facts.ts';

export interface CallView {
  /** The account. */
  readonly ref: ObjectRef;
  /** The person may read the account; false: only one of its keys. */
  readonly seesAccount: boolean;
  /** The person may see routes, which channels lead to. */
  readonly seesRoutes: boolean;
  /** Whether a model has a price, and so a page. */
  readonly isPriced: (model: string) => boolean;
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
  const { refused, errorCode, httpStatus, message } = entry;
  return notice(
    [
      html`<b>${refused ? `Refused: ${whyRefused(entry)}` : 'Failed'}</b> · ${httpStatus} <code>${errorCode}</code>`,
      message ?? "The provider's own words went to the caller; they are not kept.",
    ],
    { tone: 'bad' },
  );
}

/** The id with a button that copies it. */
function renderId(callId: string): Html {
  return html`<code id="call-id">${callId}</code>
    <button type="button" class="button small" data-copy="call-id" hidden>Copy<span class="vh"> the id</span></button>`;
}

/** A deleted key keeps the name that the record has, and has no page. */
function renderKey({ ref, names, record }: CallView, keyUid: string): Html {
  const name = names.get(keyUid);
  return name === undefined ? html`<bdi>${record?.keyName ?? keyUid}</bdi>` : linkedKey(ref, name);
}

function renderAccount({ ref, seesAccount }: CallView): Html {
  const name = html`<bdi>${ref.namespace}/${ref.name}</bdi>`;
  return seesAccount ? html`<a href="${accountPath(ref)}">${name}</a>` : name;
}

function renderModel({ isPriced }: CallView, model: string | undefined): Html | undefined {
  if (model === undefined || !isPriced(model)) return bdi(model);
  return html`<a href="${modelPath(model)}"><bdi>${model}</bdi></a>`;
}

/** A channel leads to its route, for those who may see it. */
function renderChannel(channel: string, { seesRoutes }: CallView): Html {
  const name = html`<code>${channel}</code>`;
  const route = channel.slice(0, Math.max(0, channel.indexOf('/')));
  return seesRoutes && route !== '' ? html`<a href="${routePath(route)}">${name}</a>` : name;
}

function renderFacts(view: CallView): Html {
  const { record, entry } = view;
  const { callId, keyUid, model } = record ?? entry ?? { callId: '', keyUid: '', model: undefined };
  return facts(
    [
      ['Id', renderId(callId)],
      ['Time', renderTime(record?.createdMs ?? entry?.atMs ?? 0)],
      ['Key', renderKey(view, keyUid)],
      ['Account', renderAccount(view)],
      ['Model', renderModel(view, model)],
      ['Status', record ? renderStatus(record) : html`<span class="dot bad">Refused</span>`],
      ...factsOfEntry(entry),
      ['Duration', durationOf(record, entry)],
      ...(record ? factsOfRecord(record, view) : []),
    ],
    'call-facts',
  );
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

function factsOfRecord({ group, channel, catalog, labels }: UsageRecord, view: CallView): readonly Fact[] {
  const [, catalogName = catalog, generation = ''] = /^[^/]*\/(.*)@(\d+)$/.exec(catalog) ?? [];
  return [
    ['Group', bdi(view.groups.get(group) ?? group)],
    ['Channel', renderChannel(channel, view)],
    [
      'Price of',
      html`catalog <code>${catalogName}</code>${generation === '' ? NOTHING : html`, version ${generation}`}`,
    ],
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
  realtime: 'GET /v1/realtime',
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
  const { unbilledNanoUsd, lines } = record;
  const list = lines === undefined ? tokensOf(record) : viewLines(lines).map(lineOf);
  return section(
    { id: 'price', title: 'Tokens and price' },
    html`${table<PriceLine>(
      [
        { title: 'Class', cell: ({ label }) => label },
        { title: 'Count', num: true, cell: ({ count }) => count },
        { title: 'Price', num: true, cell: ({ price }) => price },
        { title: 'Cost', num: true, cell: ({ cost }) => cost },
      ],
      list,
      {
        label: 'Price by class',
        caption: 'What was billed, by class: quantity, price and cost',
        style: 'call-price',
        foot: renderSums(record, margins),
      },
    )}
    ${
      unbilledNanoUsd > 0n
        ? html`<p>Not billed, since neither key nor account could pay it: ${renderUsd(unbilledNanoUsd, 6)}.</p>`
        : NOTHING
    }
    ${lines === undefined ? renderWhyWithout(record) : NOTHING}`,
  );
}

interface PriceLine {
  readonly label: Html;
  readonly count: string;
  readonly price: Html;
  readonly cost: Html;
}

function renderSums(record: UsageRecord, margins: boolean): Html {
  const line = (label: string, amount: Html): Html =>
    html`<tr>
      <th scope="row">${label}</th>
      <td></td>
      <td></td>
      <td class="num">${amount}</td>
    </tr>`;
  return html`${line('Billed', renderUsd(record.costNanoUsd, 6))}${
    margins
      ? html`${line('Upstream cost', renderUpstreamCost(record))}${line('Margin', renderMargin(record))}`
      : NOTHING
  }`;
}

function lineOf(line: BillLineView): PriceLine {
  return {
    label: html`${DIMENSIONS[line.dimension] ?? line.dimension}${renderMarks(line)}`,
    count: formatCount(BigInt(line.quantity)),
    price: html`${renderUsd(nanoUsd(line.rate_usd))}<small>${line.per === 1 ? 'each' : perWords(line).trim()}</small>`,
    cost: renderUsd(nanoUsd(line.amount_usd), 6),
  };
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

function tokensOf({ tokens }: UsageRecord): PriceLine[] {
  return CLASSES.filter(([name]) => tokens[name] > 0 || name === 'input' || name === 'output').map(([name, label]) => ({
    label: html`${DIMENSIONS[label] ?? label}`,
    count: formatCount(BigInt(tokens[name])),
    price: UNKNOWN,
    cost: UNKNOWN,
  }));
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
  return section(
    { id: 'tries', title: 'Tries' },
    html`${table<ActivityEntry['attempts'][number]>(
      [
        { title: 'Channel', cell: ({ channel }) => html`<code>${channel}</code>` },
        {
          title: 'What happened',
          cell: ({ outcome }) =>
            html`<span class="dot ${outcome === 'ok' ? 'good' : 'warn'}">${outcomeWords(outcome)}</span>`,
        },
        { title: 'Took', num: true, cell: ({ durationMs }) => formatDuration(durationMs) },
      ],
      entry.attempts,
      { label: 'Channels tried', caption: 'Channels that were tried, in order', style: 'call-tries' },
    )}
    ${record === undefined ? NOTHING : html`<p class="soft">Only the try that answered is billed.</p>`}`,
  );
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
