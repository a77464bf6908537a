/**
 * Responses of both protocols for the mock provider: whole ones and streams. Each piece of text counts as one token, so
 * that tests know the output exactly; the reported usage can differ.
 */
import { gate } from './mock-provider.ts';
import type { Reply, RecordedRequest, Step } from './mock-provider.ts';

export interface SseEvent {
  readonly event?: string;
  readonly data: unknown;
}

/** One server-sent event; data that is not a string is written as JSON. */
export function sse(event: SseEvent): string {
  const data = typeof event.data === 'string' ? event.data : JSON.stringify(event.data);
  return `${event.event === undefined ? '' : `event: ${event.event}\n`}data: ${data}\n\n`;
}

/** A stream of these events, one step each; other steps between them are kept. */
export function sseReply(...steps: readonly (SseEvent | Step)[]): Reply {
  return {
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    steps: steps.map((step) => (typeof step === 'object' && 'data' in step ? sse(step) : step)),
  };
}

/** The same response with additional steps before the step at `index` (negative: counted from the end). */
export function insertAt(reply: Reply, index: number, ...steps: readonly Step[]): Reply {
  return { ...reply, steps: reply.steps.toSpliced(index, 0, ...steps) };
}

/** The same response, ending with these steps instead of everything from `index` on. */
export function breakAt(reply: Reply, index: number, ...steps: readonly Step[]): Reply {
  return { ...reply, steps: [...reply.steps.slice(0, index), ...steps] };
}

/** The same response, which waits at a gate before its headers. */
export function gated(reply: Reply): { readonly reply: Reply; readonly gate: ReturnType<typeof gate> } {
  const wait = gate();
  return { gate: wait, reply: { ...reply, beforeHead: [wait, ...(reply.beforeHead ?? [])] } };
}

/** A response of one JSON value. `tokens`: its count in `produced`. */
export function json(
  value: unknown,
  options: { readonly status?: number; readonly headers?: Record<string, string>; readonly tokens?: number } = {},
): Reply {
  return {
    status: options.status ?? 200,
    headers: { ...options.headers },
    steps: [{ kind: 'send', bytes: JSON.stringify(value), tokens: options.tokens ?? 0 }],
  };
}

// OpenAI
// -----------------------------------------------------------------------------------------------------------------

export interface OpenaiUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens?: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly audio_tokens?: number } | null;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null;
}

interface OpenaiChatOptions {
  readonly content?: string | readonly string[] | null;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finishReason?: string;
  readonly model?: string;
  /** undefined: as many output tokens as pieces, and 10 of input; null: none is reported. */
  readonly usage?: OpenaiUsage | null;
  /** Additional fields at the top level, for passthrough. */
  readonly extra?: Record<string, unknown>;
}

const OPENAI_HEADERS = { 'x-request-id': 'req_mock_openai' };

export function openaiChat(options: OpenaiChatOptions = {}): Reply {
  const pieces = piecesOf(options.content ?? (options.toolCalls ? [] : 'hello'));
  const message = {
    role: 'assistant',
    content: options.content === null || (options.toolCalls && pieces.length === 0) ? null : pieces.join(''),
    refusal: null,
    ...(options.toolCalls
      ? {
          tool_calls: options.toolCalls.map(({ id, name, arguments: args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
          })),
        }
      : {}),
  };
  const usage = openaiUsage(options, pieces.length);
  return json(
    {
      id: 'chatcmpl-mock',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: options.model ?? 'mock-model',
      choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(options) }],
      ...(usage === null ? {} : { usage }),
      ...options.extra,
    },
    { headers: OPENAI_HEADERS, tokens: pieces.length },
  );
}

interface OpenaiStreamOptions extends Omit<OpenaiChatOptions, 'content'> {
  /** Whether the usage chunk is sent; by default as stream_options say. */
  readonly usageUnasked?: boolean;
  /** False: no `data: [DONE]`. */
  readonly done?: boolean;
}

