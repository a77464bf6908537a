/** [P] One account, or one key of an account that the person may not see: figures, spending, the latest calls, credit. */
import type { UsageRecord } from '#ledger/usage-record.ts';
import { money } from '#web/figures.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';
import { renderCallsTable } from './wallet-calls.ts';
import { accountMark } from './wallet-facts.ts';
import type { AccountFacts } from './wallet-facts.ts';
import { renderGrants } from './wallet-grants.ts';
import type { GrantsView } from './wallet-grants.ts';
import { accountPath } from './wallet-links.ts';
import { renderSpending } from './wallet-spending.ts';
import type { SpendingView } from './wallet-spending.ts';

interface AccountView {
  readonly ref: ObjectRef;
  /** undefined: the person sees only `key`. */
  readonly facts: AccountFacts | undefined;
  /** The key that is asked for. */
  readonly key: string | undefined;
  readonly spending: SpendingView;
  /** undefined: the ledger cannot be read. */
  readonly latest: readonly UsageRecord[] | undefined;
  readonly names: ReadonlyMap<string, string>;
  readonly grants: GrantsView | undefined;
  /** What was just done, in words. */
  readonly done: string | undefined;
}

export function renderAccount(view: AccountView): Html {
  const { ref, facts, key, latest, names, grants, done } = view;
  return html`${renderWalletHead({ ref, key, here: undefined })}
${done === undefined ? NOTHING : html`<div class="notice good" role="status"><p>${done}</p></div>`}
${facts && key === undefined ? renderFigures(facts) : NOTHING}
${facts ? NOTHING : html`<div class="notice"><p>You may not see this account. This is what its key <bdi>${key ?? ''}</bdi> has spent.</p></div>`}
${renderSpending(view.spending)}
${latest === undefined || latest.length === 0 ? NOTHING : renderLatest(view, latest, names)}
${grants && key === undefined ? renderGrants(grants) : NOTHING}`;
}

interface WalletHead {
  readonly ref: ObjectRef;
  readonly key: string | undefined;
  /** Of a page below the account's. */
  readonly here: string | undefined;
}

/** The way here, and the heading. */
export function renderWalletHead({ ref, key, here }: WalletHead): Html {
  const { namespace, name } = ref;
  const account = html`<a href="${accountPath(ref, undefined, { key: key ?? '' })}"><bdi>${namespace}/${name}</bdi></a>`;
  return html`<div class="page-head"><div><nav class="crumbs" aria-label="Where you are"><ol><li><a href="/wallet">Wallet</a></li>${here === undefined ? NOTHING : html`<li>${account}</li>`}</ol></nav>
<h1>${here ?? html`<bdi>${key ?? name}</bdi>`}</h1>
<p class="lede">${key === undefined ? html`Account in <bdi>${namespace}</bdi>` : html`Key <bdi>${key}</bdi> of the account <bdi>${namespace}/${name}</bdi>`}</p></div></div>`;
}

function renderFigures({ account, balanceNanoUsd, creditNanoUsd, spentNanoUsd, heldNanoUsd }: AccountFacts): Html {
  return html`<dl class="figures">
<div><dt>Balance</dt><dd${balanceNanoUsd <= 0n ? html` class="bad"` : NOTHING}>${money(balanceNanoUsd)}<small>${accountMark(account)}</small></dd></div>
<div><dt>Credit</dt><dd>${money(creditNanoUsd)}<small>all grants together</small></dd></div>
<div><dt>Spent</dt><dd>${money(spentNanoUsd)}<small>since the first call</small></dd></div>
<div><dt>Held now</dt><dd>${money(heldNanoUsd)}<small>by running calls, at most</small></dd></div>
</dl>`;
}

function renderLatest({ ref, key }: AccountView, latest: readonly UsageRecord[], names: ReadonlyMap<string, string>): Html {
  const parameters = { key: key ?? '' };
  return html`<section class="section" aria-labelledby="latest"><div class="section-head"><h2 id="latest">Latest calls</h2>
<p><a href="${accountPath(ref, 'calls', parameters)}">All calls</a> · <a href="${accountPath(ref, 'calls.csv', parameters)}">CSV</a></p></div>
${renderCallsTable(latest, names)}</section>`;
}
