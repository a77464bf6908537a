/** Where a model is, below the channel's base URL. */

/** `method`: of the model, such as `countTokens`. */
export function modelPath(model: string, method: string): string {
  return `/v1beta/models/${encodeURIComponent(model)}:${method}`;
}
