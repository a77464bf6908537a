/** [P] What the Wallet says of an account, from its spec and status. */
import { parseDecimal } from '#snapshot/decimal.ts';
import type { Account, Condition } from '#crds/types.gen.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';

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
export function accountMark({ metadata, status }: Account): Html {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (!ready || (ready.observedGeneration ?? Infinity) < (metadata.generation ?? 0)) return html`<span class="dot info">On its way</span>`;
  const warned = conditions.find(({ type, status: holds }) => holds === 'True' && type in WARNINGS);
  if (warned) return warningMark(warned);
  if (ready.status === 'True') return html`<span class="dot good">Ready</span>`;
  return explained(html`<span class="vh">Not ready: </span>${ready.reason}`, 'bad', ready.message);
}

function warningMark({ type, message }: Condition): Html {
  const { words, tone } = WARNINGS[type] ?? { words: type, tone: 'warn' };
  return explained(words, tone, message);
}

const WARNINGS: Readonly<Record<string, { readonly words: string; readonly tone: 'warn' | 'bad' }>> = {
  BalanceExhausted: { words: 'Used up', tone: 'bad' }, BalanceLow: { words: 'Running low', tone: 'warn' },
};

function explained(words: Html | string, tone: 'warn' | 'bad', message: string): Html {
  return html`<details class="why"><summary><span class="dot ${tone}">${words}</span></summary><p>${message}</p></details>`;
}

function moneyOf(usd: string | undefined): bigint | undefined {
  return usd === undefined ? undefined : parseDecimal(usd);
}
