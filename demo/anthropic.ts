/** The demo provider's Anthropic dialect: messages, streamed or not, with prompt caching by cache_control. */
import type { Dialect, Exchange, InputUsage, StreamEvent } from './dialect.ts';
import {
  BadRequest,
  contentText,
  isObject,
  objectsIn,
  optionalCount,
  requiredMessages,
  requiredText,
  textIn,
} from './prompt.ts';
import type { Json, Prompt } from './prompt.ts';
import type { PromptCache } from './prompt-cache.ts';
import { countTokens } from './tokens.ts';

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

export const anthropic: Dialect = {
  parse(body) {
    if (optionalCount(body, 'max_tokens') === undefined) throw new BadRequest('max_tokens', 'max_tokens is required');
    return parseAnthropic(body);
  },
  input,
  whole,
  stream,
  error: (status, message) => ({
    type: 'error',
    error: { type: ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error'), message },
    request_id: null,
  }),
  headers: (id) => ({ 'request-id': id }),
};

/** Parses a prompt without its limit, also for counting. */
export function parseAnthropic(body: Json): Prompt {
  const messages = requiredMessages(body);
  const blocks = objectsIn(messages.at(-1)?.['content']);
  const result = blocks.find((block) => block['type'] === 'tool_result');
  const system = contentText(body['system']);
  return {
    model: requiredText(body, 'model'),
    stream: body['stream'] === true,
    maxTokens: optionalCount(body, 'max_tokens'),
    texts: [...(system === '' ? [] : [system]), ...messages.map((message) => contentText(message['content']))],
    lastText: contentText(messages.findLast((message) => message['role'] === 'user')?.['content']),
    toolResult: result ? contentText(result['content']) : undefined,
    images: messages.flatMap((message) => objectsIn(message['content'])).filter((block) => block['type'] === 'image')
      .length,
    tools: objectsIn(body['tools']).map((tool) => ({ name: textIn(tool['name']), schema: tool['input_schema'] })),
    toolTexts: objectsIn(body['tools']).map((tool) => JSON.stringify(tool)),
    answerSchema: answerSchema(body),
    forcedTool: forcedTool(body['tool_choice']),
  };
}

function answerSchema({ output_config: config, output_format: format }: Json): unknown {
  const given = format ?? (isObject(config) ? config['format'] : undefined);
  return isObject(given) ? given['schema'] : undefined;
}

function forcedTool(choice: unknown): string | undefined {
  if (!isObject(choice)) return undefined;
  if (choice['type'] === 'any') return '';
  return choice['type'] === 'tool' ? textIn(choice['name']) : undefined;
}

/** Counts the input. Blocks of system and messages up to the last marked one are cached. */
function input(body: Json, { texts, images, toolTexts }: Prompt, cache: PromptCache): InputUsage {
  const blocks = [
    ...objectsIn(body['system']),
    ...requiredMessages(body).flatMap((message) => objectsIn(message['content'])),
  ];
  const last = blocks.findLastIndex((block) => isObject(block['cache_control']));
  const total = countTokens([...texts, ...toolTexts], images);
  if (last < 0) return { uncached: total, cached: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
  const beginning = blocks.slice(0, last + 1).map((block) => textIn(block['text']));
  const marked = Math.min(countTokens(beginning), total - 1);
  const control = blocks[last]?.['cache_control'];
  const oneHour = isObject(control) && control['ttl'] === '1h';
  const known = cache.seen(beginning);
  return {
    uncached: total - marked,
    cached: known ? marked : 0,
    cacheWrite5m: known || oneHour ? 0 : marked,
    cacheWrite1h: !known && oneHour ? marked : 0,
  };
}

function whole(exchange: Exchange): unknown {
  const { id, prompt, answer } = exchange;
  const block = answer.toolCall
    ? { type: 'tool_use', id: `toolu_${id}`, name: answer.toolCall.name, input: answer.toolCall.input }
    : { type: 'text', text: answer.pieces.join('') };
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: prompt.model,
    content: [block],
    stop_reason: stopReason(exchange),
    stop_sequence: null,
    ...usage(exchange, answer.outputTokens),
  };
}

function stream(exchange: Exchange): StreamEvent[] {
  const { id, prompt, answer } = exchange;
  const event = (type: string, fields: Json, tokens: 0 | 1 = 0): StreamEvent => ({
    text: `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`,
    tokens,
  });
  const start = answer.toolCall
    ? { type: 'tool_use', id: `toolu_${id}`, name: answer.toolCall.name, input: {} }
    : { type: 'text', text: '' };
  const deltas = answer.toolCall
    ? [
        event(
          'content_block_delta',
          {
            index: 0,
            delta: { type: 'input_json_delta', partial_json: JSON.stringify(answer.toolCall.input) },
          },
          1,
        ),
      ]
    : answer.pieces.map((text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }, 1));
  return [
    event('message_start', {
      message: {
        id: `msg_${id}`,
        type: 'message',
        role: 'assistant',
        model: prompt.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        ...usage(exchange, answer.outputTokens === undefined ? undefined : 1),
      },
    }),
    event('content_block_start', { index: 0, content_block: start }),
    event('ping', {}),
    ...deltas,
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: stopReason(exchange), stop_sequence: null },
      ...usage(exchange, answer.outputTokens),
    }),
    event('message_stop', {}),
  ];
}

function stopReason({ answer }: Exchange): string {
  if (answer.toolCall) return 'tool_use';
  return answer.truncated ? 'max_tokens' : 'end_turn';
}

function usage({ input: tokens }: Exchange, outputTokens: number | undefined): Json {
  if (outputTokens === undefined) return {};
  return {
    usage: {
      input_tokens: tokens.uncached,
      cache_creation_input_tokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
      cache_read_input_tokens: tokens.cached,
      cache_creation: {
        ephemeral_5m_input_tokens: tokens.cacheWrite5m,
        ephemeral_1h_input_tokens: tokens.cacheWrite1h,
      },
      output_tokens: outputTokens,
      service_tier: 'standard',
    },
  };
}
