/** The demo provider's responses (POST /v1/responses), streamed or not. */
import type { Dialect, Exchange, InputUsage, StreamEvent } from './dialect.ts';
import { openai } from './openai.ts';
import { BadRequest, contentText, isObject, objectsIn, optionalCount, requiredText, textIn } from './prompt.ts';
import type { Json, Prompt } from './prompt.ts';
import { countTokens } from './tokens.ts';

const CREATED_SECONDS = 1_735_689_600;
/** What a response says of its request; the demo provider heeds none of it. */
const SETTINGS = {
  background: false,
  frequency_penalty: 0,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
} as const;

export const responses: Dialect = { ...openai, parse, input, whole, stream };

function parse(body: Json): Prompt {
  const items = itemsOf(body);
  const messages = items.filter((item) => 'role' in item);
  const result = items.at(-1)?.['type'] === 'function_call_output' ? items.at(-1) : undefined;
  const instructions = textIn(body['instructions']);
  return {
    model: requiredText(body, 'model'),
    stream: body['stream'] === true,
    maxTokens: optionalCount(body, 'max_output_tokens'),
    texts: [
      ...(instructions === '' ? [] : [instructions]),
      ...messages.map((message) => contentText(message['content'])),
    ],
    lastText: contentText(messages.findLast((message) => message['role'] === 'user')?.['content']),
    toolResult: result && contentText(result['output']),
    images: messages
      .flatMap((message) => objectsIn(message['content']))
      .filter((part) => part['type'] === 'input_image').length,
    tools: objectsIn(body['tools'])
      .filter((tool) => tool['type'] === 'function')
      .map((tool) => ({ name: textIn(tool['name']), schema: tool['parameters'] })),
    toolTexts: objectsIn(body['tools']).map((tool) => JSON.stringify(tool)),
    answerSchema: answerSchema(body['text']),
    forcedTool: forcedTool(body['tool_choice']),
  };
}

function itemsOf(body: Json): Json[] {
  const { input: asked } = body;
  if (typeof asked === 'string') return [{ role: 'user', content: asked }];
  const items = objectsIn(asked);
  if (items.length === 0) throw new BadRequest('input', 'input is required: a text, or a list of items');
  return items;
}

function answerSchema(text: unknown): unknown {
  const format = isObject(text) ? text['format'] : undefined;
  return isObject(format) ? format['schema'] : undefined;
}

function forcedTool(choice: unknown): string | undefined {
  if (choice === 'required') return '';
  return isObject(choice) && choice['type'] === 'function' ? textIn(choice['name']) : undefined;
}

function input(_body: Json, { texts, images, toolTexts }: Prompt): InputUsage {
  return { uncached: countTokens([...texts, ...toolTexts], images), cached: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
}

function whole(exchange: Exchange): Json {
  const { answer } = exchange;
  return response(exchange, answer.truncated ? 'incomplete' : 'completed', [outputItem(exchange, 'completed')]);
}

function response({ id, prompt, answer, input: tokens }: Exchange, status: string, output: readonly Json[]): Json {
  const ended = status !== 'in_progress' && answer.outputTokens !== undefined;
  const [read, written] = [tokens.uncached + tokens.cached, answer.outputTokens ?? 0];
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: CREATED_SECONDS,
    completed_at: status === 'completed' ? CREATED_SECONDS : null,
    model: prompt.model,
    status,
    output,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    ...SETTINGS,
    usage: ended
      ? {
          input_tokens: read,
          input_tokens_details: { cached_tokens: tokens.cached, cache_write_tokens: 0 },
          output_tokens: written,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: read + written,
        }
      : null,
  };
}

function outputItem({ id, answer }: Exchange, status: string): Json {
  if (answer.toolCall)
    return {
      id: `fc_${id}`,
      type: 'function_call',
      status,
      call_id: `call_${id}`,
      name: answer.toolCall.name,
      arguments: JSON.stringify(answer.toolCall.input),
    };
  return { id: `msg_${id}`, type: 'message', role: 'assistant', status, content: [textPart(answer.pieces.join(''))] };
}

function textPart(text: string): Json {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function stream(exchange: Exchange): StreamEvent[] {
  let sequence = 0;
  const event = (type: string, fields: Json, tokens: 0 | 1 = 0): StreamEvent => ({
    text: `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`,
    tokens,
  });
  const { answer } = exchange;
  const item = outputItem(exchange, 'completed');
  const at = { item_id: item['id'], output_index: 0 };
  const empty = answer.toolCall
    ? { ...item, status: 'in_progress', arguments: '' }
    : { ...item, status: 'in_progress', content: [] };
  const ended = whole(exchange);
  return [
    event('response.created', { response: response(exchange, 'in_progress', []) }),
    event('response.output_item.added', { output_index: 0, item: empty }),
    ...(answer.toolCall
      ? argumentEvents(event, { ...at, name: answer.toolCall.name }, textIn(item['arguments']))
      : textEvents(event, at, answer.pieces)),
    event('response.output_item.done', { output_index: 0, item }),
    event(`response.${textIn(ended['status'])}`, { response: ended }),
  ];
}

type MakeEvent = (type: string, fields: Json, tokens?: 0 | 1) => StreamEvent;

function argumentEvents(event: MakeEvent, at: Json, written: string): StreamEvent[] {
  return [
    event('response.function_call_arguments.delta', { ...at, delta: written }, 1),
    event('response.function_call_arguments.done', { ...at, arguments: written }),
  ];
}

function textEvents(event: MakeEvent, at: Json, pieces: readonly string[]): StreamEvent[] {
  const [where, text] = [{ ...at, content_index: 0 }, pieces.join('')];
  return [
    event('response.content_part.added', { ...where, part: textPart('') }),
    ...pieces.map((delta) => event('response.output_text.delta', { ...where, delta, logprobs: [] }, 1)),
    event('response.output_text.done', { ...where, text, logprobs: [] }),
    event('response.content_part.done', { ...where, part: textPart(text) }),
  ];
}
