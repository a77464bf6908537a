/** The calls of an account, filtered and paged, and all that the filter lets through as CSV. */
import { html } from '#web/html.ts';
import { OBJECT } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import type { CallQuery } from '../data/usage.ts';
import { callsFile } from '../queries/calls-csv.ts';
import { outputLabelOf } from '../queries/output-label.ts';
import { groupNames, modelNames } from '../queries/names.ts';
import { seesMargins } from '../queries/margins.ts';
import { CALLS_QUERY, momentsOf, parseCallFilter } from './query.ts';
import type { CallListFilter } from './query.ts';
import { callQueryOf, keyNames, readVisibleCalls } from '../queries/visible-calls.ts';
import type { VisibleCalls } from '../queries/visible-calls.ts';
import { REFUSED } from '../components/calls-table.ts';
import { accountPath } from '../paths.ts';
import { renderWalletHead } from './head.ts';
import { renderLedgerNotice } from '../components/ledger-notice.ts';
import { renderCalls } from './calls-view.ts';
import { sumText } from '../components/usage-chart.ts';

const PAGE_SIZE = 50;
/** Of a file's name: an account's may be longer than file systems and headers like. */
const MAX_STEM_LENGTH = 150;

type CallsRequest = PageRequest<{ readonly params: typeof OBJECT; readonly query: typeof CALLS_QUERY }>;

async function showCalls(request: CallsRequest): Promise<HandlerResult> {
  const visible = await readVisibleCalls(request);
  const { ref, account, key, unknownKey } = visible;
  const filter = parseCallFilter(request.query);
  if (request.query.status === REFUSED) return { redirect: accountPath(ref, 'refused', { key: filter.key }) };
  const { before } = request.query;
  const { usage } = request.deps;
  const query = queryOf(visible, filter);
  const [names, margins, page, sums] = await Promise.all([
    keyNames(visible, request),
    seesMargins(request),
    usage?.page(query, { size: PAGE_SIZE, ...(before === undefined ? {} : { before }) }),
    usage?.sums(query),
  ]);
  const head = renderWalletHead({ ref, key: key?.metadata.name, here: 'Calls' });
  const body =
    page && sums
      ? renderCalls({
          ref,
          filter,
          names,
          unknownKey,
          groups: groupNames(request.deps),
          made: outputLabelOf(request.deps),
          margins,
          sum: sumText(sums.all),
          models: modelNames(request.deps.resources().modelRoutes),
          calls: page.calls,
          next: page.next,
          wholeSinceMs: page.wholeSinceMs,
          older: before !== undefined,
          wholeAccount: account !== undefined,
        })
      : renderLedgerNotice('Missing');
  return {
    page: {
      title: `Calls · ${ref.name} · Wallet`,
      active: 'wallet',
      body: html`${head} ${body}`,
      styles: ['wallet.css'],
    },
  };
}

async function downloadCalls(request: CallsRequest): Promise<HandlerResult> {
  const visible = await readVisibleCalls(request);
  const { usage } = request.deps;
  if (!usage) return showCalls(request);
  const stem = `calls-${visible.ref.namespace}-${visible.ref.name}`.slice(0, MAX_STEM_LENGTH);
  const query = queryOf(visible, parseCallFilter(request.query));
  return { file: await callsFile(request, `${stem}.csv`, { usage, query }) };
}

function queryOf(visible: VisibleCalls, filter: CallListFilter): CallQuery {
  return {
    ...callQueryOf(visible, filter.uid),
    ...momentsOf(filter),
    ...(filter.model === '' ? {} : { model: filter.model }),
    ...(filter.status ? { status: filter.status } : {}),
  };
}

export const callsRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/wallet/:namespace/:name/calls',
    params: OBJECT,
    query: CALLS_QUERY,
    handle: showCalls,
  }),
  route({
    method: 'GET',
    path: '/wallet/:namespace/:name/calls.csv',
    params: OBJECT,
    query: CALLS_QUERY,
    handle: downloadCalls,
  }),
];
