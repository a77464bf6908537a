/**
 * In what OpenAI-compatible models differ, as far as a conversion must know: told by the model's name at its provider.
 */

/** They refuse reasoning_effort, or have only one. */
const NO_EFFORT = /(?:^|[/.:])(?:gpt-3|gpt-4|chatgpt|davinci|babbage|grok-(?!3-mini)|mistral|mixtral|ministral|codestral|pixtral|devstral|open-mi|command|llama|gemma|phi|deepseek|kimi|moonshot|glm|qwen)/i;
/** Between a tool call and its answer they want to see what they thought. */
const WANTS_REASONING_BACK = /(?:deepseek|kimi|moonshot|glm-|minimax)/i;

/** A thinking budget, which its client may set for any model, can be told this one as an effort. */
export function takesEffort(model: string): boolean {
  return !NO_EFFORT.test(model);
}

export function wantsReasoningBack(model: string): boolean {
  return WANTS_REASONING_BACK.test(model);
}
