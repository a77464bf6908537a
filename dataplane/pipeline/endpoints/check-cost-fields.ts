/** Refuses fields that change the price of a request that passes through, unless the ModelRoute allows them. */
import { GatewayError } from '../../errors.ts';
import type { Dialect } from '../../protocol/call-facts.ts';
import { findCostFields, isAllowedField } from '../../protocol/cost-fields.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { Candidate } from '../../state/state.ts';

/** Paths of the fields that an endpoint itself reads and bounds. */
type KnownFields = ReadonlySet<string>;

/** The paths of a request's fields that change its price where the provider speaks the client's dialect. */
export function costFieldsOf(
  request: Readonly<Record<string, unknown>>, dialect: Dialect, known: KnownFields,
): readonly string[] {
  const { costFields } = providerOf(dialect);
  return costFields ? findCostFields(request, costFields, known) : [];
}

/** Throws not_allowed for the first one that the candidate's ModelRoute does not allow. */
export function checkCostFields(fields: readonly string[], { allowedFields, route }: Candidate): void {
  const param = fields.find((path) => !isAllowedField(path, allowedFields));
  if (param === undefined) return;
  const message = `The field "${param}" can make this call cost more than the gateway holds for it. `
    + `Leave it out, or ask the platform team to add it to allow.fields of the ModelRoute "${route}".`;
  throw new GatewayError('not_allowed', message, { param });
}
