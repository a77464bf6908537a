/** One call of an account: the ledger's record, and what the proxies noted of it. */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import { html } from '#web/html.ts';
import type { ActivityEntry } from '#activity/activity.ts';
import { AccessError } from '../access/access.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { groupNames } from '../queries/names.ts';
import { renderCallDetails } from './call-details.ts';
import { seesMargins } from '../queries/margins.ts';
import { callQueryOf, keyNames, readVisibleCalls } from '../queries/visible-calls.ts';
import type { CallQuery } from '../data/usage.ts';
import { renderWalletHead } from './head.ts';

async function showCall(request: PageRequest): Promise<HandlerResult> {
  const visible = await readVisibleCalls(request);
  const query = callQueryOf(visible, request.query.get('uid') ?? '');
  const callId = request.params['id'] ?? '';
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
  { query: parameters, deps: { usage } }: PageRequest,
  query: CallQuery,
  callId: string,
): Promise<UsageRecord | undefined> {
  const createdMs = Number(parameters.get('at') ?? NaN);
  if (!usage || !Number.isSafeInteger(createdMs) || createdMs < 0) return undefined;
  return usage.find(query, { callId, createdMs });
}

/** If the entry is missing, the rest of the page is still shown. */
async function readEntry(
  { deps: { activity, log } }: PageRequest,
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
  { method: 'GET', path: '/wallet/:namespace/:name/calls/:id', handle: showCall },
];
