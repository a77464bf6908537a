/** One account, or one key of an account that the person may not see: figures, spending, the latest calls, credit. */
import { Type } from 'typebox';
import type { Account } from '#crds/types.gen.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { UsageRecord } from '#usage/record.ts';
import { renderBalance, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import type { ObjectRef } from '../access/access.ts';
import { OBJECT, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { outputLabelOf } from '../queries/output-label.ts';
import type { OutputLabel } from '../queries/output-label.ts';
import { groupNames } from '../queries/names.ts';
import { readRecordedNames } from '../queries/recorded-names.ts';
import type { KeyName } from '../data/usage.ts';
import { namespacedName } from '#objects/resources.ts';
import { accountFacts } from '../queries/account-facts.ts';
import type { AccountFacts } from '../queries/account-facts.ts';
import type { AccountStatusFinding } from '../queries/account-status.ts';
import { readAccountStatuses } from '../queries/account-statuses.ts';
import { rateText } from '../components/rate-limits.ts';
import { renderStatusMark } from '../components/status-mark.ts';
import { renderCallsTable } from '../components/calls-table.ts';
import { renderCreditDialog } from './credit-dialog.ts';
import type { CreditView } from './credit-dialog.ts';
import {
  emptyGrantForm,
  GRANT_FORM,
  validateGrant,
  errorsOfRefusedGrant,
  grantChange,
  grantOf,
  parseGrantForm,
  renderGrants,
} from './grants.ts';
import type { GrantError, GrantForm } from './grants.ts';
import { parseRange } from './query.ts';
import { readRefusals } from '../queries/refusals.ts';
import { renderRefusalSection } from '../components/refusals.ts';
import type { DayRange } from './query.ts';
import { callQueryOf, KEY_QUERY, keyNames, readVisibleCalls } from '../queries/visible-calls.ts';
import type { VisibleCalls } from '../queries/visible-calls.ts';
import { renderSpending } from './spending.ts';
import type { Spending, SpendingView } from './spending.ts';
import { accountPath } from '../paths.ts';
import { renderWalletHead } from './head.ts';
import { renderLimits } from './limits.ts';
import type { Refusals } from '../queries/refusals.ts';
import { notice, doneNotice } from '../components/notice.ts';
import { section } from '../components/page.ts';
import { figures } from '../components/facts.ts';

const ACCOUNT_QUERY = Type.Object({
  ...KEY_QUERY.properties,
  days: queryText(),
  /** Present: the dialog that grants credit is open. */
  credit: queryText(),
  /** The grant that was just made. */
  granted: queryText(),
});

type AccountRequest = PageRequest<{ readonly params: typeof OBJECT; readonly query: typeof ACCOUNT_QUERY }>;
type GrantRequest = AccountRequest & PageRequest<{ readonly form: typeof GRANT_FORM }>;

export const accountRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/wallet/:namespace/:name',
    params: OBJECT,
    query: ACCOUNT_QUERY,
    handle: async (request) => accountPage(request, await readVisibleCalls(request)),
  }),
  route({
    method: 'POST',
    path: '/wallet/:namespace/:name/grants',
    params: OBJECT,
    query: ACCOUNT_QUERY,
    form: GRANT_FORM,
    handle: grant,
  }),
];

const LATEST = 8;
const LATEST_REFUSED = 5;

interface AccountPageOptions {
  /** What was typed and what is wrong with it. */
  readonly refused?: { readonly form: GrantForm; readonly errors: readonly GrantError[]; readonly status: number };
}

/** One account's page, or one key's. */
async function accountPage(
  request: AccountRequest,
  visible: VisibleCalls,
  { refused }: AccountPageOptions = {},
): Promise<HandlerResult> {
  const { ref, account, key, unknownKey } = visible;
  if (unknownKey !== undefined)
    throw new AccessError('NotFound', `No key of this account that you may see is called ${unknownKey}.`);
  const range = parseRange(request.query, request.nowMs);
  const [names, recorded, { spending, latest }, credit, refusals] = await Promise.all([
    keyNames(visible, request),
    recordedNames(request, visible),
    readSpending(request, visible, range),
    creditView(request, account, refused),
    readRefusals(request, callQueryOf(visible), LATEST_REFUSED),
  ]);
  const facts = account && accountFacts(account, names.size);
  const body = renderAccount({
    ref,
    names,
    latest,
    account,
    credit,
    refusals,
    key: key?.metadata.name,
    done: grantedNotice(request, visible),
    calls: { groups: groupNames(request.deps), made: outputLabelOf(request.deps) },
    facts,
    finding: facts && (await readAccountStatuses(request, [facts]))(facts),
    spending: { range, spending, byKey: key === undefined, ...spendingLinks(visible, names, recorded) },
  });
  return {
    page: {
      title: `${key?.metadata.name ?? ref.name} · Wallet`,
      active: 'wallet',
      body,
      styles: ['wallet.css'],
      scripts: ['wallet.js'],
    },
    status: refused?.status ?? 200,
  };
}