/** Steps: the role chunk, one per piece, one per tool call, the finish chunk, usage (if asked), [DONE]. */
export function openaiStream(pieces: readonly string[] = ['hel', 'lo'], options: OpenaiStreamOptions = {}): Reply {
  const usage = openaiUsage(options, pieces.length);
  const chunk = (delta: Record<string, unknown>, finish: string | null = null): string =>
    sse({
      data: {
        id: 'chatcmpl-mock',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: options.model ?? 'mock-model',
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        ...options.extra,
      },
    });
  const usageChunk = sse({
    data: {
      id: 'chatcmpl-mock',
      object: 'chat.completion.chunk',
      created: 1_700_000_000,
      model: options.model ?? 'mock-model',
      choices: [],
      usage,
      ...options.extra,
    },
  });
  const usageSteps: Step[] =
    usage === null
      ? []
      : [options.usageUnasked ? usageChunk : { kind: 'ifAsked', bytes: usageChunk, asked: asksForUsage }];
  return {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', ...OPENAI_HEADERS },
    steps: [
      chunk({ role: 'assistant', content: '', refusal: null }),
      ...pieces.map((piece): Step => ({ kind: 'send', bytes: chunk({ content: piece }), tokens: 1 })),
      ...(options.toolCalls ?? []).map(({ id, name, arguments: args }, index): Step => ({
        kind: 'send',
        tokens: 1,
        bytes: chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] }),
      })),
      chunk({}, finishOf(options)),
      ...usageSteps,
      ...(options.done === false ? [] : [sse({ data: '[DONE]' })]),
    ],
  };
}

export function openaiError(
  status: number,
  message = 'the mock provider refuses',
  fields: { readonly type?: string; readonly code?: string | null; readonly headers?: Record<string, string> } = {},
): Reply {
  return json(
    {
      error: {
        message,
        type: fields.type ?? (status >= 500 ? 'server_error' : 'invalid_request_error'),
        param: null,
        code: fields.code ?? null,
      },
    },
    { status, headers: { ...OPENAI_HEADERS, ...fields.headers } },
  );
}

export function openaiEmbeddings(vectors: readonly (readonly number[])[], promptTokens: number): Reply {
  return json(
    {
      object: 'list',
      model: 'mock-embedding',
      data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
    },
    { headers: OPENAI_HEADERS },
  );
}

/** A legacy completion with these choices; `usage` null: without. */
export function openaiCompletion(texts: readonly string[], usage: OpenaiUsage | null = null): Reply {
  return json(
    {
      ...COMPLETION_HEAD,
      choices: texts.map((text, index) => ({ text, index, logprobs: null, finish_reason: 'stop' })),
      ...(usage && { usage: withTotal(usage) }),
    },
    { headers: OPENAI_HEADERS },
  );
}

const COMPLETION_HEAD = { id: 'cmpl-mock', object: 'text_completion', created: 1_700_000_000, model: 'mock-model' };

/** A stream of it: a chunk for each text of a choice, one that ends each choice, usage (if asked), [DONE]. */
export function openaiCompletionStream(
  pieces: readonly (readonly [index: number, text: string])[],
  usage: OpenaiUsage | null = null,
): Reply {
  const chunk = (index: number, text: string, reason: string | null): string =>
    sse({ data: { ...COMPLETION_HEAD, choices: [{ text, index, logprobs: null, finish_reason: reason }] } });
  const bytes = usage && sse({ data: { ...COMPLETION_HEAD, choices: [], usage: withTotal(usage) } });
  return {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', ...OPENAI_HEADERS },
    steps: [
      ...pieces.map(([index, text]) => chunk(index, text, null)),
      ...[...new Set(pieces.map(([index]) => index))].map((index) => chunk(index, '', 'stop')),
      ...(bytes === null ? [] : [{ kind: 'ifAsked' as const, bytes, asked: asksForUsage }]),
      sse({ data: '[DONE]' }),
    ],
  };
}

function withTotal(usage: OpenaiUsage): OpenaiUsage & { readonly total_tokens: number } {
  return { total_tokens: usage.prompt_tokens + usage.completion_tokens, ...usage };
}

