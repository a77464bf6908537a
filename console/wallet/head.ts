/** [P] The heading of an account's pages, with the way back. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ObjectRef } from '../access/access.ts';
import { accountPath } from '../paths.ts';
import { pageHead } from '../components/page.ts';

export interface WalletHead {
  readonly ref: ObjectRef;
  readonly key: string | undefined;
  /** Of a page below the account's. */
  readonly here: string | undefined;
}

/** The way here, and the heading. */
export function renderWalletHead({ ref, key, here }: WalletHead): Html {
  const { namespace, name } = ref;
  const account = { path: accountPath(ref, undefined, { key: key ?? '' }), label: `${namespace}/${name}` };
  return pageHead({
    above: [{ path: '/wallet', label: 'Wallet' }, ...(here === undefined ? [] : [account])],
    title: here ?? html`<bdi>${key ?? name}</bdi>`,
    lede:
      key === undefined
        ? html`Account in <bdi>${namespace}</bdi>`
        : html`Key <bdi>${key}</bdi> of the account <bdi>${namespace}/${name}</bdi>`,
  });
}
