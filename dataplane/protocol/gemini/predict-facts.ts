/** Reads the facts about a request to Imagen, `:predict` in Google's protocol: a prompt, and how many images of what size. */
import type { UnboundedUse } from '../call-facts.ts';
import { findCostFields, OPENAI_COST_FIELDS } from '../cost-fields.ts';
import { isGiven, isRecord, readCount, readRecords, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { findImageField } from '../image-inputs.ts';
import { malformed } from '../unsupported.ts';
import { refuseOtherSpellings } from './names.ts';

export interface PredictFacts {
  /** Number of images, by which the price is multiplied. */
  readonly generations: number;
  /** The field with an input image; undefined: none. */
  readonly imageParam: string | undefined;
  readonly unbounded: readonly UnboundedUse[];
  readonly made: ImageSize;
  readonly costFields: readonly string[];
}

/** Absent: the provider chooses it. */
interface ImageSize {
  readonly size?: string;
}

/** What Imagen makes of a request that says no number. */
const DEFAULT_IMAGES = 4;
const IMAGES_RANGE = [1, 8] as const;
const COUNTED: ReadonlySet<string> = new Set(['parameters.sampleCount']);
/** The names that are read here. The body goes on as it came. */
const PARAMETERS = ['sampleCount', 'sampleImageSize', 'aspectRatio', 'storageUri', 'mode'] as const;
const INSTANCE = ['prompt'] as const;
const SIZE = /^[\x21-\x7e]{1,32}$/;

/** Expects a request in camel case (names.ts). Throws RequestFault where a field that the gateway needs is wrong. */
export function readPredictFacts(request: JsonRecord): PredictFacts {
  const instances = readRecords(request['instances'], 'instances');
  const [instance] = instances;
  if (!instance || instances.length > 1) throw malformed('instances', 'a list of one instance');
  refuseOtherSpellings(instance, INSTANCE, 'instances[0]');
  if (textOf(instance['prompt']) === undefined) throw malformed('instances[0].prompt', 'a text');
  const { parameters: given = {} } = request;
  if (!isRecord(given)) throw malformed('parameters', 'an object');
  refuseOtherSpellings(given, PARAMETERS, 'parameters');
  const { aspectRatio: ratio } = given;
  if (isGiven(ratio) && typeof ratio !== 'string') throw malformed('parameters.aspectRatio', 'a text');
  return {
    generations: readCount(given['sampleCount'], 'parameters.sampleCount', IMAGES_RANGE) ?? DEFAULT_IMAGES,
    imageParam: pictureIn(instance),
    unbounded: storageOf(given),
    made: sizeOf(given),
    costFields: findCostFields(request, OPENAI_COST_FIELDS, COUNTED),
  };
}

/** Imagen takes pictures, masks and references as objects, and a prompt as a text. */
function pictureIn(instance: JsonRecord): string | undefined {
  const name = findImageField(instance) ?? Object.keys(instance).find((each) => typeof instance[each] === 'object');
  return name === undefined ? undefined : `instances[0].${name}`;
}

/** A bucket belongs to the gateway's account, which all keys share. */
function storageOf({ storageUri }: JsonRecord): readonly UnboundedUse[] {
  return isGiven(storageUri) ? [{ feature: 'FileReferences', param: 'parameters.storageUri' }] : [];
}

/** In another mode, such as upscaling, the size does not follow from its field. */
function sizeOf({ sampleImageSize: size, mode }: JsonRecord): ImageSize {
  return typeof size === 'string' && SIZE.test(size) && !isGiven(mode) ? { size } : {};
}