/** OpenAI reports no usage of moderations; `inputTokens`: of those that do. */
export function openaiModerations(count = 1, inputTokens?: number): Reply {
  return json(
    {
      id: 'modr-mock',
      model: 'mock-moderation',
      results: Array.from({ length: count }, () => ({
        flagged: false,
        categories: { violence: false },
        category_scores: { violence: 0.01 },
      })),
      ...(inputTokens !== undefined && { usage: { prompt_tokens: inputTokens, total_tokens: inputTokens } }),
    },
    { headers: OPENAI_HEADERS },
  );
}

/** Cohere's response, with these scores and this `meta` beside its version. */
export function cohereRanking(scores: readonly number[], meta: object = {}): Reply {
  return json({
    id: 'rank-mock',
    results: scores.map((score, index) => ({ index, relevance_score: score })),
    meta: { api_version: { version: '2' }, ...meta },
  });
}

export function openaiImages(count = 1, extra: Record<string, unknown> = {}): Reply {
  return json(
    {
      created: 1_700_000_000,
      data: Array.from({ length: count }, () => ({ b64_json: 'iVBORw0KGgo=' })),
      ...extra,
    },
    { headers: OPENAI_HEADERS },
  );
}

export interface ImageEvents {
  /** Default: of generations. */
  readonly kind?: 'image_generation' | 'image_edit';
  readonly partial?: number;
  /** Complete images; default: one. */
  readonly completed?: number;
  readonly quality?: string;
}

const IMAGE_USAGE = {
  input_tokens: 50,
  input_tokens_details: { image_tokens: 40, text_tokens: 10 },
  output_tokens: 272,
  total_tokens: 322,
};

/** The events of a stream of images, as OpenAI's models send them. */
export function openaiImageEvents(options: ImageEvents = {}): readonly SseEvent[] {
  const { kind = 'image_generation', partial = 0, completed = 1, quality = 'low' } = options;
  const event = (type: string, more: object): SseEvent => ({
    event: `${kind}.${type}`,
    data: {
      type: `${kind}.${type}`,
      b64_json: 'iVBORw0KGgo=',
      created_at: 1_700_000_000,
      size: '1024x1024',
      quality,
      background: 'opaque',
      output_format: 'png',
      ...more,
    },
  });
  return [
    ...Array.from({ length: partial }, (_, index) => event('partial_image', { partial_image_index: index })),
    ...Array.from({ length: completed }, () => event('completed', { usage: IMAGE_USAGE })),
  ];
}

function openaiUsage(options: Pick<OpenaiChatOptions, 'usage' | 'toolCalls'>, pieces: number): OpenaiUsage | null {
  if (options.usage === null) return null;
  const usage = options.usage ?? { prompt_tokens: 10, completion_tokens: pieces + (options.toolCalls?.length ?? 0) };
  return { total_tokens: usage.prompt_tokens + usage.completion_tokens, ...usage };
}

function finishOf(options: Pick<OpenaiChatOptions, 'finishReason' | 'toolCalls'>): string {
  return options.finishReason ?? (options.toolCalls ? 'tool_calls' : 'stop');
}

function asksForUsage(request: RecordedRequest): boolean {
  const options = request.json()['stream_options'];
  return (
    typeof options === 'object' && options !== null && 'include_usage' in options && options.include_usage === true
  );
}

// Anthropic
// --------------------------------------------------------------------------------------------------------------

export interface AnthropicUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens?: number | null;
  readonly cache_creation_input_tokens?: number | null;
  readonly cache_creation?: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  } | null;
  readonly speed?: 'standard' | 'fast';
  readonly inference_geo?: string;
  readonly server_tool_use?: { readonly web_search_requests: number };
}

interface AnthropicMessageOptions {
  readonly content?: string | readonly string[];
  readonly toolUses?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly stopReason?: string;
  readonly model?: string;
  /** undefined: as many output tokens as pieces, and 10 of input; null: none is reported. */
  readonly usage?: AnthropicUsage | null;
  readonly extra?: Record<string, unknown>;
}

