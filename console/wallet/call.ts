/** One call of an account: the ledger's record, and what the proxies noted of it. */
import { Type } from 'typebox';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import { html } from '#web/html.ts';
import type { ActivityEntry } from '#activity/activity.ts';
import { AccessError } from '../access/access.ts';
import { OBJECT, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { groupNames } from '../queries/names.ts';
import { renderCallDetails } from './call-details.ts';
import { seesMargins } from '../queries/margins.ts';
import { callQueryOf, KEY_QUERY, keyNames, readVisibleCalls } from '../queries/visible-calls.ts';
import type { CallQuery } from '../data/usage.ts';
import { renderWalletHead } from './head.ts';

const CALL = Type.Object({ ...OBJECT.properties, id: Type.String() });
const CALL_QUERY = Type.Object({
  ...KEY_QUERY.properties,
  uid: queryText(),
  /** When the call was admitted, in milliseconds since the epoch. */
  at: queryText(),
});

type CallRequest = PageRequest<{ readonly params: typeof CALL; readonly query: typeof CALL_QUERY }>;

async function showCall(request: CallRequest): Promise<HandlerResult> {
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
  const { ref, key } = visible;
  const body = html`${renderWalletHead({ ref, key: key?.metadata.name, here: 'Call' })}
  ${renderCallDetails({ record, entry, names, margins, groups: groupNames(request.deps) })}`;
  return { page: { title: `Call ${callId} · Wallet`, active: 'wallet', body, styles: ['wallet.css'] } };
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
