/** The mock provider's answers in all protocols, as the bytes that go onto the wire. */
import { EVENTS_PER_STREAM } from './cases.ts';
import type { Dialect } from './cases.ts';

const WORDS = 'All of it is quite clear, and none of it is worth a second look. ';
const ANSWER_BYTES = 1024;
const USAGE = {
  openai: {
    prompt_tokens: 260,
    completion_tokens: 180,
    total_tokens: 440,
  },
  anthropic: { input_tokens: 260, output_tokens: 180 },
  responses: {
    input_tokens: 260,
    output_tokens: 180,
    total_tokens: 440,
  },
};
const WRITERS = { openai: completion, anthropic: message, responses: wholeResponse };
const EVENTS = { openai: completionEvents, anthropic: messageEvents, responses: responseEvents };

/** A whole HTTP answer of 1 KB. */
export function wholeAnswer(dialect: Dialect): Buffer {
  const write = WRITERS[dialect];
  const body = write(WORDS.repeat(30).slice(0, ANSWER_BYTES - write('').length));
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-request-id: mock\r\ncontent-length: ` +
      `${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** The head of a stream. */
export const STREAM_HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; ' +
    'charset=utf-8\r\nx-request-id: mock\r\ntransfer-encoding: chunked\r\n\r\n',
);

/** The stream's events, each a chunk of the transfer encoding; the last one brings the encoding's end with it. */
export function streamChunks(dialect: Dialect): readonly Buffer[] {
  const events = EVENTS[dialect]();
  return events.map((event, index) => {
    const chunk = `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
    return Buffer.from(index === events.length - 1 ? `${chunk}0\r\n\r\n` : chunk);
  });
}

function completion(content: string): string {
  return JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'bench',
    system_fingerprint: 'fp_bench',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE.openai,
  });
}

function message(text: string): string {
  return JSON.stringify({
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'bench',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: USAGE.anthropic,
  });
}

function completionEvents(): string[] {
  const chunk = (choices: unknown[], usage?: unknown): string =>
    `data: ${JSON.stringify({ id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'bench', system_fingerprint: 'fp_bench', choices, ...(usage === undefined ? {} : { usage }) })}\n\n`;
  const choice = (delta: unknown, finish_reason: string | null = null): string =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason }]);
  return [
    choice({ role: 'assistant', content: '', refusal: null }),
    ...pieces(EVENTS_PER_STREAM - 4).map((content) => choice({ content })),
    choice({}, 'stop'),
    chunk([], USAGE.openai),
    'data: [DONE]\n\n',
  ];
}

function messageEvents(): string[] {
  const event = (data: { readonly type: string; readonly [field: string]: unknown }): string =>
    `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  return [
    event({
      type: 'message_start',
      message: {
        id: 'msg_bench',
        type: 'message',
        role: 'assistant',
        model: 'bench',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...USAGE.anthropic, output_tokens: 1 },
      },
    }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...pieces(EVENTS_PER_STREAM - 5).map((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ),
    event({ type: 'content_block_stop', index: 0 }),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE.anthropic }),
    event({ type: 'message_stop' }),
  ];
}

function wholeResponse(text: string): string {
  return JSON.stringify(response('completed', [outputMessage(text)]));
}

function response(status: string, output: readonly unknown[]): Record<string, unknown> {
  return {
    id: 'resp_bench',
    object: 'response',
    created_at: 1_790_000_000,
    status,
    model: 'bench',
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    output,
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: status === 'completed' ? USAGE.responses : null,
  };
}

function outputMessage(text: string): unknown {
  const isDone = text !== '';
  return {
    id: 'msg_bench',
    type: 'message',
    status: isDone ? 'completed' : 'in_progress',
    role: 'assistant',
    content: isDone ? [{ type: 'output_text', text, annotations: [], logprobs: [] }] : [],
  };
}

/** Everything around the deltas is eight events. */
function responseEvents(): string[] {
  let number = 0;
  const event = (type: string, fields: Record<string, unknown>): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`;
  const deltas = pieces(EVENTS_PER_STREAM - 8);
  const text = deltas.join('');
  const place = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
  const part = { type: 'output_text', annotations: [], logprobs: [] };
  return [
    event('response.created', { response: response('in_progress', []) }),
    event('response.in_progress', { response: response('in_progress', []) }),
    event('response.output_item.added', { output_index: 0, item: outputMessage('') }),
    event('response.content_part.added', { ...place, part: { ...part, text: '' } }),
    ...deltas.map((delta) => event('response.output_text.delta', { ...place, delta, logprobs: [] })),
    event('response.output_text.done', { ...place, text, logprobs: [] }),
    event('response.content_part.done', { ...place, part: { ...part, text } }),
    event('response.output_item.done', { output_index: 0, item: outputMessage(text) }),
    event('response.completed', { response: response('completed', [outputMessage(text)]) }),
  ];
}

function pieces(count: number): string[] {
  return Array.from({ length: count }, (_none, index) => `${WORDS.split(' ')[index % 14]} `);
}
