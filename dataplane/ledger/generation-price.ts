/**
 * [P] Prices of images by size and quality. Of the entries that fit an image, those that name most of it count, and of
 * these the dearest. What is not known of an image may be anything: the dearest that it can be counts.
 */

/** What decides the price of an image or a video. Absent: not known. */
export interface GenerationAttributes {
  readonly size?: string | undefined;
  readonly quality?: string | undefined;
  /** Of each video. */
  readonly seconds?: number | undefined;
}

/** The price of an image; an absent size or quality is any. */
export interface ImageRate {
  readonly size: string | undefined;
  readonly quality: string | undefined;
  readonly rate: bigint;
}

/** The entry that an image is billed by; undefined: none fits. */
export function imageRate(rates: readonly ImageRate[], { size, quality }: GenerationAttributes): ImageRate | undefined {
  const fitting = rates.filter((rate) => fits(rate.size, size) && fits(rate.quality, quality));
  const isKnown = size !== undefined && quality !== undefined;
  const most = Math.max(...fitting.map(namedBy));
  return fitting
    .filter((rate) => !isKnown || namedBy(rate) === most)
    .reduce<ImageRate | undefined>((a, b) => (a && a.rate >= b.rate ? a : b), undefined);
}

/** The entry for what was served, or, where none fits it, or it is dearer, for what was asked for. */
export function servedImageRate(
  rates: readonly ImageRate[],
  asked: GenerationAttributes,
  served: GenerationAttributes,
): ImageRate | undefined {
  const wished = imageRate(rates, asked);
  const made = imageRate(rates, { size: served.size ?? asked.size, quality: served.quality ?? asked.quality });
  // the hold is for what was asked for
  return made && !(wished && made.rate > wished.rate) ? made : wished;
}

function fits(stated: string | undefined, value: string | undefined): boolean {
  return stated === undefined || value === undefined || stated.toLowerCase() === value.toLowerCase();
}

function namedBy({ size, quality }: ImageRate): number {
  return Number(size !== undefined) + Number(quality !== undefined);
}
