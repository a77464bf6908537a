/** Refuses images and videos that the model's price does not bound. */
import { GatewayError } from '../../errors.ts';
import { generationRate } from '#price/generation.ts';
import type { GenerationAttributes, GenerationRate } from '#price/generation.ts';
import type { Candidate } from '../../state/state.ts';

/** Throws not_allowed for an image whose size and quality have no price. */
export function checkImagePrice(made: GenerationAttributes, { price, model: { name } }: Candidate): void {
  if (!price || price.perImage.length === 0 || generationRate(price.perImage, made) !== undefined) return;
  const isSizePriced = generationRate(price.perImage, { size: made.size }) !== undefined;
  const message = isSizePriced
    ? `No price is set for images of ${name} in the quality "${made.quality}" and the size "${made.size ?? 'auto'}".`
    : `No price is set for images of ${name} in the size "${made.size}". Sizes with a price: ${sizesOf(price.perImage)}.`;
  throw new GatewayError('not_allowed', message, { param: isSizePriced ? 'quality' : 'size' });
}

function sizesOf(rates: readonly GenerationRate[]): string {
  return [...new Set(rates.map(({ size }) => size ?? 'any size'))].join(', ');
}

interface VideoRequest {
  readonly size: string | undefined;
  readonly seconds: number | undefined;
  readonly lengthParam: string | undefined;
}

/** Throws not_allowed for a video that is priced by the second and whose seconds or size have no price. */
export function checkVideoPrice(video: VideoRequest, { price, model: { name } }: Candidate): void {
  if (!price?.perSecond) return;
  const { size, seconds, lengthParam } = video;
  if (lengthParam !== undefined) {
    const message =
      `The field "${lengthParam}" may make the video longer than the gateway holds for. ` +
      'Say its length by the field "seconds" only.';
    throw new GatewayError('not_allowed', message, { param: lengthParam });
  }
  if (seconds === undefined) {
    const message = `Videos of ${name} are priced by the second: say how many by the field "seconds", such as "4".`;
    throw new GatewayError('not_allowed', message, { param: 'seconds' });
  }
  if (generationRate(price.perSecond, { size }) !== undefined) return;
  const message = `No price is set for videos of ${name} in the size "${size}". Sizes with a price: ${sizesOf(price.perSecond)}.`;
  throw new GatewayError('not_allowed', message, { param: 'size' });
}
