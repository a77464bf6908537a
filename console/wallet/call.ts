/** One call of an account: the ledger's record, and what the proxies noted of it. */
import { Type } from 'typebox';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ActivityEntry } from '#activity/activity.ts';
import { AccessError } from '../access/access.ts';
import { OBJECT, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, NavigationItem, PageRequest } from '../route.ts';
import { pageHead } from '../components/page.ts';
import { priceListOf } from '../queries/price-lists.ts';
import { groupNames } from '../queries/names.ts';
import { renderCallDetails } from './call-details.ts';
import { seesMargins } from '../queries/margins.ts';
import { callQueryOf, KEY_QUERY, keyNames, readVisibleCalls } from '../queries/visible-calls.ts';
import type { VisibleCalls } from '../queries/visible-calls.ts';
import type { CallQuery } from '../data/usage.ts';
import { renderWalletHead } from './head.ts';

const CALL = Type.Object({ ...OBJECT.properties, id: Type.String() });
const MAX_PATH_LENGTH = 4_000;
const CALL_QUERY = Type.Object({
  ...KEY_QUERY.properties,
  uid: queryText(),
  /** When the call was admitted, in milliseconds since the epoch. */
  at: queryText(),
  /** The list from which the call was opened. */
  from: queryText(MAX_PATH_LENGTH),
});

type CallRequest = PageRequest<{ readonly params: typeof CALL; readonly query: typeof CALL_QUERY }>;

async function showCall(request: CallRequest): Promise<HandlerResult> {
  const { deps, person } = request;
  const visible = await readVisibleCalls(request);
  const query = callQueryOf(visible, request.query.uid);
  const { id: callId } = request.params;
  const [names, record, margins] = await Promise.all([
    keyNames(visible, request),
    readRecord(request, query, callId),
    seesMargins(request),
  ]);
  const entry = await readEntry(request, { ...query, ...(record && { keyUid: record.keyUid }) }, callId);
  if (!record && !entry) throw new AccessError('NotFound', `There is no call ${callId} of this account that is kept.`);
  const seesRoutes = await person.may('list', 'ModelRoute', { namespace: deps.gatewayNamespace });
  const { ref, account } = visible;
  const isPriced = (model: string): boolean =>
    priceListOf(deps).pricing.rows.some(({ modelName }) => modelName === model);
  const seen = { names, margins, groups: groupNames(deps), seesAccount: account !== undefined, seesRoutes, isPriced };
  return callPage(request, visible, renderCallDetails({ ref, record, entry, ...seen }));
}

function callPage({ params, query }: CallRequest, { ref, key }: VisibleCalls, details: Html): HandlerResult {
  const list = openingList(query.from ?? '');
  const { section, active } = list ?? { section: 'Wallet', active: 'wallet' };
  const head = list ? callHead(list) : renderWalletHead({ ref, key: key?.metadata.name, here: 'Call' });
  return {
    page: {
      title: `Call ${params.id} · ${section}`,
      active,
      body: html`${head} ${details}`,
      styles: ['wallet.css'],
      scripts: ['copy.js'],
    },
  };
}

/** The list from which the call was opened, outside of the Wallet. */
interface OpeningList {
  readonly path: string;
  readonly label: string;
  readonly section: string;
  readonly root: string;
  readonly active: NavigationItem;
}

const OPENING_LISTS: readonly (Omit<OpeningList, 'path'> & { readonly pattern: RegExp })[] = [
  { pattern: /^\/usage\/calls(?:\?|$)/, label: 'Calls', section: 'Usage', root: '/usage', active: 'usage' },
  { pattern: /^\/usage\/refused(?:\?|$)/, label: 'Refused calls', section: 'Usage', root: '/usage', active: 'usage' },
  {
    pattern: /^\/keys\/[^/?]+\/[^/?]+\/activity(?:\?|$)/,
    label: 'Activity',
    section: 'API Keys',
    root: '/keys',
    active: 'keys',
  },
];

/** undefined: it names none, so that the call's page leads to its account. */
function openingList(from: string): OpeningList | undefined {
  const found = OPENING_LISTS.find(({ pattern }) => pattern.test(from));
  return found && { ...found, path: from };
}

function callHead({ path, label, section, root }: OpeningList): Html {
  return pageHead({
    above: [
      { path: root, label: section },
      { path, label },
    ],
    title: 'Call',
  });
}

async function readRecord(
  { query: { at }, deps: { usage } }: CallRequest,
  query: CallQuery,
  callId: string,
): Promise<UsageRecord | undefined> {
  const createdMs = Number(at ?? NaN);
  if (!usage || !Number.isSafeInteger(createdMs) || createdMs < 0) return undefined;
  return usage.find(query, { callId, createdMs });
}

/** If the entry is missing, the rest of the page is still shown. */
async function readEntry(
  { deps: { activity, log } }: CallRequest,
  { accounts: [account], keyUid }: CallQuery,
  callId: string,
): Promise<ActivityEntry | undefined> {
  if (!activity || account === undefined || keyUid === undefined) return undefined;
  try {
    return await activity.find({ account, keyUid, callId });
  } catch (error) {
    if (error instanceof LedgerUnavailable) throw error;
    log.warn({ err: error }, 'recent calls cannot be read');
    return undefined;
  }
}

export const callRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/wallet/:namespace/:name/calls/:id',
    params: CALL,
    query: CALL_QUERY,
    handle: showCall,
  }),
];