const ANTHROPIC_HEADERS = { 'request-id': 'req_mock_anthropic' };

export function anthropicMessage(options: AnthropicMessageOptions = {}): Reply {
  const pieces = piecesOf(options.content ?? (options.toolUses ? [] : 'hello'));
  const usage = anthropicUsage(options, pieces.length);
  return json(
    {
      id: 'msg_mock',
      type: 'message',
      role: 'assistant',
      model: options.model ?? 'mock-model',
      content: [
        ...(pieces.length > 0 ? [{ type: 'text', text: pieces.join('') }] : []),
        ...(options.toolUses ?? []).map((use) => ({ type: 'tool_use', ...use })),
      ],
      stop_reason: stopOf(options),
      stop_sequence: null,
      ...(usage === null ? {} : { usage }),
      ...options.extra,
    },
    { headers: ANTHROPIC_HEADERS, tokens: pieces.length },
  );
}

/**
 * Steps: message_start, content_block_start, one delta per piece, content_block_stop, three per tool use,
 * message_delta, message_stop. The start reports the input side and one output token, message_delta the whole of
 * `usage`, cumulative.
 */
export function anthropicStream(
  pieces: readonly string[] = ['hel', 'lo'],
  options: Omit<AnthropicMessageOptions, 'content'> = {},
): Reply {
  const usage = anthropicUsage(options, pieces.length);
  const named = (type: string, fields: Record<string, unknown>): string =>
    sse({ event: type, data: { type, ...fields } });
  const steps: Step[] = [
    named('message_start', {
      message: {
        id: 'msg_mock',
        type: 'message',
        role: 'assistant',
        model: options.model ?? 'mock-model',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        ...(usage === null ? {} : { usage: { ...usage, output_tokens: Math.min(1, usage.output_tokens) } }),
        ...options.extra,
      },
    }),
  ];
  if (pieces.length > 0) {
    steps.push(
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...pieces.map((text): Step => ({
        kind: 'send',
        tokens: 1,
        bytes: named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
      })),
      named('content_block_stop', { index: 0 }),
    );
  }
  for (const [offset, use] of (options.toolUses ?? []).entries()) {
    const index = offset + (pieces.length > 0 ? 1 : 0);
    steps.push(
      named('content_block_start', {
        index,
        content_block: { type: 'tool_use', id: use.id, name: use.name, input: {} },
      }),
      {
        kind: 'send',
        tokens: 1,
        bytes: named('content_block_delta', {
          index,
          delta: { type: 'input_json_delta', partial_json: JSON.stringify(use.input) },
        }),
      },
      named('content_block_stop', { index }),
    );
  }
  steps.push(
    named('message_delta', {
      delta: { stop_reason: stopOf(options), stop_sequence: null },
      ...(usage === null ? {} : { usage }),
    }),
    named('message_stop', {}),
  );
  return { headers: { 'content-type': 'text/event-stream; charset=utf-8', ...ANTHROPIC_HEADERS }, steps };
}

export function anthropicError(
  status: number,
  type = 'api_error',
  message = 'the mock provider refuses',
  headers: Record<string, string> = {},
): Reply {
  return json(
    {
      type: 'error',
      error: { type, message },
      request_id: 'req_mock_anthropic',
    },
    { status, headers: { ...ANTHROPIC_HEADERS, ...headers } },
  );
}

function anthropicUsage(
  options: Pick<AnthropicMessageOptions, 'usage' | 'toolUses'>,
  pieces: number,
): AnthropicUsage | null {
  if (options.usage === null) return null;
  return options.usage ?? { input_tokens: 10, output_tokens: pieces + (options.toolUses?.length ?? 0) };
}

function stopOf(options: Pick<AnthropicMessageOptions, 'stopReason' | 'toolUses'>): string {
  return options.stopReason ?? (options.toolUses ? 'tool_use' : 'end_turn');
}

function piecesOf(content: string | readonly string[]): readonly string[] {
  return typeof content === 'string' ? (content === '' ? [] : [content]) : content;
}
