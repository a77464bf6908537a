/** Refuses fields that change the price of a passthrough request, unless the ModelRoute allows them. */
import { GatewayError } from '../../errors.ts';
import { isAllowedField } from '../../protocol/cost-fields.ts';
import type { Candidate } from '../../state/state.ts';
import { namesOf } from '../../upstream/upstream.ts';

/** Throws not_allowed for the first field that the candidate's ModelRoute does not allow. */
export function checkCostFields(fields: readonly string[], { allowedFields, target }: Candidate): void {
  const param = fields.find((path) => !isAllowedField(path, allowedFields));
  if (param === undefined) return;
  const message =
    `The field "${param}" can make this call cost more than the gateway holds for it. ` +
    `Leave it out, or ask the platform team to add it to allow.fields of the ModelRoute "${namesOf(target).route}".`;
  throw new GatewayError('not_allowed', message, { param });
}
