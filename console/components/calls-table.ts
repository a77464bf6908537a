/** [P] The table of calls, and its filter. */
import { CALL_STATUSES } from '#usage/record.ts';
import type { CallStatus, UsageRecord } from '#usage/record.ts';
import { formatCount, formatDuration, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';
import { callPath } from '../paths.ts';
import { shortUid } from '../queries/names.ts';
import { renderMargin, renderUpstreamCost } from './margin.ts';
import type { Column, Cell } from './table.ts';
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
        html`<a href="${callPath(refOf(call), call, view.keyOf(call))}">${renderTime(call.createdMs)}</a
          ><small class="mono">${call.callId}</small>`,
    },
    { title: 'Key', cell: (call) => renderKey(call, view) },
    {
      title: 'Model',
      style: 'wrap',
      cell: ({ model, group }) =>
        html`<bdi>${model}</bdi><small><bdi>${view.groups?.get(group) ?? group}</bdi></small>`,
    },
    { title: 'Status', cell: renderStatus },
    {
      title: 'Input',
      num: true,
      cell: (call) => {
        const words = view.made?.(call);
        // the images and videos that were generated stand in place of tokens
        return words === undefined ? formatCount(call.tokens.input) : { content: words, span: 4, label: 'Made' };
      },
    },
    { title: 'Cached', num: true, cell: ({ tokens }) => count(tokens.cached) },
    { title: 'Cache writes', num: true, cell: renderCacheWrites },
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

function renderKey(call: UsageRecord, { names, showAccounts = false }: CallsTableView): Html {
  // a deleted key keeps the name that the record has
  const name = names.get(call.keyUid) ?? call.keyName;
  return html`${keyName(name, call.keyUid)}${showAccounts ? html`<small><bdi>${call.account}</bdi></small>` : NOTHING}`;
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

function renderCacheWrites({ tokens: { cacheWrite5m, cacheWrite1h } }: UsageRecord): Cell {
  const content = count(cacheWrite5m + cacheWrite1h);
  if (cacheWrite1h === 0) return { content };
  return { content, hint: `${formatCount(cacheWrite5m)} for 5 minutes, ${formatCount(cacheWrite1h)} for 1 hour` };
}

function refOf({ account }: UsageRecord): ObjectRef {
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

/** A count that is 0 for most calls. */
function count(tokens: number): Html {
  return tokens === 0 ? html`<span class="soft">0</span>` : html`${formatCount(tokens)}`;
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

/** The choice of how calls ended, for the filters of lists of calls. */
export function callStatusFilter(chosen: CallStatus | undefined): Html {
  return selectFilter({
    label: 'Status',
    name: 'status',
    all: 'All',
    options: CALL_STATUSES.map((status) => [status, STATUS_WORDS[status]]),
    chosen: chosen ?? '',
  });
}
