/** [P] An account's figures and mark, where its pages are, and what they begin with. */
import type { Account, Condition } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';

/** Nano-USD. */
export interface AccountFacts {
  readonly account: Account;
  readonly creditNanoUsd: bigint;
  readonly spentNanoUsd: bigint;
  readonly heldNanoUsd: bigint;
  readonly balanceNanoUsd: bigint;
  /** How many keys that the person sees spend from it. */
  readonly keys: number;
}

/** From the status; before there is one, from the grants. */
export function accountFacts(account: Account, keys: number): AccountFacts {
  const { spec, status } = account;
  const grants = (spec.grants ?? []).reduce((sum, { usd }) => sum + (parseDecimal(usd) ?? 0n), 0n);
  const creditNanoUsd = moneyOf(status?.creditUsd) ?? grants;
  const spentNanoUsd = moneyOf(status?.spentUsd) ?? 0n;
  return {
    account, creditNanoUsd, spentNanoUsd, keys,
    heldNanoUsd: moneyOf(status?.heldUsd) ?? 0n,
    balanceNanoUsd: moneyOf(status?.balanceUsd) ?? creditNanoUsd - spentNanoUsd,
  };
}

/** Whether keys of the account can spend; why not, or that it runs low, when one asks. */
export function renderAccountBadge({ metadata, status }: Account): Html {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (!ready || (ready.observedGeneration ?? Infinity) < (metadata.generation ?? 0))
    return html`<span class="dot info">On its way</span>`;
  const warned = conditions.find(({ type, status: holds }) => holds === 'True' && type in WARNINGS);
  if (warned) return warningMark(warned);
  if (ready.status === 'True') return html`<span class="dot good">Ready</span>`;
  return explained(html`<span class="vh">Not ready: </span>${ready.reason}`, 'bad', ready.message);
}

function warningMark({ type, message }: Condition): Html {
  const { label, tone } = WARNINGS[type] ?? { label: type, tone: 'warn' };
  return explained(label, tone, message);
}

const WARNINGS: Readonly<Record<string, { readonly label: string; readonly tone: 'warn' | 'bad' }>> = {
  BalanceExhausted: { label: 'Used up', tone: 'bad' }, BalanceLow: { label: 'Running low', tone: 'warn' },
};

function explained(label: Html | string, tone: 'warn' | 'bad', message: string): Html {
  return html`<details class="why"><summary><span class="dot ${tone}">${label}</span></summary><p>${message}</p>\
</details>`;
}

function moneyOf(usd: string | undefined): bigint | undefined {
  return usd === undefined ? undefined : parseDecimal(usd);
}

type AccountPage = 'calls' | 'calls.csv' | 'grants' | 'refused';

/** "/wallet/team-a/main?days=7", or one of its pages; parameters that are empty are left out. */
export function accountPath({
  namespace, name,
}: ObjectRef, page?: AccountPage, parameters: Readonly<Record<string, string>> = {}): string {
  const path =
    `/wallet/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${page === undefined ? '' : `/${page}`}`;
  return withParameters(path, parameters);
}

export function withParameters(path: string, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '')).toString();
  return query === '' ? path : `${path}?${query}`;
}

const SHOWN_OF_UID = 8;

/**
 * The label of a key whose object is gone. In files mode the uid is "namespace/name"; of a UUID the beginning is
 * enough.
 */
export function shortUid(uid: string): string {
  return uid.includes('/') ? uid.slice(uid.indexOf('/') + 1) : `${uid.slice(0, SHOWN_OF_UID)}…`;
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
  const account =
    html`<a href="${accountPath(ref, undefined, { key: key ?? '' })}"><bdi>${namespace}/${name}</bdi></a>`;
  return html`<div class="page-head"><div><nav class="crumbs" aria-label="Where you are"><ol><li>\
<a href="/wallet">Wallet</a></li>${here === undefined ? NOTHING : html`<li>${account}</li>`}</ol></nav>
<h1>${here ?? html`<bdi>${key ?? name}</bdi>`}</h1>
<p class="lede">${key === undefined
  ? html`Account in <bdi>${namespace}</bdi>`
  : html`Key <bdi>${key}</bdi> of the account <bdi>${namespace}/${name}</bdi>`}</p></div></div>`;
}
