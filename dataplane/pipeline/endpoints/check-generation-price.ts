/** Refuses images and videos that the model's price does not bound. */
import { GatewayError } from '../../errors.ts';
import { imageRate } from '../../ledger/generation-price.ts';
import type { GenerationAttributes } from '../../ledger/generation-price.ts';
import type { Candidate } from '../../state/state.ts';

/** Throws not_allowed for an image whose size and quality have no price. */
export function checkImagePrice(made: GenerationAttributes, { price, model: { name } }: Candidate): void {
  if (!price || price.perImage.length === 0 || imageRate(price.perImage, made)) return;
  const sizes = [...new Set(price.perImage.map(({ size }) => size ?? 'any size'))].join(', ');
  const isSizePriced = imageRate(price.perImage, { size: made.size }) !== undefined;
  const message = isSizePriced
    ? `No price is set for images of ${name} in the quality "${made.quality}" and the size "${made.size ?? 'auto'}".`
    : `No price is set for images of ${name} in the size "${made.size}". Sizes with a price: ${sizes}.`;
  throw new GatewayError('not_allowed', message, { param: isSizePriced ? 'quality' : 'size' });
}

interface VideoLength {
  readonly seconds: number | undefined;
  readonly lengthParam: string | undefined;
}

/** Throws not_allowed for a video that is priced by the second and does not say how many it has. */
export function checkVideoPrice({ seconds, lengthParam }: VideoLength, { price, model: { name } }: Candidate): void {
  if (price?.perSecond === undefined) return;
  if (lengthParam !== undefined) {
    const message =
      `The field "${lengthParam}" may make the video longer than the gateway holds for. ` +
      'Say its length by the field "seconds" only.';
    throw new GatewayError('not_allowed', message, { param: lengthParam });
  }
  if (seconds !== undefined) return;
  const message = `Videos of ${name} are priced by the second: say how many by the field "seconds", such as "4".`;
  throw new GatewayError('not_allowed', message, { param: 'seconds' });
}
