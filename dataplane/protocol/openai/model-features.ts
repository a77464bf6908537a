/**
 * Differences between OpenAI-compatible models that no capability states, recognized by the model's name at its
 * provider.
 */

/**
 * Models that OpenRouter and gateways like it serve for their makers, whose reasoning they keep by its proof. Open
 * models of these makers, which anybody serves, prove nothing.
 */
const MAKERS = [
  [/^anthropic\/claude/i, 'Anthropic'],
  [/^google\/gemini/i, 'Gemini'],
  [/^openai\/(?!gpt-oss)/i, 'OpenAI'],
] as const;

export function makerByName(model: string): (typeof MAKERS)[number][1] | undefined {
  return MAKERS.find(([pattern]) => pattern.test(model))?.[1];
}

/** Models that need the reasoning of earlier turns back. */
const WANTS_REASONING_BACK = /(?:deepseek|kimi|moonshot|glm-|minimax)/i;

export function wantsReasoningBack(model: string): boolean {
  return WANTS_REASONING_BACK.test(model);
}

/** Models that refuse a call of an earlier turn without its reasoning, while they think. */
const NEEDS_REASONING_OF_CALLS = /(?:deepseek|kimi|moonshot)/i;

export function needsReasoningOfCalls(model: string): boolean {
  return NEEDS_REASONING_OF_CALLS.test(model);
}

/** Models whose thinking is switched off by `thinking`. */
const SWITCHES_THINKING = /(?:deepseek|kimi|moonshot|glm-)/i;

export function switchesThinking(model: string): boolean {
  return SWITCHES_THINKING.test(model);
}

/** Models of OpenAI's own, GPT-OSS aside, which others serve. */
const OPENAI = /(?:^|[/.:])(?:gpt-(?!oss)|chatgpt|codex|o[134](?![a-z0-9]))/i;

export function isOpenAi(model: string): boolean {
  return OPENAI.test(model);
}

export function isGemini(model: string): boolean {
  return /gemini/i.test(model);
}

/** Models that accept a verbosity. */
const GPT_5 = /(?:^|[/.:])gpt-[5-9](?!.*chat)/i;

/** The highest effort by GPT-5's version; earlier ones take high. */
const HIGHEST_EFFORTS: readonly (readonly [RegExp, string])[] = [
  [/gpt-(?:5\.[6-9]|[6-9])/i, 'max'],
  [/gpt-5\.(?:[2-5]|1-codex-max)/i, 'xhigh'],
];

export function highestEffort(model: string): string {
  return HIGHEST_EFFORTS.find(([pattern]) => pattern.test(model))?.[1] ?? 'high';
}

export function takesVerbosity(model: string): boolean {
  return GPT_5.test(model);
}

/** GPT-5's lowest effort by its version; Codex and pro models take neither. */
const LOWEST_EFFORTS: readonly (readonly [RegExp, 'none' | 'minimal'])[] = [
  [/gpt-(?:5\.[1-9]|[6-9])(?!.*(?:codex|pro))/i, 'none'],
  [/gpt-5(?![.\d])(?!.*(?:codex|pro))/i, 'minimal'],
];

export function lowestEffort(model: string): 'none' | 'minimal' | undefined {
  return LOWEST_EFFORTS.find(([pattern]) => pattern.test(model))?.[1];
}

/** The versions of GPT-5 that reason only when they are asked to. */
const REASONS_WHEN_ASKED = /gpt-5\.[1-4](?!\d)(?!.*(?:codex|pro))/i;

export function reasonsByDefault(model: string): boolean {
  return !REASONS_WHEN_ASKED.test(model);
}

/** Models that show nothing of their reasoning. */
const NEVER_SUMMARIZES = /(?:^|[/.:])(?:o1|gpt-[34])(?![a-z0-9])/i;

export function summarizesReasoning(model: string): boolean {
  return !NEVER_SUMMARIZES.test(model);
}

/** GPT-5.3-Codex and models from GPT-5.4 on. */
const HAS_PHASES = /gpt-(?:5\.3-codex|5\.(?:[4-9]|\d\d)|[6-9])(?!.*chat)/i;

/** Whether messages of the assistant say if they are the answer, or commentary before calls. */
export function hasPhases(model: string): boolean {
  return HAS_PHASES.test(model);
}
