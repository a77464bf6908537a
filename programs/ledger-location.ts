/** Where a ledger is: a file that belongs to one process, or a store that a fleet shares. */
export type LedgerLocation =
  { readonly kind: 'file'; readonly path: string } | { readonly kind: 'valkey'; readonly url: string };
