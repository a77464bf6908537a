/** [P] The kinds by who owns them. types.gen.ts has the table. */
import { KINDS } from './types.gen.ts';
import type { Kind } from './types.gen.ts';

type KindOf<Owner> = { [K in Kind]: (typeof KINDS)[K]['owner'] extends Owner ? K : never }[Kind];
export type TenantKind = KindOf<'Tenant'>;

const KIND_NAMES: Readonly<Record<string, Kind>> = Object.fromEntries(
  Object.keys(KINDS).flatMap((name) => (isKind(name) ? [[name, name]] : [])),
);

export const ALL_KINDS: readonly Kind[] = Object.values(KIND_NAMES);
export const TENANT_KINDS: readonly TenantKind[] = ALL_KINDS.filter(isTenantKind);

/** Tenants' objects are in any namespace and name their gateway; the platform's are in the gateway's namespace. */
export function isTenantKind(kind: Kind): kind is TenantKind {
  return KINDS[kind].owner === 'Tenant';
}

/** The same of an object. */
export function isTenants<T extends { readonly kind: Kind }>(object: T): object is T & { readonly kind: TenantKind } {
  return isTenantKind(object.kind);
}

function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name);
}
