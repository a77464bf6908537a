/**
 * Differences between OpenAI-compatible models that no capability states, recognized by the model's name at its
 * provider.
 */

/** Models that need their reasoning back with the result of a tool call. */
const WANTS_REASONING_BACK = /(?:deepseek|kimi|moonshot|glm-|minimax)/i;

export function wantsReasoningBack(model: string): boolean {
  return WANTS_REASONING_BACK.test(model);
}

/** Models that accept a verbosity and every reasoning effort. */
const GPT_5 = /(?:^|[/.:])gpt-[5-9](?!.*chat)/i;

export function takesVerbosity(model: string): boolean {
  return GPT_5.test(model);
}
