/**
 * Moderations, which pass through: OpenAI client, OpenAI provider.
 */
import { Buffer } from 'node:buffer';
import { RequestFault } from '../call-facts.ts';
import { estimateTokens } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import { isGiven, isRecord, readModel } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { refuseFoldedNames } from '../folded-names.ts';
import { findImageField } from '../image-inputs.ts';
import { hasOnly } from '../known-members.ts';
import { otherBytes, otherTextBytes } from '../other-members.ts';
import { inputOnlyConverter } from './input-only.ts';

export interface ModerationsFacts {
  readonly model: string;
  /** What gets one result: a text, or all parts together. */
  readonly inputs: readonly ModeratedInput[];
  /** Of the body's other members, such as a policy, which may be read with each input. */
  readonly otherBytes: number;
  readonly otherTextBytes: number;
  /** The field with the first image; undefined: none. */
  readonly imageParam: string | undefined;
}

export interface ModeratedInput {
  readonly textBytes: number;
  readonly images: number;
}

/** The model of a request that names none, as at OpenAI. */
const DEFAULT_MODEL = 'omni-moderation-latest';

/** Upper bound of what a guard model's own policy and template add to an input. */
const POLICY_TOKENS = 512;

const INPUT_NAMES: ReadonlySet<string> = new Set(['input']);
/** Members left out of the estimate: models do not read them, or they are counted separately. */
const UNREAD_NAMES: ReadonlySet<string> = new Set(['input', 'model', 'user', 'metadata', 'safety_identifier']);
const TEXT_MEMBERS: ReadonlySet<string> = new Set(['type', 'text']);
const PICTURE_MEMBERS: ReadonlySet<string> = new Set(['type', 'image_url']);
const IMAGE_MEMBERS: ReadonlySet<string> = new Set(['url', 'detail']);

/** Throws RequestFault where the model or the input is wrong, or the input is missing. */
export function readModerationsFacts(body: Uint8Array, parsed: JsonRecord): ModerationsFacts {
  const imageParam = findImageField(parsed);
  const inputs = readInputs(parsed['input']);
  const isHidden = imageParam !== undefined && inputs.every(({ images }) => images === 0);
  return {
    model: isGiven(parsed['model']) ? readModel(parsed) : DEFAULT_MODEL,
    inputs: isHidden ? inputs.map((input) => ({ ...input, images: 1 })) : inputs,
    otherBytes: otherBytes(body, INPUT_NAMES),
    otherTextBytes: otherTextBytes(parsed, UNREAD_NAMES),
    imageParam,
  };
}

/** Upper bound of input tokens: providers truncate or refuse an input that exceeds the model's context. */
export function boundModeratedInput(facts: ModerationsFacts, { contextTokens, imageTokens }: ModelTokens): number {
  const { inputs, otherBytes: beside } = facts;
  const bounds = inputs.map(({ textBytes, images }) =>
    Math.min(contextTokens, textBytes + beside + POLICY_TOKENS + images * imageTokens),
  );
  return bounds.reduce((sum, tokens) => sum + tokens, 0);
}

/** Likely tokens of all inputs, at most the bound. */
export function estimateModeratedInput(facts: ModerationsFacts, model: ModelTokens): number {
  const beside = estimateTokens(facts.otherTextBytes);
  const likely = facts.inputs.map(
    ({ textBytes, images }) => estimateTokens(textBytes) + beside + images * model.imageTokens,
  );
  return Math.min(
    boundModeratedInput(facts, model),
    likely.reduce((sum, tokens) => sum + tokens, 0),
  );
}

export const moderationsConverter = inputOnlyConverter({
  path: '/moderations',
  isResponse: (response) => Array.isArray(response['results']),
  fault: 'the answer holds no moderations',
});

/** A text, a list of texts, or a list of parts. */
function readInputs(input: unknown): readonly ModeratedInput[] {
  if (typeof input === 'string') return [textInput(input)];
  if (!Array.isArray(input) || input.length === 0) throw inputFault('input');
  const items: readonly unknown[] = input;
  if (!items.some(isRecord))
    return items.map((item, index) => {
      if (typeof item === 'string') return textInput(item);
      throw inputFault(`input[${index}]`);
    });
  const parts = items.map((part, index) => readPart(part, `input[${index}]`));
  return [
    {
      textBytes: parts.reduce((sum, { textBytes }) => sum + textBytes, 0),
      images: parts.reduce((sum, { images }) => sum + images, 0),
    },
  ];
}

function textInput(text: string): ModeratedInput {
  return { textBytes: Buffer.byteLength(text), images: 0 };
}

/** Nothing is beside the text or the image, where a provider could find more of either. */
function readPart(part: unknown, param: string): ModeratedInput {
  if (!isRecord(part)) throw inputFault(param);
  refuseFoldedNames(part, param);
  const { type, text, image_url: image } = part;
  if (type === 'text' && typeof text === 'string' && hasOnly(part, TEXT_MEMBERS)) return textInput(text);
  if (type !== 'image_url' || !isRecord(image) || !hasOnly(part, PICTURE_MEMBERS)) throw inputFault(param);
  refuseFoldedNames(image, `${param}.image_url`);
  if (typeof image['url'] !== 'string' || !hasOnly(image, IMAGE_MEMBERS)) throw inputFault(`${param}.image_url`);
  return { textBytes: 0, images: 1 };
}

function inputFault(param: string): RequestFault {
  return new RequestFault(
    'invalid_request',
    `The field "${param}" must be a text, or a part with a text or an image_url; "input" may be a list of either.`,
    param,
  );
}
