/**
 * [P] Prices of images by size and quality, and of a second of a video by size. Of the entries that match one, the most
 * specific counts, and of several the most expensive. What is not known of it may be anything: the most expensive that
 * it can be counts.
 */

/** What decides the price of an image, a video or audio. Absent: not known. */
export interface GenerationAttributes {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  /** What the provider makes of the size, if it has another name for that: the dearer of both counts. Absent: the same. */
  readonly convertedSize?: string | undefined;
  /** Of each video, or of the audio that is read. */
  readonly seconds?: number | undefined;
  /** That are spoken. */
  readonly characters?: number | undefined;
}

/** The price of an image, or of a second; an absent size or quality is any. */
export interface GenerationRate {
  readonly size: string | undefined;
  readonly quality: string | undefined;
  readonly rate: bigint;
}

/** What is billed, and what is known of it. */
export interface BilledGeneration extends Pick<GenerationAttributes, 'size' | 'quality'> {
  readonly rate: bigint;
}

/**
 * The rate of an image or a second with these attributes; undefined: no entry matches. An entry counts if it can be the
 * one that applies: an entry for every other size is not for a size that has an entry of its own.
 */
export function generationRate(rates: readonly GenerationRate[], asked: GenerationAttributes): bigint | undefined {
  const { size, quality } = dearerOf(rates, asked);
  const possible = rates
    .filter((rate) => fits(rate, { size, quality }))
    .flatMap((rate) => {
      // an absent attribute is then one that no entry states
      const applied = applyingRate(rates, { size: size ?? rate.size, quality: quality ?? rate.quality });
      return applied === undefined ? [] : [applied];
    });
  return highest(possible);
}

/** With the size, of the two that it may have, whose rate is higher. */
function dearerOf(rates: readonly GenerationRate[], given: GenerationAttributes): Attributes {
  const { size, quality, convertedSize } = given;
  if (size === undefined || convertedSize === undefined) return { size, quality };
  const converted = { size: convertedSize, quality };
  const [rate = -1n, convertedRate = -1n] = [{ size, quality }, converted].map((each) => generationRate(rates, each));
  return convertedRate > rate ? converted : { size, quality };
}

/** What was served, or, where no entry matches it, or it is more expensive, what was asked for. */
export function billedGeneration(
  rates: readonly GenerationRate[],
  asked: GenerationAttributes,
  served: GenerationAttributes,
): BilledGeneration | undefined {
  const wished = dearerOf(rates, asked);
  const made = { size: served.size ?? wished.size, quality: served.quality ?? asked.quality };
  const wishedRate = generationRate(rates, wished);
  const madeRate = generationRate(rates, made);
  // the hold is for what was asked for
  if (madeRate !== undefined && !(wishedRate !== undefined && madeRate > wishedRate))
    return { ...made, rate: madeRate };
  return wishedRate === undefined ? undefined : { ...wished, rate: wishedRate };
}

type Attributes = Pick<GenerationRate, 'size' | 'quality'>;

/** The rate of an image whose attributes are all given; an absent one has a value that no entry states. */
function applyingRate(rates: readonly GenerationRate[], given: Attributes): bigint | undefined {
  const matching = rates.filter(
    (rate) => matches(rate.size, given.size ?? OTHER) && matches(rate.quality, given.quality ?? OTHER),
  );
  const most = Math.max(...matching.map(statedBy));
  return highest(matching.filter((rate) => statedBy(rate) === most).map(({ rate }) => rate));
}

/** Equal to no stated value. */
const OTHER = '';

function fits(rate: GenerationRate, { size, quality }: Attributes): boolean {
  return (size === undefined || matches(rate.size, size)) && (quality === undefined || matches(rate.quality, quality));
}

function matches(stated: string | undefined, value: string): boolean {
  return stated === undefined || stated.toLowerCase() === value.toLowerCase();
}

function statedBy({ size, quality }: GenerationRate): number {
  return Number(size !== undefined) + Number(quality !== undefined);
}

function highest(rates: readonly bigint[]): bigint | undefined {
  return rates.reduce<bigint | undefined>((a, b) => (a !== undefined && a >= b ? a : b), undefined);
}
