/**
 * What a model accepts of a converted request. A ModelRoute may state each capability; the tables below hold those of
 * well-known models, by the model's name at its provider. Requests that pass through are not changed: the client knows
 * its own protocol.
 */

export interface ModelCapabilities {
  /** A reasoning effort or a thinking budget. */
  readonly reasoning: boolean;
  /** Sampling parameters: temperature, top_p and top_k. */
  readonly temperature: boolean;
  /** top_p beside temperature. */
  readonly temperatureWithTopP: boolean;
  /** Stop sequences. */
  readonly stopSequences: boolean;
  /** Tools and answers that are held to a JSON schema. */
  readonly strictSchemas: boolean;
  /** A switch for parallel tool calls. */
  readonly parallelTools: boolean;
  /** A last message of the assistant, which the answer continues. */
  readonly prefill: boolean;
  /** System messages between turns; otherwise they become text of the user. */
  readonly systemTurns: boolean;
  /** Longest description of a tool, in characters; 0: no limit. */
  readonly toolDescriptionLength: number;
  /** Cache breakpoints, which a conversion places where the client cannot. */
  readonly promptCaching: boolean;
  /** OpenAI's protocol: chat completions; otherwise only Responses serve the model. */
  readonly chatCompletions: boolean;
  /** OpenAI's protocol: tools in chat completions while the model reasons. */
  readonly chatToolsWithReasoning: boolean;
}

/** The capabilities that somebody states of a model; undefined: not stated. */
export type StatedCapabilities = {
  readonly [Name in keyof ModelCapabilities]?: ModelCapabilities[Name] | undefined;
};

/** A row of a table: models whose name matches differ from the defaults by these capabilities. */
export interface KnownModels {
  /** For the documentation. */
  readonly models: string;
  readonly matches: (model: string) => boolean;
  readonly capabilities: StatedCapabilities;
}

/** Of a model that no table knows. */
export const DEFAULT_CAPABILITIES: ModelCapabilities = {
  reasoning: true,
  temperature: true,
  temperatureWithTopP: true,
  stopSequences: true,
  strictSchemas: true,
  parallelTools: true,
  prefill: true,
  systemTurns: false,
  toolDescriptionLength: 0,
  promptCaching: true,
  chatCompletions: true,
  chatToolsWithReasoning: true,
};

const OPENAI_TOOL_DESCRIPTION = 1024;

/** On providers of OpenAI's protocol. */
export const OPENAI_MODELS: readonly KnownModels[] = [
  {
    models: "OpenAI's, Grok, DeepSeek",
    matches: named('gpt-(?!oss)|chatgpt|codex|o[134](?![a-z0-9])|grok|deepseek'),
    capabilities: { systemTurns: true },
  },
  {
    models: 'GPT-3.5, GPT-4 and ChatGPT',
    matches: named('gpt-3|gpt-4|chatgpt'),
    capabilities: { reasoning: false, toolDescriptionLength: OPENAI_TOOL_DESCRIPTION },
  },
  {
    models: 'o1, o3, o4',
    matches: named('o[134](?![a-z0-9])'),
    capabilities: {
      temperature: false,
      stopSequences: false,
      parallelTools: false,
      toolDescriptionLength: OPENAI_TOOL_DESCRIPTION,
    },
  },
  {
    models: 'GPT-5, except its chat models',
    matches: named('gpt-5(?!.*chat)'),
    capabilities: { temperature: false, stopSequences: false },
  },
  {
    models: 'GPT-5.4 and later, except chat models',
    matches: named(String.raw`gpt-(?:5\.(?:[4-9]|\d\d)|[6-9])(?!.*chat)`),
    capabilities: { chatToolsWithReasoning: false },
  },
  {
    models: 'Codex, GPT-5 pro, o1-pro, o3-pro, deep research, computer use',
    matches: named(
      String.raw`gpt-[5-9][\d.]*-(?:codex|pro)|codex|o[13]-pro|o[34](?:-mini)?-deep-research|computer-use`,
    ),
    capabilities: { chatCompletions: false },
  },
  { models: 'GPT-5 chat', matches: named('gpt-5.*chat'), capabilities: { reasoning: false } },
  {
    models: 'Grok (except 3 mini), Mistral, Cohere, Llama, Gemma, Phi, Kimi, GLM, Qwen',
    matches: named(
      'grok-(?!3-mini)|mistral|mixtral|ministral|codestral|pixtral|devstral|open-mi|command|llama|gemma' +
        '|phi|kimi|moonshot|glm|qwen|davinci|babbage',
    ),
    capabilities: { reasoning: false },
  },
  { models: 'DeepSeek', matches: named('deepseek'), capabilities: { reasoning: false, strictSchemas: false } },
];

