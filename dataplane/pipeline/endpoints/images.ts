/** Images that are generated, edited or varied, priced by the image, or by tokens where an output limit bounds them. */
import { GatewayError } from '../../errors.ts';
import type { BodyFacts } from '../../protocol/body-kinds.ts';
import type { Converter } from '../../protocol/converter.ts';
import { boundImagesInput, estimateImagesInput } from '../../protocol/openai/image-facts.ts';
import { isImagen } from '../../protocol/gemini/imagen.ts';
import { providerOf } from '../../protocol/providers.ts';
import type { Candidate } from '../../state/state.ts';
import { outputOfModelLimit } from '../context.ts';
import { madeAt } from '../made-at.ts';
import { checkImagePrice } from './check-generation-price.ts';
import type { Endpoint } from './endpoint.ts';
import { jsonOrForm } from './json-or-form.ts';
import type { FormFacts } from './json-or-form.ts';
import { asksForImage, checkPassthrough } from './passthrough.ts';

export const IMAGES = images<BodyFacts['Images']>({
  read: ({ body }) => body.facts('Images'),
  converter: (_facts, candidate) => {
    const { endpoints, imagen } = providerOf(candidate.target.protocol);
    return isImagenOfGoogle(candidate) ? imagen : endpoints?.images;
  },
  unservable: () => undefined,
});

export const IMAGE_EDITS = images<FormFacts<'ImageEdits'>>({
  read: jsonOrForm('ImageEdits'),
  converter: ({ form }, candidate) =>
    isImagenOfGoogle(candidate) ? undefined : providerOf(candidate.target.protocol).endpoints?.imageEdits?.(form),
  unservable: notImagen,
});

export const IMAGE_VARIATIONS = images<FormFacts<'ImageVariations'>>({
  read: jsonOrForm('ImageVariations'),
  unservable: ({ model }) =>
    new GatewayError(
      'not_found',
      `The provider of ${model} makes no variations. Send the picture with a prompt to POST /v1/images/edits.`,
      { param: 'model' },
    ),
  converter: ({ form }, { target }) => providerOf(target.protocol).endpoints?.imageVariations?.(form),
});

function isImagenOfGoogle({ target, upstreamModel }: Candidate): boolean {
  return target.protocol === 'Gemini' && isImagen(upstreamModel);
}

function notImagen(
  { model }: Pick<BodyFacts['Images'], 'model'>,
  candidates: readonly Candidate[],
): GatewayError | undefined {
  if (!candidates.some(isImagenOfGoogle)) return undefined;
  return new GatewayError(
    'not_found',
    `The provider of ${model} edits no pictures. Imagen makes them by POST /v1/images/generations, or by Google's ` +
      `POST /v1beta/models/${model}:predict.`,
    { param: 'model' },
  );
}

/** The output of a model that has an output limit; no other model of images has tokens. */
const OUTPUT = outputOfModelLimit(1);

function images<Facts extends BodyFacts['Images']>(
  own: Pick<Endpoint<Facts>, 'read' | 'converter' | 'unservable'>,
): Endpoint<Facts> {
  const isOfTokens = (facts: Facts, candidate: Candidate): boolean => hasOutputLimit(own.converter(facts, candidate));
  return {
    kind: 'Images',
    ...own,
    asks: ({ model, stream, generations, made, imageParam }) => ({
      model,
      stream,
      generations,
      made,
      output: OUTPUT,
      ...asksForImage(imageParam),
    }),
    check: (facts, candidate) => {
      checkPassthrough(facts, candidate);
      checkImagePrice(madeAt(facts.made, candidate), candidate);
    },
    boundInput: (facts, candidate) => (isOfTokens(facts, candidate) ? boundImagesInput(facts, candidate.model) : 0),
    estimateInput: (facts, candidate) =>
      isOfTokens(facts, candidate) ? estimateImagesInput(facts, candidate.model) : 0,
  };
}

function hasOutputLimit(converter: Converter | undefined): boolean {
  return converter?.limitsOutput === true;
}
