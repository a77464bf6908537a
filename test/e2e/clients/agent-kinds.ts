/** The kinds of providers that agents work on: how each reads what it is sent, and says what a script tells it. */
import type { Json } from '../../support/api/test-stack.ts';
import { converseAnswer } from '../../support/converse-answers.ts';
import { geminiAnswer } from '../../support/gemini-answers.ts';
import type { RecordedRequest, Reply } from '../../support/mock-provider.ts';
import { anthropicStream, openaiStream } from '../../support/provider-answers.ts';
import { openaiItems } from '../../support/response-answers.ts';
import { REASONING_SIGNATURE } from './converse-rules.ts';
import { THOUGHT_SIGNATURE } from './gemini-rules.ts';
import { ENCRYPTED_REASONING } from './responses-rules.ts';

/** What the channel's provider speaks. */
export type AgentKind = keyof typeof KINDS;

/** What a model does in one turn: it calls a tool, or it is done. */
export interface Turn {
  readonly tool?: string;
  readonly input: Json;
}

export interface Seen {
  /** The tool of this name, as the provider was told of it. */
  readonly declared: Json;
  /** It has the search that Codex asks for, which the route leaves out. */
  readonly searches: boolean;
  /** The calls so far, as this provider is told of their input. */
  readonly calls: readonly Json[];
  readonly results: number;
  /** How many of its own proofs of reasoning have come back. */
  readonly proofs: number;
}

export interface KindOfProvider {
  /** What the provider calls the model. */
  readonly model: string;
  /** Of the channel's manifest, for a provider at this address. */
  readonly channel: (url: string) => string;
  readonly read: (body: Json, tool: string) => Seen;
  readonly write: (turn: Turn, request: RecordedRequest) => Reply;
}

const USAGE = { input: 10, output: 2 };
/** OpenAI names the model's snapshot in its responses. */
const SNAPSHOT = 'gpt-5.6-2026-07-01';
const THOUGHT = 'A tool does it.';
const DONE = ['All ', 'done.'];

const isSearch = (tool: Json): boolean => /web_search/.test(JSON.stringify([tool.type, tool.name]));
/** Tools that take a text have an object with it where a provider knows functions only. */
const objectOf = (input: Json): Json => (typeof input === 'string' ? { input } : input);

const responses: KindOfProvider = {
  model: 'gpt-5.6',
  channel: (url) => `protocol: OpenAI, baseUrl: "${url}/v1", endpoints: [Chat, Responses]`,
  read: ({ tools = [], input }, tool) => ({
    declared: tools.find(({ name }: Json) => name === tool),
    searches: tools.some(isSearch),
    calls: input.flatMap((item: Json) => {
      if (item.type === 'custom_tool_call') return [item.input];
      return item.type === 'function_call' ? [JSON.parse(item.arguments)] : [];
    }),
    results: input.filter(({ type }: Json) => /^(?:function|custom_tool)_call_output$/.test(type)).length,
    proofs: input.filter((item: Json) => item.encrypted_content === ENCRYPTED_REASONING).length,
  }),
  write: ({ tool, input }, request) => {
    const { index } = request;
    const { stream, include = [], reasoning: asked } = request.json() as Json;
    const encrypted = include.includes('reasoning.encrypted_content');
    const reasoning = {
      id: `rs_${index}`,
      type: 'reasoning',
      summary: asked?.summary === undefined ? [] : [{ type: 'summary_text', text: THOUGHT }],
      ...(encrypted && { encrypted_content: ENCRYPTED_REASONING }),
    };
    const usage = { input_tokens: USAGE.input, output_tokens: USAGE.output, total_tokens: USAGE.input + USAGE.output };
    return openaiItems([reasoning, responseItem({ ...(tool !== undefined && { tool }), input }, index)], usage, {
      stream: stream === true,
      model: SNAPSHOT,
    });
  },
};

function responseItem({ tool, input }: Turn, index: number): Readonly<Record<string, unknown>> {
  const [status, call] = ['completed', { call_id: `call_${index}`, name: tool }];
  if (tool === undefined) {
    const content = [{ type: 'output_text', text: DONE.join(''), annotations: [] }];
    return { id: `msg_${index}`, type: 'message', role: 'assistant', status, content };
  }
  return typeof input === 'string'
    ? { id: `ctc_${index}`, type: 'custom_tool_call', status, ...call, input }
    : { id: `fc_${index}`, type: 'function_call', status, ...call, arguments: JSON.stringify(input) };
}

