/**
 * What the operator makes of objects, for pages that show it before anybody applies them: the same functions that
 * configure the proxies, so that a page never promises what the gateway would not do.
 */
import type { Group, Kind } from '#crds/types.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { Resources } from './resources.ts';

export interface Translator {
  /** The configuration of these resources, and what the gateway would say of each object. */
  translate(
    resources: Resources,
    options: { readonly gatewayNamespace: string; readonly nowMs: number },
  ): TranslatedResources;
  /** The gateway's groups by name. */
  offersOf(facts: Pick<Resources, 'groups' | 'modelRoutes'>, gatewayNamespace: string): ReadonlyMap<string, GroupOffer>;
}

export interface TranslatedResources {
  readonly snapshot: Snapshot;
  readonly statuses: readonly ObjectFindings[];
  /** The next moment at which the same resources translate to something else; absent: never. */
  readonly nextChangeMs?: number;
}

/** What the gateway would say of one object. */
export interface ObjectFindings {
  readonly kind: Kind;
  readonly name: string;
  /** Why the object would not be accepted; absent if it would. */
  readonly refused?: { readonly message: string };
  readonly remark?: { readonly message: string };
  readonly notReady?: { readonly message: string };
}

/** A group with the models that its keys can reach, priced or not. */
export interface GroupOffer {
  readonly group: Group;
  readonly models: ReadonlySet<string>;
}
