/** Inputs of endpoints that take tokens as well as texts: embeddings and legacy completions. */
import { Buffer } from 'node:buffer';
import { RequestFault } from '../call-facts.ts';
import { estimateTokens } from '../estimate.ts';

/** A text, or the number of tokens that the client sent. */
export type TokenInput = string | number;

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
export function boundTokens(input: TokenInput): number {
  return typeof input === 'string' ? Buffer.byteLength(input) : input;
}

/** Likely tokens of an input. */
export function likelyTokens(input: TokenInput): number {
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