const chat: KindOfProvider = {
  model: 'gpt-5.1',
  channel: (url) => `protocol: OpenAI, baseUrl: "${url}/v1", endpoints: [Chat]`,
  read: ({ tools = [], messages }, tool) => ({
    declared: tools.find((each: Json) => each.function.name === tool),
    searches: tools.some(isSearch),
    calls: messages
      .flatMap((message: Json) => message.tool_calls ?? [])
      .map((call: Json) => JSON.parse(call.function.arguments)),
    results: messages.filter(({ role }: Json) => role === 'tool').length,
    proofs: 0,
  }),
  write: ({ tool, input }, { index }) =>
    tool === undefined
      ? openaiStream(DONE)
      : openaiStream([], {
          toolCalls: [{ id: `call_${index}`, name: tool, arguments: JSON.stringify(objectOf(input)) }],
        }),
};

const anthropic: KindOfProvider = {
  model: 'claude-sonnet-4-5',
  channel: (url) => `protocol: Anthropic, baseUrl: "${url}"`,
  read: ({ tools = [], messages }, tool) => {
    const blocks = messages.flatMap(({ content }: Json) => (Array.isArray(content) ? content : []));
    return {
      declared: tools.find(({ name }: Json) => name === tool),
      searches: tools.some(isSearch),
      calls: blocks.filter(({ type }: Json) => type === 'tool_use').map((block: Json) => block.input),
      results: blocks.filter(({ type }: Json) => type === 'tool_result').length,
      proofs: 0,
    };
  },
  write: ({ tool, input }, { index }) =>
    tool === undefined
      ? anthropicStream(DONE)
      : anthropicStream([], { toolUses: [{ id: `toolu_${index}`, name: tool, input: objectOf(input) }] }),
};

const gemini: KindOfProvider = {
  model: 'gemini-3-pro-preview',
  channel: (url) => `protocol: Gemini, baseUrl: "${url}"`,
  read: ({ tools = [], contents }, tool) => {
    const parts = contents.flatMap((content: Json) => content.parts);
    const declarations = tools.flatMap(({ functionDeclarations = [] }: Json) => functionDeclarations);
    return {
      declared: declarations.find(({ name }: Json) => name === tool),
      searches: tools.some((each: Json) => 'googleSearch' in each) || declarations.some(isSearch),
      calls: parts.flatMap(({ functionCall: call }: Json) => (call ? [call.args] : [])),
      results: parts.filter((part: Json) => part.functionResponse).length,
      proofs: parts.filter((part: Json) => part.thoughtSignature === THOUGHT_SIGNATURE).length,
    };
  },
  write: ({ tool, input }, request) => {
    const { thinkingConfig } = (request.json() as Json).generationConfig ?? {};
    return geminiAnswer(
      {
        pieces: tool === undefined ? DONE : [],
        call: tool === undefined ? undefined : { name: tool, args: objectOf(input) },
        thought: thinkingConfig?.includeThoughts === true ? THOUGHT : undefined,
        signature: THOUGHT_SIGNATURE,
        model: gemini.model,
        usage: USAGE,
      },
      { stream: request.path.includes(':stream') },
    );
  },
};

const converse: KindOfProvider = {
  model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
  channel: (url) =>
    `protocol: BedrockConverse, baseUrl: "${url}", auth: {type: ApiKey, secretRef: {name: bedrock-key}}`,
  read: ({ toolConfig, messages }, tool) => {
    const blocks = messages.flatMap(({ content }: Json) => content);
    const specs = (toolConfig?.tools ?? []).flatMap(({ toolSpec }: Json) => toolSpec ?? []);
    return {
      declared: specs.find(({ name }: Json) => name === tool),
      searches: specs.some(isSearch),
      calls: blocks.flatMap(({ toolUse }: Json) => (toolUse ? [toolUse.input] : [])),
      results: blocks.filter((block: Json) => block.toolResult).length,
      proofs: blocks.filter(
        ({ reasoningContent: reasoning }: Json) => reasoning?.reasoningText?.signature === REASONING_SIGNATURE,
      ).length,
    };
  },
  write: ({ tool, input }, request) => {
    const { thinking } = (request.json() as Json).additionalModelRequestFields ?? {};
    const thinks = thinking !== undefined && thinking.type !== 'disabled';
    return converseAnswer(
      {
        pieces: tool === undefined ? DONE : [],
        call: tool === undefined ? undefined : { id: `tooluse_${request.index}`, name: tool, input: objectOf(input) },
        reasoning: thinks ? { text: THOUGHT, signature: REASONING_SIGNATURE } : undefined,
        usage: USAGE,
      },
      { stream: request.path.endsWith('/converse-stream') },
    );
  },
};

export const KINDS = { Responses: responses, Chat: chat, Anthropic: anthropic, Gemini: gemini, Converse: converse };
