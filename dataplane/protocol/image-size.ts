/** What Google's models make of the sizes that OpenAI's clients write. */
import { itemsOf } from './fields.ts';

export interface MadeSize {
  readonly shape?: string | undefined;
  readonly resolution?: string | undefined;
}

/** The shapes that models make, by their ratio of width to height. */
const SHAPES = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'] as const;
/** The resolutions, by the longer side from which on a size is meant to be one. */
const RESOLUTIONS = [
  ['4K', 3840],
  ['2K', 2048],
  ['1K', 0],
] as const;

/** Of `1536x1024`, or a resolution. `shapes`: those that the model makes. Undefined: it is neither. */
export function imageConfigOf(size: string, shapes: readonly string[] = SHAPES): MadeSize | undefined {
  if (/^(?:512|[124]K)$/i.test(size)) return { resolution: size.toUpperCase() };
  const [width = 0, height = 0] = (/^(\d{2,5})x(\d{2,5})$/.exec(size) ?? []).slice(1).map(Number);
  if (width === 0 || height === 0) return undefined;
  const longer = Math.max(width, height);
  return {
    shape: nearestShape(width / height, shapes),
    resolution: RESOLUTIONS.find(([, from]) => longer >= from)?.[0],
  };
}

function nearestShape(ratio: number, shapes: readonly string[]): string {
  const distance = (shape: string): number => {
    const [width = 1, height = 1] = itemsOf(shape.split(':')).map(Number);
    return Math.abs(Math.log(ratio / (width / height)));
  };
  return shapes.reduce((nearest, shape) => (distance(shape) < distance(nearest) ? shape : nearest));
}