/** On providers of Anthropic's protocol. */
export const ANTHROPIC_MODELS: readonly KnownModels[] = [
  { models: 'Claude before 3.7', matches: claude({ below: 3.7 }), capabilities: { reasoning: false } },
  { models: 'Claude before 4.1', matches: claude({ below: 4.1 }), capabilities: { strictSchemas: false } },
  { models: 'Claude from 4.1', matches: claude({ from: 4.1 }), capabilities: { temperatureWithTopP: false } },
  { models: 'Claude from 4.6', matches: claude({ from: 4.6 }), capabilities: { prefill: false } },
  { models: 'Claude from 4.7', matches: claude({ from: 4.7 }), capabilities: { temperature: false } },
];

/** On Bedrock's Converse. */
export const CONVERSE_MODELS: readonly KnownModels[] = [
  { models: 'all', matches: () => true, capabilities: { parallelTools: false } },
  {
    models: 'all but Claude',
    matches: (model) => !/claude|anthropic/i.test(model),
    capabilities: { reasoning: false, strictSchemas: false, prefill: false, promptCaching: false },
  },
  { models: 'Amazon Nova', matches: named('nova'), capabilities: { promptCaching: true } },
  { models: 'Amazon Nova 2', matches: named('nova-2'), capabilities: { reasoning: true } },
  { models: 'GPT-OSS', matches: named('gpt-oss'), capabilities: { reasoning: true, strictSchemas: true } },
  {
    models: 'Gemma, Kimi, Magistral, MiniMax, Ministral, Nemotron, Qwen',
    matches: named('gemma|kimi|magistral|minimax|ministral|nemotron|qwen'),
    capabilities: { strictSchemas: true },
  },
  ...ANTHROPIC_MODELS,
];

/** On Gemini's own API. */
export const GEMINI_MODELS: readonly KnownModels[] = [
  { models: 'all', matches: () => true, capabilities: { parallelTools: false, prefill: false, promptCaching: false } },
  {
    models: 'Gemini before 2.5, Gemma',
    matches: named(String.raw`gemini-(?:1|2\.0)|gemma`),
    capabilities: { reasoning: false },
  },
  { models: 'Gemma', matches: named('gemma'), capabilities: { strictSchemas: false } },
];

/** The defaults, the rows that know the model, and what its route states, the later winning. */
export function capabilitiesOf(
  known: readonly KnownModels[],
  model: string,
  stated: StatedCapabilities = {},
): ModelCapabilities {
  const rows = known.filter(({ matches }) => matches(model)).map(({ capabilities }) => capabilities);
  return [...rows, stated].reduce(merge, DEFAULT_CAPABILITIES);
}

function merge(older: ModelCapabilities, newer: StatedCapabilities): ModelCapabilities {
  return { ...older, ...Object.fromEntries(Object.entries(newer).filter(([, value]) => value !== undefined)) };
}

/** `claude-sonnet-4-5-20250929`, `us.anthropic.claude-3-7-sonnet-…`, `anthropic/claude-opus-4.1`. */
const CLAUDE_VERSION = /claude-(?:[a-z]+-)?(\d)(?:[-.](\d)(?!\d))?/i;

/** The version of a Claude model; undefined: the name shows none. */
export function claudeVersion(model: string): number | undefined {
  const [, major, minor = '0'] = CLAUDE_VERSION.exec(model) ?? [];
  return major === undefined ? undefined : Number(`${major}.${minor}`);
}

/** Names may have a vendor's prefix: `openai/gpt-4o`, `eu.mistral…`, `ft:gpt-4o:…`. */
function named(names: string): (model: string) => boolean {
  const pattern = new RegExp(`(?:^|[/.:])(?:${names})`, 'i');
  return (model) => pattern.test(model);
}

function claude({ from = 0, below = Infinity }: { from?: number; below?: number }): (model: string) => boolean {
  return (model) => {
    const version = claudeVersion(model);
    return version !== undefined && version >= from && version < below;
  };
}
