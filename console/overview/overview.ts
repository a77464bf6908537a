/** The first page: what needs attention, and what is being spent. */
import { LedgerUnavailable } from '#ledger/spending.ts';
import { readKeyStatuses } from '../queries/key-statuses.ts';
import { KEY_STATUSES } from '../queries/key-status.ts';
import type { KeyStatus } from '../queries/key-status.ts';
import { renderOverview } from './view.ts';
import type { AccountLine, KeyLine, Overview } from './view.ts';
import { channelHealth } from '../queries/channel-health.ts';
import type { ChannelHealth } from '../queries/channel-health.ts';
import { readReports } from '../queries/channel-reports.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { summarySince, monthSummary } from '../queries/forecast.ts';
import { parseUsageQuery } from '../queries/usage-query.ts';
import { callQueryOf, readScope } from '../queries/usage-scope.ts';
import { accountFacts } from '../queries/account-facts.ts';
import { ACCOUNT_STATUSES } from '../queries/account-status.ts';
import { readAccountStatuses } from '../queries/account-statuses.ts';
import { homeOf } from '../paths.ts';

const DAY_MS = 86_400_000;
/** Statuses that need no attention: intended, or temporary. */
const FINE: ReadonlySet<KeyStatus> = new Set<KeyStatus>(['Active', 'Disabled', 'Pending']);

async function showOverview(request: PageRequest): Promise<HandlerResult> {
  if (request.person.ownKey) return { redirect: homeOf(request.person) };
  const [accounts, { keys, allKeys }, spending, failing] = await Promise.all([
    readAccounts(request),
    readKeys(request),
    readSpending(request),
    readFailing(request),
  ]);
  const body = renderOverview({ accounts, keys, allKeys, spending, failing, gatewayUrl: request.deps.gatewayUrl });
  return { page: { title: 'Overview', active: 'overview', body } };
}

async function readAccounts(request: PageRequest): Promise<AccountLine[]> {
  const { objects } = await request.person.list('Account');
  const accounts = objects.map((account) => accountFacts(account, 0));
  const statusOf = await readAccountStatuses(request, accounts);
  return accounts
    .map((facts) => ({ facts, status: statusOf(facts) }))
    .sort(
      (a, b) =>
        ACCOUNT_STATUSES.indexOf(a.status.status) - ACCOUNT_STATUSES.indexOf(b.status.status) ||
        Number(a.facts.balanceNanoUsd - b.facts.balanceNanoUsd),
    );
}

async function readKeys(request: PageRequest): Promise<{ readonly keys: KeyLine[]; readonly allKeys: number }> {
  const { objects } = await request.person.list('ApiKey');
  const statusOf = await readKeyStatuses(request, objects);
  const keys = objects
    .map((apiKey) => ({ apiKey, status: statusOf(apiKey) }))
    .filter(({ status }) => !FINE.has(status.status))
    .sort((a, b) => KEY_STATUSES.indexOf(a.status.status) - KEY_STATUSES.indexOf(b.status.status));
  return { keys, allKeys: objects.length };
}

async function readSpending(request: PageRequest): Promise<Overview['spending']> {
  const {
    deps: { usage },
    nowMs,
  } = request;
  if (!usage) return 'Missing';
  const scope = await readScope(request);
  if (scope.accounts.length === 0 && scope.keys.size === 0) return monthSummary([], nowMs);
  const all = callQueryOf(scope, parseUsageQuery({}, nowMs));
  const month = { ...all, sinceMs: summarySince(nowMs), untilMs: (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS };
  try {
    return monthSummary((await usage.series(month, { by: 'Account', unit: 'Day' })).sums, nowMs);
  } catch (error) {
    if (error instanceof LedgerUnavailable) return 'Unavailable';
    throw error;
  }
}

/** Read only for people who may see routes. */
async function readFailing(request: PageRequest): Promise<readonly ChannelHealth[] | undefined> {
  const { objects, allowed } = await request.person.list('ModelRoute');
  if (!allowed) return undefined;
  return channelHealth(objects, await readReports(request))
    .filter(({ figures }) => (figures?.failed ?? 0) > 0)
    .sort((a, b) => (b.figures?.failed ?? 0) - (a.figures?.failed ?? 0));
}

export const overviewRoutes: readonly ConsoleRoute[] = [route({ method: 'GET', path: '/', handle: showOverview })];
