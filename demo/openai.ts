/** The demo provider's OpenAI dialect: chat completions, streamed or not. */
import type { Dialect, Exchange, InputUsage, StreamEvent } from './dialect.ts';
import { contentText, isObject, objectsIn, optionalCount, requiredMessages, requiredText, textIn } from './prompt.ts';
import type { Json, Prompt, Tool } from './prompt.ts';
import type { PromptCache } from './prompt-cache.ts';
import { countTokens } from './tokens.ts';

/** Cached input counts in steps of this many tokens. */
const CACHE_STEP = 128;
/** A fixed creation time, so that the same question has the same answer, except for ids. */
const CREATED_SECONDS = 1_735_689_600;
const ERROR_TYPES: Readonly<Record<number, string>> = {
  429: 'rate_limit_error',
  500: 'server_error',
  502: 'server_error',
  503: 'server_error',
  529: 'server_error',
};
const ERROR_CODES: Readonly<Record<number, string>> = {
  401: 'invalid_api_key',
  429: 'rate_limit_exceeded',
};

export const openai: Dialect = {
  parse,
  input,
  whole,
  stream,
  error: (status, message, param) => ({
    error: {
      message,
      type: ERROR_TYPES[status] ?? 'invalid_request_error',
      param: param ?? null,
      code: status === 404 && param === 'model' ? 'model_not_found' : (ERROR_CODES[status] ?? null),
    },
  }),
  headers: (id) => ({ 'x-request-id': id }),
};

function parse(body: Json): Prompt {
  const messages = requiredMessages(body);
  const last = messages.at(-1);
  return {
    model: requiredText(body, 'model'),
    stream: body['stream'] === true,
    maxTokens: optionalCount(body, 'max_completion_tokens') ?? optionalCount(body, 'max_tokens'),
    texts: messages.map((message) => contentText(message['content'])),
    lastText: contentText(messages.findLast((message) => message['role'] === 'user')?.['content']),
    toolResult: last?.['role'] === 'tool' ? contentText(last['content']) : undefined,
    images: messages
      .flatMap((message) => objectsIn(message['content']))
      .filter((block) => block['type'] === 'image_url').length,
    tools: objectsIn(body['tools']).flatMap(toolOf),
    toolTexts: objectsIn(body['tools']).map((tool) => JSON.stringify(tool['function'] ?? tool)),
    answerSchema: answerSchema(body['response_format']),
    forcedTool: forcedTool(body['tool_choice']),
  };
}

function toolOf(tool: Json): Tool[] {
  const declared = tool['function'];
  return isObject(declared) ? [{ name: textIn(declared['name']), schema: declared['parameters'] }] : [];
}

/** JSON mode asks for any object. */
function answerSchema(format: unknown): unknown {
  if (!isObject(format)) return undefined;
  if (format['type'] === 'json_object') return { type: 'object', properties: { answer: { type: 'string' } } };
  return isObject(format['json_schema']) ? format['json_schema']['schema'] : undefined;
}

function forcedTool(choice: unknown): string | undefined {
  if (choice === 'required') return '';
  const named = isObject(choice) ? choice['function'] : undefined;
  return isObject(named) ? textIn(named['name']) : undefined;
}

function input(_body: Json, { texts, images, toolTexts }: Prompt, cache: PromptCache): InputUsage {
  const beginning = texts.slice(0, -1);
  const total = countTokens([...texts, ...toolTexts], images);
  const repeatable = Math.floor(countTokens(beginning) / CACHE_STEP) * CACHE_STEP;
  const cached = repeatable > 0 && cache.seen(beginning) ? repeatable : 0;
  return { uncached: total - cached, cached, cacheWrite5m: 0, cacheWrite1h: 0 };
}

function whole(exchange: Exchange): unknown {
  const { id, prompt, answer } = exchange;
  const message = {
    role: 'assistant',
    content: answer.toolCall ? null : answer.pieces.join(''),
    refusal: null,
    ...toolCalls(exchange),
  };
  const choices = Array.from({ length: choicesOf(exchange) }, (_, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: finishReason(exchange),
  }));
  return {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: CREATED_SECONDS,
    model: prompt.model,
    choices,
    ...usage(exchange),
    system_fingerprint: 'fp_demo',
  };
}

function stream(exchange: Exchange): StreamEvent[] {
  const { id, body, prompt, answer } = exchange;
  const event = (value: unknown, tokens: 0 | 1 = 0): StreamEvent => ({
    text: `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`,
    tokens,
  });
  const head = {
    id: `chatcmpl-${id}`,
    object: 'chat.completion.chunk',
    created: CREATED_SECONDS,
    model: prompt.model,
    system_fingerprint: 'fp_demo',
  };
  const options = body['stream_options'];
  const wantsUsage = isObject(options) && options['include_usage'] === true;
  const chunk = (index: number, delta: Json, finish: string | null, tokens: 0 | 1 = 0): StreamEvent =>
    event(
      {
        ...head,
        choices: [{ index, delta, logprobs: null, finish_reason: finish }],
        ...(wantsUsage ? { usage: null } : {}),
      },
      tokens,
    );
  const events: StreamEvent[] = [];
  for (let index = 0; index < choicesOf(exchange); index += 1) {
    events.push(chunk(index, { role: 'assistant', content: answer.toolCall ? null : '', refusal: null }, null));
    events.push(...answer.pieces.map((content) => chunk(index, { content }, null, 1)));
    if (answer.toolCall) events.push(chunk(index, withIndex(toolCalls(exchange)), null, 1));
    events.push(chunk(index, {}, finishReason(exchange)));
  }
  if (wantsUsage && answer.outputTokens !== undefined) events.push(event({ ...head, choices: [], ...usage(exchange) }));
  events.push(event('[DONE]'));
  return events;
}

function choicesOf({ body }: Exchange): number {
  return optionalCount(body, 'n') ?? 1;
}

function toolCalls({ id, answer }: Exchange): { tool_calls?: Json[] } {
  if (!answer.toolCall) return {};
  const { name, input: args } = answer.toolCall;
  return { tool_calls: [{ id: `call_${id}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] };
}

function withIndex({ tool_calls: calls = [] }: { tool_calls?: Json[] }): Json {
  return { tool_calls: calls.map((call, index) => ({ index, ...call })) };
}

function finishReason({ answer }: Exchange): string {
  if (answer.toolCall) return 'tool_calls';
  return answer.truncated ? 'length' : 'stop';
}

function usage(exchange: Exchange): Json {
  const { answer, input: tokens } = exchange;
  if (answer.outputTokens === undefined) return {};
  const prompt = tokens.uncached + tokens.cached;
  const completion = answer.outputTokens * choicesOf(exchange);
  return {
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: tokens.cached, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 0,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  };
}
