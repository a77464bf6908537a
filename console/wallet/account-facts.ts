/** [P] An account's figures, the paths of its pages, and their heading. */
import type { Account } from '#crds/types.gen.ts';
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

/** From the status; before there is one, or where a grant is newer than it, from the grants. */
export function accountFacts(account: Account, keys: number): AccountFacts {
  const { spec, status } = account;
  const known = isCurrent(account) ? status : undefined;
  const creditNanoUsd = moneyOf(known?.creditUsd) ?? sumOf(spec.grants);
  const spentNanoUsd = moneyOf(status?.spentUsd) ?? 0n;
  return {
    account,
    creditNanoUsd,
    spentNanoUsd,
    keys,
    heldNanoUsd: moneyOf(status?.heldUsd) ?? 0n,
    balanceNanoUsd: moneyOf(known?.balanceUsd) ?? creditNanoUsd - spentNanoUsd,
  };
}

function sumOf(grants: Account['spec']['grants'] = []): bigint {
  return grants.reduce((sum, { usd }) => sum + (parseDecimal(usd) ?? 0n), 0n);
}

/** Whether the status refers to the current spec. */
function isCurrent({ metadata, status }: Account): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return (ready?.observedGeneration ?? Infinity) >= (metadata.generation ?? 0);
}

function moneyOf(usd: string | undefined): bigint | undefined {
  return usd === undefined ? undefined : parseDecimal(usd);
}

type AccountPage = 'calls' | 'calls.csv' | 'grants' | 'refused' | 'take-back';

/** "/wallet/team-a/main?days=7", or one of its pages; parameters that are empty are left out. */
export function accountPath(
  { namespace, name }: ObjectRef,
  page?: AccountPage,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const path = `/wallet/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}${page === undefined ? '' : `/${page}`}`;
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
  const account = html`<a href="${accountPath(ref, undefined, { key: key ?? '' })}"
    ><bdi>${namespace}/${name}</bdi></a
  >`;
  return html`<div class="page-head">
    <div>
      <nav class="crumbs" aria-label="Where you are">
        <ol>
          <li><a href="/wallet">Wallet</a></li>
          ${here === undefined ? NOTHING : html`<li>${account}</li>`}
        </ol>
      </nav>
      <h1>${here ?? html`<bdi>${key ?? name}</bdi>`}</h1>
      <p class="lede">
        ${
          key === undefined
            ? html`Account in <bdi>${namespace}</bdi>`
            : html`Key <bdi>${key}</bdi> of the account <bdi>${namespace}/${name}</bdi>`
        }
      </p>
    </div>
  </div>`;
}