function recordedNames({ deps }: PageRequest, { ref, account }: VisibleCalls): Promise<ReadonlyMap<string, KeyName>> {
  return readRecordedNames(deps, account ? [namespacedName(ref)] : []);
}

/** For people who may change the account. */
async function creditView(
  { person, csrf, nowMs, query }: AccountRequest,
  account: Account | undefined,
  refused: AccountPageOptions['refused'],
): Promise<CreditView | undefined> {
  if (!account || !(await person.may('patch', 'Account', account.metadata))) return undefined;
  return {
    account,
    csrf,
    errors: refused?.errors ?? [],
    form: refused?.form ?? emptyGrantForm(account, nowMs),
    open: refused !== undefined || query.credit !== undefined,
  };
}

/** If the ledger does not answer, the rest of the page is still shown. */
async function readSpending(
  { deps: { usage } }: PageRequest,
  visible: VisibleCalls,
  range: DayRange,
): Promise<{ readonly spending: Spending; readonly latest: readonly UsageRecord[] | undefined }> {
  if (!usage) return { spending: 'Missing', latest: undefined };
  const query = callQueryOf(visible);
  try {
    const [spending, { calls }] = await Promise.all([
      usage.sums({ ...query, sinceMs: range.sinceMs, untilMs: range.untilMs }),
      usage.page(query, { size: LATEST }),
    ]);
    return { spending, latest: calls };
  } catch (error) {
    if (error instanceof LedgerUnavailable) return { spending: 'Unavailable', latest: undefined };
    throw error;
  }
}

function spendingLinks(
  { ref, key }: VisibleCalls,
  names: ReadonlyMap<string, string>,
  recorded: ReadonlyMap<string, KeyName>,
): Pick<SpendingView, 'pathFor' | 'key' | 'modelPath'> {
  const own = key?.metadata.name ?? '';
  return {
    pathFor: (days) => accountPath(ref, undefined, { key: own, days: String(days) }),
    key: (uid) => {
      const name = names.get(uid);
      return {
        name: name ?? recorded.get(uid)?.name,
        path: name === undefined ? accountPath(ref, 'calls', { uid }) : accountPath(ref, undefined, { key: name }),
      };
    },
    modelPath: (model) => accountPath(ref, 'calls', { key: own, model }),
  };
}

/** Only for a grant that exists, because an address can claim anything. */
function grantedNotice({ query }: AccountRequest, { account }: VisibleCalls): string | undefined {
  const grant = account?.spec.grants?.find(({ name }) => name === query.granted);
  if (!grant) return undefined;
  const done = grant.usd.startsWith('-') ? `Taken back: ${grant.usd.slice(1)}` : `Granted: ${grant.usd}`;
  return `${done} USD as ${grant.name}. It counts as soon as the proxies have it, which takes a moment.`;
}

const CHANGED_MEANWHILE =
  'Somebody else has changed this account meanwhile; it is shown as it is now. Look at its ' +
  'grants, and grant again if it is still right.';

const NEGATIVE = 'A grant adds credit. To take some back, use “Take credit back”.';

async function grant(request: GrantRequest): Promise<HandlerResult> {
  const visible = await readVisibleCalls(request);
  const { account, ref } = visible;
  if (!account) throw new AccessError('NotFound', 'There is no such account.');
  const form = parseGrantForm(request.form);
  const errors = validateGrant(form, account);
  if (form.usd.startsWith('-')) errors.push({ field: 'usd', message: NEGATIVE });
  if (errors.length > 0) return accountPage(request, visible, { refused: { form, errors, status: 422 } });
  try {
    const { person, nowMs } = request;
    const granted = grantOf(form, { grantedBy: person.person.name, nowMs });
    await person.change('Account', ref, grantChange(form, granted, account));
  } catch (error) {
    return refusedGrant(request, visible, { form, error });
  }
  return { redirect: accountPath(ref, undefined, { granted: form.name }) };
}

