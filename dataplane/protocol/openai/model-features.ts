/**
 * Differences between OpenAI-compatible models that a conversion must know, recognized by the model's name at its
 * provider.
 */

/** Models that refuse reasoning_effort, or support only one value. */
const NO_EFFORT = new RegExp(`(?:^|[/.:])(?:${[
  'gpt-3|gpt-4|chatgpt|davinci|babbage|grok-(?!3-mini)|mistral|mixtral|ministral|codestral|pixtral|devstral|open-mi',
  'command|llama|gemma|phi|deepseek|kimi|moonshot|glm|qwen',
].join('|')})`, 'i');
/** Models that need their reasoning back with the result of a tool call. */
const WANTS_REASONING_BACK = /(?:deepseek|kimi|moonshot|glm-|minimax)/i;

/** Whether a thinking budget can be sent to this model as a reasoning effort. */
export function takesEffort(model: string): boolean {
  return !NO_EFFORT.test(model);
}

export function wantsReasoningBack(model: string): boolean {
  return WANTS_REASONING_BACK.test(model);
}
