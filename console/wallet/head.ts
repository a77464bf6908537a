/** [P] The heading of an account's pages, with the way back. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';
import { accountPath } from '../paths.ts';

export interface WalletHead {
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