/** Shows the form again with its errors; other errors get an error page. */
async function refusedGrant(
  request: AccountRequest,
  visible: VisibleCalls,
  { form, error }: { readonly form: GrantForm; readonly error: unknown },
): Promise<HandlerResult> {
  if (!(error instanceof AccessError)) throw error;
  if (error.reason === 'Invalid')
    return accountPage(request, visible, { refused: { form, errors: errorsOfRefusedGrant(error), status: 422 } });
  if (error.reason !== 'Conflict') throw error;
  const now = await readVisibleCalls(request);
  const { uid = '', generation = 0 } = now.account?.metadata ?? {};
  return accountPage(request, now, {
    refused: {
      form: { ...form, uid, generation },
      errors: [{ field: undefined, message: CHANGED_MEANWHILE }],
      status: 409,
    },
  });
}

interface AccountView {
  readonly ref: ObjectRef;
  /** undefined: the person sees only `key`. */
  readonly facts: AccountFacts | undefined;
  readonly finding: AccountStatusFinding | undefined;
  /** The key that is asked for. */
  readonly key: string | undefined;
  readonly spending: SpendingView;
  /** undefined: the ledger cannot be read. */
  readonly latest: readonly UsageRecord[] | undefined;
  /** How calls are described. */
  readonly calls: { readonly groups: ReadonlyMap<string, string>; readonly made: OutputLabel };
  readonly refusals: Refusals;
  readonly names: ReadonlyMap<string, string>;
  /** undefined: the person may not see it. */
  readonly account: Account | undefined;
  /** undefined: the person may not grant. */
  readonly credit: CreditView | undefined;
  /** The notice about what was just done. */
  readonly done: string | undefined;
}

function renderAccount(view: AccountView): Html {
  const { ref, key, latest, names, account, refusals, done } = view;
  return html`${renderWalletHead({ ref, key, here: undefined })} ${doneNotice(done)} ${renderBalancePart(view)}
  ${renderSpending(view.spending)}
  ${latest === undefined || latest.length === 0 ? NOTHING : renderLatest(view, latest, names)}
  ${renderRefusalSection(refusals, { ref, names, key })}
  ${account && key === undefined ? renderGrants(account) : NOTHING}`;
}

function renderBalancePart({ facts, finding, key, credit }: AccountView): Html {
  if (!facts)
    return notice(html`You may not see this account. This is what its key <bdi>${key ?? ''}</bdi> has spent.`);
  if (key !== undefined) return NOTHING;
  return html`${credit ? renderCreditDialog(credit) : NOTHING} ${renderFigures(facts, finding)}
  ${renderRates(facts.account)} ${renderLimits(facts.account)}`;
}

function renderRates({ spec }: Account): Html {
  const rates = rateText(spec.rateLimits);
  if (rates === '') return NOTHING;
  return html`<p class="soft" id="rate-limits">Per minute, all its keys together may use ${rates}.</p>`;
}

function renderFigures(facts: AccountFacts, finding: AccountStatusFinding | undefined): Html {
  const { balanceNanoUsd, creditNanoUsd, spentNanoUsd, heldNanoUsd } = facts;
  return figures([
    {
      label: 'Balance',
      value: renderBalance(balanceNanoUsd),
      note: finding ? renderStatusMark(finding) : NOTHING,
      attributes: balanceNanoUsd <= 0n ? html`class="bad"` : NOTHING,
    },
    { label: 'Credit', value: renderUsd(creditNanoUsd), note: 'all grants together' },
    { label: 'Spent', value: renderUsd(spentNanoUsd), note: 'since the first call' },
    { label: 'Held now', value: renderUsd(heldNanoUsd), note: 'by running calls, at most' },
  ]);
}

function renderLatest(
  { ref, key, calls }: AccountView,
  latest: readonly UsageRecord[],
  names: ReadonlyMap<string, string>,
): Html {
  const parameters = { key: key ?? '' };
  const beside = html`<p>
    <a href="${accountPath(ref, 'calls', parameters)}">All calls</a> ·
    <a href="${accountPath(ref, 'calls.csv', parameters)}">CSV</a>
  </p>`;
  return section(
    { id: 'latest', title: 'Latest calls', beside },
    renderCallsTable(latest, { ...calls, names, keyOf: () => key }),
  );
}
