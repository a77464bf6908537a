/** Inputs of endpoints that take tokens as well as texts: embeddings and legacy completions. */
import { Buffer } from 'node:buffer';
import { RequestFault } from '../call-facts.ts';
import { estimateTokens, TEMPLATE_TOKENS } from '../estimate.ts';
import type { ModelTokens } from '../estimate.ts';
import type { JsonRecord } from '../fields.ts';
import { findImageField } from '../image-inputs.ts';
import { otherBytes, otherTextBytes } from '../other-members.ts';

/** A text, or the number of tokens that the client sent. */
export type TokenInput = string | number;

/** The tokens of inputs that a provider reads one by one. */
export interface InputTokens {
  /** Upper bounds of the inputs, each with the rest of the body, where a compatible provider may find more to read. */
  readonly inputTokens: readonly number[];
  /** Likely tokens of all inputs. */
  readonly estimatedTokens: number;
  /** The field with the first image, which compatible providers accept; undefined: none. */
  readonly imageParam: string | undefined;
}

interface InputBody {
  readonly body: Uint8Array;
  readonly parsed: JsonRecord;
  /** The member that holds the inputs. */
  readonly param: string;
  /** Members left out of the estimate: models do not read them, or they are counted separately. */
  readonly unread: ReadonlySet<string>;
}

export function countInputs(inputs: readonly TokenInput[], from: InputBody): InputTokens {
  const beside = otherBytes(from.body, new Set([from.param])) + TEMPLATE_TOKENS;
  const likelyBeside = estimateTokens(otherTextBytes(from.parsed, from.unread));
  return {
    inputTokens: inputs.map((input) => boundTokens(input) + beside),
    estimatedTokens: inputs.reduce<number>((sum, input) => sum + likelyTokens(input) + likelyBeside, 0),
    imageParam: findImageField(from.parsed),
  };
}

/** Upper bound of input tokens, at most the context of each input. What an image comes to is bounded by that alone. */
export function boundInputs(counted: InputTokens, { contextTokens }: ModelTokens): number {
  const each = counted.inputTokens;
  if (counted.imageParam !== undefined) return each.length * contextTokens;
  return each.reduce((sum, tokens) => sum + Math.min(tokens, contextTokens), 0);
}

/** Likely input tokens, at most the bound. */
export function estimateInputs(counted: InputTokens, model: ModelTokens): number {
  return Math.min(boundInputs(counted, model), counted.estimatedTokens);
}

/** A text, a list of texts, a list of tokens, or a list of such lists. Throws RequestFault; `param`: the field. */
export function readTokenInputs(input: unknown, param: string): readonly TokenInput[] {
  if (typeof input === 'string') return [input];
  if (!Array.isArray(input) || input.length === 0) throw inputFault(param, param);
  const items: readonly unknown[] = input;
  if (isTokens(items)) return [items.length];
  return items.map((item, index) => {
    if (typeof item === 'string') return item;
    if (Array.isArray(item) && isTokens(item)) return item.length;
    throw inputFault(`${param}[${index}]`, param);
  });
}

/** Upper bound of an input's tokens: a token has at least a byte. */
function boundTokens(input: TokenInput): number {
  return typeof input === 'string' ? Buffer.byteLength(input) : input;
}

/** Likely tokens of an input. */
function likelyTokens(input: TokenInput): number {
  return typeof input === 'string' ? estimateTokens(Buffer.byteLength(input)) : input;
}

function isTokens(items: readonly unknown[]): boolean {
  return items.every((item) => typeof item === 'number');
}

function inputFault(param: string, field: string): RequestFault {
  return new RequestFault(
    'invalid_request',
    `The field "${param}" must be a text or a list of tokens; "${field}" may be a list of either.`,
    param,
  );
}
