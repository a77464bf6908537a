/** Responses of OpenAI's Responses API, for tests. */
import type { Reply, Step } from './mock-provider.ts';
import { json, sse } from './provider-answers.ts';

export interface ResponseUsage {
  readonly input_tokens: number;
  readonly cached?: number;
  readonly output_tokens: number;
}

function usageOf({ input_tokens: input, cached = 0, output_tokens: output }: ResponseUsage): Record<string, unknown> {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

function response(status: string, text: string, usage: ResponseUsage | null): Record<string, unknown> {
  return {
    id: 'resp_mock',
    object: 'response',
    created_at: 1_700_000_000,
    model: 'mock-model',
    status,
    instructions: null,
    metadata: {},
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    temperature: 1,
    top_p: 1,
    error: status === 'failed' ? { code: 'server_error', message: 'the mock provider gave up' } : null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    output:
      text === ''
        ? []
        : [
            {
              id: 'msg_mock',
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text, annotations: [] }],
            },
          ],
    usage: usage && usageOf(usage),
  };
}

export function openaiResponse(
  text = 'hello',
  usage: ResponseUsage | null = { input_tokens: 10, output_tokens: 2 },
  status = 'completed',
): Reply {
  return json(response(status, text, usage));
}

/** `end`: the status in the last event; 'error': an error event; 'cut': no last event. */
export function openaiResponseStream(
  pieces: readonly string[] = ['hel', 'lo'],
  {
    usage = { input_tokens: 10, output_tokens: 2 },
    end = 'completed',
  }: { readonly usage?: ResponseUsage | null; readonly end?: string } = {},
): Reply {
  let sequence = 0;
  const event = (type: string, more: Record<string, unknown>): string =>
    sse({ event: type, data: { type, sequence_number: sequence++, ...more } });
  const item = { id: 'msg_mock', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const part = { type: 'output_text', text: '', annotations: [] };
  const at = { item_id: 'msg_mock', output_index: 0, content_index: 0 };
  const text = pieces.join('');
  const last: readonly Step[] =
    end === 'cut'
      ? []
      : [
          end === 'error'
            ? event('error', { code: 'server_error', message: 'the mock provider gave up', param: null })
            : event(`response.${end}`, { response: response(end, text, usage) }),
        ];
  return {
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    steps: [
      event('response.created', { response: response('in_progress', '', null) }),
      event('response.output_item.added', { output_index: 0, item }),
      event('response.content_part.added', { ...at, part }),
      ...pieces.map((delta): Step => ({
        kind: 'send',
        tokens: 1,
        bytes: event('response.output_text.delta', { ...at, delta, logprobs: [] }),
      })),
      event('response.output_text.done', { ...at, text, logprobs: [] }),
      event('response.content_part.done', { ...at, part: { ...part, text } }),
      event('response.output_item.done', {
        output_index: 0,
        item: { ...item, status: 'completed', content: [{ ...part, text }] },
      }),
      ...last,
    ],
  };
}

type Item = Readonly<Record<string, unknown>>;

/** What has not come when an item begins. */
const EMPTY: Item = { content: [], summary: [], arguments: '', input: '' };

/** The piece of an item that a stream sends in a delta, by the item's type. */
function deltaOf(item: Item): { readonly type: string; readonly delta: unknown } | undefined {
  const first = (list: unknown): unknown => (Array.isArray(list) ? (list as readonly Item[])[0]?.['text'] : undefined);
  switch (item['type']) {
    case 'message':
      return { type: 'response.output_text.delta', delta: first(item['content']) };
    case 'reasoning':
      return { type: 'response.reasoning_summary_text.delta', delta: first(item['summary']) };
    case 'function_call':
      return { type: 'response.function_call_arguments.delta', delta: item['arguments'] };
    case 'custom_tool_call':
      return { type: 'response.custom_tool_call_input.delta', delta: item['input'] };
    default:
      return undefined;
  }
}

/** A response of these items, in the form that is asked for. `usage` is as OpenAI reports it. */
export function openaiItems(
  items: readonly Item[],
  usage: Item,
  { stream, model = 'mock-model' }: { readonly stream: boolean; readonly model?: string },
): Reply {
  const whole = { ...response('completed', '', null), model, output: items, usage, service_tier: 'default' };
  if (!stream) return json(whole);
  const event = (type: string, more: Item): string => sse({ event: type, data: { type, ...more } });
  return {
    headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    steps: [
      event('response.created', { response: { ...response('in_progress', '', null), model } }),
      ...items.flatMap((item, index) => {
        const at = { output_index: index, item_id: item['id'], content_index: 0, summary_index: 0 };
        const piece = deltaOf(item);
        return [
          event('response.output_item.added', { ...at, item: { ...item, ...EMPTY } }),
          ...(piece?.delta === undefined ? [] : [event(piece.type, { ...at, delta: piece.delta })]),
          event('response.output_item.done', { ...at, item }),
        ];
      }),
      event('response.completed', { response: whole }),
    ],
  };
}
