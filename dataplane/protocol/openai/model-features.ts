/**
 * Differences between OpenAI-compatible models that no capability states, recognized by the model's name at its
 * provider.
 */

/** Models that need their reasoning back with the result of a tool call. */
const WANTS_REASONING_BACK = /(?:deepseek|kimi|moonshot|glm-|minimax)/i;

export function wantsReasoningBack(model: string): boolean {
  return WANTS_REASONING_BACK.test(model);
}
