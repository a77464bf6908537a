/** [P] The table of calls, and its filter. */
import { CALL_STATUSES } from '#usage/record.ts';
import type { CallStatus, UsageRecord } from '#usage/record.ts';
import { formatCount, formatDuration, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';
import { accountPath, callPath, keyPath, modelPath } from '../paths.ts';
import { shortUid } from '../queries/names.ts';
import { renderMargin, renderUpstreamCost } from './margin.ts';
import type { Column } from './table.ts';
import { table } from './table.ts';
import { selectFilter } from './filters.ts';

export const STATUS_WORDS: Readonly<Record<CallStatus, string>> = {
  Running: 'Running',
  Succeeded: 'Succeeded',
  Failed: 'Failed',
  ClientClosed: 'Client left',
  ProviderCut: 'Cut by provider',
  Abandoned: 'Abandoned',
  Refunded: 'Refunded',
  Withheld: 'Not delivered',
};
const STATUS_TONES: Readonly<Record<CallStatus, string>> = {
  Running: 'info',
  Succeeded: 'good',
  Failed: 'bad',
  ClientClosed: 'warn',
  ProviderCut: 'bad',
  Abandoned: 'warn',
  Refunded: 'plain',
  Withheld: 'warn',
};

interface CallsTableView {
  /** Names of keys by uid. */
  readonly names: ReadonlyMap<string, string>;
  /** Names of groups as users know them. */
  readonly groups?: ReadonlyMap<string, string>;
  /** What a call made where it makes no tokens. */
  readonly made?: (call: UsageRecord) => string | undefined;
  /** The name of the one key that the person sees of the account; undefined: the account itself. */
  readonly keyOf: (call: UsageRecord) => string | undefined;
  /** The calls are of several accounts. */
  readonly showAccounts?: boolean;
  /** The person may see what calls cost the platform. */
  readonly margins?: boolean;
  /** The list with its filter, to which a call's page leads back; absent: to the account's calls. */
  readonly from?: string;
}

/** The table alone. */
export function renderCallsTable(calls: readonly UsageRecord[], view: CallsTableView): Html {
  return table([...callColumns(view), ...(view.margins === true ? MARGIN_COLUMNS : [])], calls, {
    label: 'List of calls',
    caption: 'Calls with their tokens and what they cost',
    cards: true,
    style: 'calls',
  });
}

const MARGIN_COLUMNS: readonly Column<UsageRecord>[] = [
  { title: 'Upstream', num: true, cell: renderUpstreamCost },
  { title: 'Margin', num: true, cell: renderMargin },
];

function callColumns(view: CallsTableView): readonly Column<UsageRecord>[] {
  return [
    {
      title: 'Time and id',
      cell: (call) =>
        callLink(callPath(refOf(call), call, { key: view.keyOf(call), from: view.from }), {
          callId: call.callId,
          atMs: call.createdMs,
        }),
    },
    { title: 'Key', cell: (call) => renderKey(call, view) },
    {
      title: 'Model',
      style: 'wrap',
      cell: ({ model, group }) =>
        html`<a href="${modelPath(model)}"><bdi>${model}</bdi></a
          ><small><bdi>${view.groups?.get(group) ?? group}</bdi></small>`,
    },
    { title: 'Status', cell: renderStatus },
    {
      title: 'Input',
      num: true,
      cell: (call) => {
        const words = view.made?.(call);
        // the images and videos that were generated stand in place of tokens
        return words === undefined ? renderInput(call) : { content: words, span: 2, label: 'Made' };
      },
    },
    { title: 'Output', num: true, cell: ({ tokens }) => formatCount(tokens.output) },
    {
      title: 'Duration',
      num: true,
      cell: ({ status, durationMs }) =>
        status === 'Running' ? html`<span class="soft">—</span>` : formatDuration(durationMs),
    },
    { title: 'Cost', num: true, cell: renderCost },
  ];
}

/** A call's time, which opens its page, and the beginning of its id. */
export function callLink(href: string, { callId, atMs }: { readonly callId: string; readonly atMs: number }): Html {
  return html`<a href="${href}">${renderTime(atMs)}</a
    ><small class="mono" title="${callId}">${shortCallId(callId)}</small>`;
}

const SHOWN_OF_ID = 14;

/** "req_1f0e58dfb2…": the call's page has the whole id. */
function shortCallId(callId: string): string {
  return callId.length <= SHOWN_OF_ID + 1 ? callId : `${callId.slice(0, SHOWN_OF_ID)}…`;
}

interface KeyOwner {
  readonly keyUid: string;
  readonly keyName?: string;
  readonly account: string;
}

interface KeyCellView<Call> {
  readonly names: ReadonlyMap<string, string>;
  readonly keyOf: (call: Call) => string | undefined;
  readonly showAccounts?: boolean;
}

/** The key of a call, and its account where the list has several; each leads to its page, if the person sees it. */
export function renderKey<Call extends KeyOwner>(call: Call, view: KeyCellView<Call>): Html {
  const ref = refOf(call);
  const name = view.names.get(call.keyUid);
  // a deleted key keeps the name that the record has, and has no page
  const key = name === undefined ? keyName(call.keyName, call.keyUid) : linkedKey(ref, name);
  if (view.showAccounts !== true) return key;
  const account = html`<bdi>${call.account}</bdi>`;
  const isSeen = view.keyOf(call) === undefined;
  return html`${key}<small>${isSeen ? html`<a href="${accountPath(ref)}">${account}</a>` : account}</small>`;
}

/** The name of a key that has a page: its namespace is its account's. */
export function linkedKey({ namespace }: ObjectRef, name: string): Html {
  return html`<a href="${keyPath({ metadata: { namespace, name } })}"><bdi>${name}</bdi></a>`;
}

/** A key's name, or the beginning of its uid where it has none any more. */
export function keyName(name: string | undefined, uid: string): Html {
  return name === undefined
    ? html`<span class="soft" title="${uid}"><bdi>${shortUid(uid)}</bdi></span>`
    : html`<bdi>${name}</bdi>`;
}

function renderCost({ costNanoUsd, unbilledNanoUsd }: UsageRecord): Html {
  return html`${renderUsd(costNanoUsd, 6)}${
    unbilledNanoUsd > 0n ? html`<small>and ${renderUsd(unbilledNanoUsd, 6)} not billed</small>` : NOTHING
  }`;
}

/** The input, with what of it came from a cache or was written to one, where there is any. */
function renderInput({ tokens }: UsageRecord): Html {
  const { input, cached, cacheWrite5m, cacheWrite1h } = tokens;
  const written = cacheWrite5m + cacheWrite1h;
  const hint = `${formatCount(cacheWrite5m)} for 5 minutes, ${formatCount(cacheWrite1h)} for 1 hour`;
  return html`${formatCount(input)}${cached > 0 ? html`<small>${formatCount(cached)} cached</small>` : NOTHING}${
    written > 0 ? html`<small title="${hint}">${formatCount(written)} written</small>` : NOTHING
  }`;
}

/** The account that a call belongs to. */
export function refOf({ account }: Pick<UsageRecord, 'account'>): ObjectRef {
  const slash = account.indexOf('/');
  return { namespace: account.slice(0, slash), name: account.slice(slash + 1) };
}

/** How a call ended, and where its tokens come from. */
export function renderStatus(call: UsageRecord): Html {
  // a newer gateway's status has no words here
  const known = CALL_STATUSES.find((each) => each === call.status);
  const [tone, words] = known ? [STATUS_TONES[known], STATUS_WORDS[known]] : ['plain', call.status];
  return html`<span class="dot ${tone}">${words}</span>${sourceNote(call)}`;
}

function sourceNote({ usageSource, status }: UsageRecord): Html {
  if (usageSource === 'Provider' || status === 'Running') return NOTHING;
  switch (usageSource) {
    case 'Implausible':
      return html`<small title="The provider reported more than the request allowed: this is what it allowed."
        >tokens capped</small
      >`;
    case 'Estimated':
      return html`<small title="The provider gave no figures, so the gateway counted.">tokens estimated</small>`;
    case 'Partial':
      return html`<small title="The call was cut short: this is what was seen until then.">tokens until cut</small>`;
    default:
      return html`<small>${usageSource}</small>`; // a newer gateway's word
  }
}

/** The word by which a filter asks for refused calls, which the ledger has no records of. */
export const REFUSED = 'Refused';

/** The choice of how calls ended, for the filters of lists of calls. `refused` also offers those that were refused. */
export function callStatusFilter(chosen: CallStatus | undefined, { refused }: { readonly refused: boolean }): Html {
  return selectFilter({
    label: 'Status',
    name: 'status',
    all: 'All',
    options: [
      ...CALL_STATUSES.map((status) => [status, STATUS_WORDS[status]] as const),
      ...(refused ? [[REFUSED, 'Refused'] as const] : []),
    ],
    chosen: chosen ?? '',
  });
}
