/** The paths of calls in Google's protocol: `/v1beta/models/{model}:{method}`, and the same below `/v1`. */

export interface GeminiCall {
  /** Without its prefix "models/". */
  readonly model: string;
  readonly method: string;
}

/** Reads what follows `/models/`. A model's name may have slashes and colons. Undefined: it names no method. */
export function readGeminiCall(rest: string): GeminiCall | undefined {
  const colon = rest.lastIndexOf(':');
  return colon <= 0 ? undefined : { model: rest.slice(0, colon), method: rest.slice(colon + 1) };
}

/** Whether a request target asks for a count of tokens, which is free. */
export function isTokenCount(target: string): boolean {
  return /^\/v1(?:beta)?\/models\/[^?#]+:countTokens(?:[?#]|$)/.test(target);
}
