/** A key's calls, newest first, for everybody who may read the key. */
import { LedgerUnavailable } from '#ledger/ledger.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { keyTabPage } from '../keys/key-tabs.ts';
import { keyPath, requestedKey } from '../keys/requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import type { CallPage } from '../usage/usage.ts';
import { accountPath, withParameters } from '../wallet/account-facts.ts';
import { renderCallsTable } from '../wallet/calls-table.ts';
import { renderLedgerNotice } from '../wallet/spending.ts';
import { callQueryOf, keyNames } from '../wallet/visible-calls.ts';
import type { VisibleCalls } from '../wallet/visible-calls.ts';

export const keyActivityRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys/:namespace/:name/activity', handle: showActivity },
];

const PAGE_SIZE = 25;

async function showActivity(request: PageRequest): Promise<HandlerResult> {
  const apiKey = await requestedKey(request);
  const ref = { namespace: apiKey.metadata.namespace, name: apiKey.spec.accountRef.name };
  const visible: VisibleCalls = { ref, account: undefined, key: apiKey, unknownKey: undefined };
  const before = request.query.get('before') ?? undefined;
  const [calls, names] = await Promise.all([readCalls(request, visible, before), keyNames(visible, request)]);
  const body = typeof calls === 'string'
    ? renderLedgerNotice(calls)
    : renderActivity(calls, { names, visible, path: keyPath(apiKey, 'activity'), older: before !== undefined });
  return keyTabPage(request, apiKey, { tab: 'activity', body, styles: ['wallet.css'] });
}

/** A ledger that does not answer takes nothing else from the page. */
async function readCalls(
  { deps: { usage } }: PageRequest, visible: VisibleCalls, before: string | undefined,
): Promise<CallPage | 'Missing' | 'Unavailable'> {
  if (!usage) return 'Missing';
  try {
    return await usage.page(callQueryOf(visible), { size: PAGE_SIZE, ...before !== undefined && { before } });
  } catch (error) {
    if (error instanceof LedgerUnavailable) return 'Unavailable';
    throw error;
  }
}

interface ActivityView {
  readonly names: ReadonlyMap<string, string>;
  readonly visible: VisibleCalls;
  readonly path: string;
  /** This is not the first page. */
  readonly older: boolean;
}

function renderActivity({ calls, next }: CallPage, { names, visible: { ref, key }, path, older }: ActivityView): Html {
  if (calls.length === 0)
    return html`<p class="none">${older ? 'There are no older calls.' : 'No calls with this key yet.'}</p>`;
  const parameters = { key: key?.metadata.name ?? '' };
  return html`<div class="section-head"><h2>Calls</h2>
<p><a href="${accountPath(ref, 'calls', parameters)}">Filter calls</a> · <a href="${accountPath(
  ref, 'calls.csv', parameters,
)}">Download as CSV</a></p></div>
${renderCallsTable(calls, names)}
${older || next !== undefined ? html`<nav class="pager" aria-label="Pages"><span></span><div class="actions">\
${older ? html`<a class="button small" href="${path}">Newest</a>` : NOTHING}\
${next === undefined
  ? NOTHING
  : html`<a class="button small" rel="next" href="${withParameters(path, { before: next })}">Older</a>`}\
</div></nav>` : NOTHING}`;
}
