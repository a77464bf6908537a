/** What the endpoints that only pass through have in common. */
import type { UnboundedUse } from '../../protocol/call-facts.ts';
import type { Candidate } from '../../state/state.ts';
import { checkAllowed } from './allowed-features.ts';
import { checkCostFields } from './check-cost-fields.ts';
import type { Asks } from './endpoint.ts';

interface PassthroughFacts {
  /** The field with the first image; undefined: none. */
  readonly imageParam: string | undefined;
  readonly unbounded?: readonly UnboundedUse[];
  readonly costFields: readonly string[];
}

/** Throws unsupported_image and not_allowed. */
export function checkPassthrough(
  { imageParam, unbounded = [], costFields }: PassthroughFacts,
  candidate: Candidate,
): void {
  checkAllowed({ images: imageParam === undefined ? 0 : 1, imageParam, unbounded }, candidate);
  checkCostFields(costFields, candidate);
}

/** What a request with an image asks for beside its text. */
export function asksForImage(imageParam: string | undefined): Pick<Asks, 'imageParam' | 'modalities'> {
  return imageParam === undefined ? {} : { imageParam, modalities: ['imageInput'] };
}
