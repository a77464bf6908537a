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
  return html`<div class="table-box" tabindex="0" role="region" aria-label="List of calls">
    <table class="table cards calls">
      <caption class="vh">
        Calls with their tokens and what they cost
      </caption>
      <thead>
        <tr>
          <th scope="col">Time and id</th>
          <th scope="col">Key</th>
          <th scope="col">Model</th>
          <th scope="col">Status</th>
          <th scope="col" class="num">Input</th>
          <th scope="col" class="num">Cached</th>
          <th scope="col" class="num">Cache writes</th>
          <th scope="col" class="num">Output</th>
          <th scope="col" class="num">Duration</th>
          <th scope="col" class="num">Cost</th>
          ${
            view.margins === true
              ? html`<th scope="col" class="num">Upstream</th>
                  <th scope="col" class="num">Margin</th>`
              : NOTHING
          }
        </tr>
      </thead>
      <tbody>
        ${calls.map((call) => renderCall(call, view))}
      </tbody>
    </table>
  </div>`;
}

function renderCall(call: UsageRecord, view: CallsTableView): Html {
  const { status, group } = call;
  const { names, groups, showAccounts = false } = view;
  // a deleted key keeps the name that the record has
  const name = names.get(call.keyUid) ?? call.keyName;
  return html`<tr>
    <th scope="row" class="main">
      <a href="${callPath(refOf(call), call, view.keyOf(call))}">${renderTime(call.createdMs)}</a
      ><small class="mono">${call.callId}</small>
    </th>
    <td data-label="Key">
      ${
        name === undefined
          ? html`<span class="soft" title="${call.keyUid}"><bdi>${shortUid(call.keyUid)}</bdi></span>`
          : html`<bdi>${name}</bdi>`
      }${showAccounts ? html`<small><bdi>${call.account}</bdi></small>` : NOTHING}
    </td>
    <td data-label="Model" class="wrap">
      <bdi>${call.model}</bdi><small><bdi>${groups?.get(group) ?? group}</bdi></small>
    </td>
    <td data-label="Status">${renderStatus(call)}</td>
    ${renderConsumed(call, view)}
    <td data-label="Duration" class="num">
      ${status === 'Running' ? html`<span class="soft">—</span>` : formatDuration(call.durationMs)}
    </td>
    <td data-label="Cost" class="num">
      ${renderUsd(call.costNanoUsd, 6)}${
        call.unbilledNanoUsd > 0n ? html`<small>and ${renderUsd(call.unbilledNanoUsd, 6)} not billed</small>` : NOTHING
      }
    </td>
    ${
      view.margins === true
        ? html`<td data-label="Upstream" class="num">${renderUpstreamCost(call)}</td>
            <td data-label="Margin" class="num">${renderMargin(call)}</td>`
        : NOTHING
    }
  </tr>`;
}

/** Tokens by class, or the images and videos that were generated. */
function renderConsumed(call: UsageRecord, { made }: CallsTableView): Html {
  const words = made?.(call);
  if (words !== undefined) return html`<td colspan="4" data-label="Made" class="num">${words}</td>`;
  const { tokens } = call;
  return html`<td data-label="Input" class="num">${formatCount(tokens.input)}</td>
    <td data-label="Cached" class="num">${count(tokens.cached)}</td>
    <td
      data-label="Cache writes"
      class="num"
      ${
        tokens.cacheWrite1h > 0
          ? html`title="${formatCount(tokens.cacheWrite5m)} for 5 minutes, ${formatCount(tokens.cacheWrite1h)} for 1
            hour"`
          : NOTHING
      }
    >
      ${count(tokens.cacheWrite5m + tokens.cacheWrite1h)}
    </td>
    <td data-label="Output" class="num">${formatCount(tokens.output)}</td>`;
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
