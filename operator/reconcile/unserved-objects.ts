/**
 * [P] Finds ApiKeys and Accounts whose gatewayNamespace no operator serves. An operator cannot see the other gateways
 * of its cluster, but it can see that an object of theirs has had no status for a minute.
 */
import type { Account, ApiKey } from '#crds/types.gen.ts';
import { allOf, objectId } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import { suggestNames } from '../translate/nearest-names.ts';

interface UnservedOptions {
  readonly gatewayNamespace: string;
  readonly nowMs: number;
  /** The live status's observedGeneration by "Kind namespace/name". */
  readonly observedGeneration: (id: string) => number | undefined;
}

export interface UnservedObject {
  /** "Kind namespace/name". */
  readonly id: string;
  /** A sentence for the object's owner. */
  readonly message: string;
}

/** How long another gateway's operator may take to write a status. */
const ANSWERED_WITHIN_MS = 60_000;

/** The objects of other gateways without a status. */
export function findUnserved(
  { apiKeys, accounts }: Pick<Resources, 'apiKeys' | 'accounts'>,
  options: UnservedOptions,
): UnservedObject[] {
  const { gatewayNamespace, nowMs, observedGeneration } = options;
  const isUnanswered = (object: ApiKey | Account): boolean =>
    object.spec.gatewayNamespace !== gatewayNamespace &&
    nowMs - Date.parse(object.metadata.creationTimestamp ?? '') >= ANSWERED_WITHIN_MS &&
    observedGeneration(objectId(object.kind, object.metadata)) === undefined;
  return [...allOf(accounts), ...allOf(apiKeys)].filter(isUnanswered).map((object) => {
    const named = object.spec.gatewayNamespace;
    return {
      id: objectId(object.kind, object.metadata),
      message:
        `No operator serves the gateway "${named}" of spec.gatewayNamespace.` + suggestNames(named, [gatewayNamespace]),
    };
  });
}
