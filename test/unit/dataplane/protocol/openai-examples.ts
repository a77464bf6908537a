/** An example for each field of OpenAI's chat completions that is converted to Anthropic's messages. */
import * as toAnthropic from '../../../../dataplane/protocol/openai-anthropic/table.ts';
import type { Examples, Fields } from './field-examples.ts';

const user = (content: unknown): Fields => ({ messages: [{ role: 'user', content }] });
const TOOLS = [{ type: 'function', function: { name: 'f' } }];
const CALL = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const PDF = 'data:application/pdf;base64,JVBERi0=';
const CACHE = { type: 'ephemeral' };
const PRIVATE = {
  provider_specific_fields: { a: 1 },
  additional_kwargs: {},
  response_metadata: {},
  extra_content: {},
  id: 'm',
};

export const OPENAI: readonly Examples[] = [
  {
    table: toAnthropic.REQUEST,
    base: user('hi'),
    place: (request) => request,
    unseen: ['model', 'stream_options'],
    beside: {
      tool_choice: { tools: TOOLS },
      parallel_tool_calls: { tools: TOOLS },
      function_call: { functions: [{ name: 'f' }] },
    },
    values: {
      model: 'x',
      messages: [{ role: 'user', content: 'other' }],
      max_completion_tokens: 7,
      max_tokens: 7,
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.5,
      top_k: 5,
      stop: 'END',
      tools: TOOLS,
      tool_choice: 'required',
      parallel_tool_calls: false,
      functions: [{ name: 'f' }],
      function_call: {
        name: 'f',
      },
      response_format: { type: 'json_object' },
      reasoning_effort: 'low',
      thinking: { type: 'adaptive' },
      user: 'u',
      safety_identifier: 's',
      service_tier: 'default',
      cache_control: CACHE,
      metadata: { a: 'b' },
      store: true,
      seed: 1,
      prompt_cache_key: 'k',
      prompt_cache_retention: '24h',
      prompt_cache_options: {},
      prediction: { type: 'content', content: 'x' },
      n: 2,
      best_of: 2,
      logprobs: true,
      top_logprobs: 2,
      logit_bias: { 1: 1 },
      frequency_penalty: 1,
      presence_penalty: 1,
      modalities: ['text', 'audio'],
      audio: { voice: 'x' },
      moderation: {},
      verbosity: 'low',
      web_search_options: {},
    },
  },
  {
    table: toAnthropic.STREAM_OPTIONS,
    base: {},
    place: (options) => ({
      ...user('hi'),
      stream: true,
      stream_options: options,
    }),
    unseen: ['include_usage'],
    values: { include_usage: true, include_obfuscation: false },
  },
  {
    table: toAnthropic.SYSTEM_MESSAGE,
    base: { role: 'system', content: 'a' },
    place: (message) => ({ messages: [message, { role: 'user', content: 'hi' }] }),
    values: {
      role: 'user',
      content: 'b',
      name: 'n',
      cache_control: CACHE,
      ...PRIVATE,
    },
  },
  {
    table: toAnthropic.USER_MESSAGE,
    base: { role: 'user', content: 'a' },
    place: (message) => ({ messages: [{ role: 'user', content: 'hi' }, message] }),
    values: { role: 'assistant', content: 'b', name: 'n', cache_control: CACHE, ...PRIVATE },
  },
  {
    table: toAnthropic.ASSISTANT_MESSAGE,
    base: { role: 'assistant', content: 'a' },
    place: (message) => ({ messages: [{ role: 'user', content: 'hi' }, message] }),
    values: {
      role: 'user',
      content: 'b',
      refusal: 'no',
      tool_calls: [CALL],
      function_call: {
        name: 'f',
        arguments: '{}',
      },
      reasoning_details: [{ type: 'reasoning.text', format: 'anthropic-claude-v1', text: 't', signature: 's' }],
      reasoning_content: 'r',
      reasoning: 'r',
      name: 'n',
      annotations: [{}],
      parsed: {},
      audio: { id: 'a' },
      thinking_blocks: [{ type: 'thinking', thinking: 't', signature: 's' }],
      cache_control: CACHE,
      ...PRIVATE,
    },
  },
  {
    table: toAnthropic.TOOL_MESSAGE,
    base: { role: 'tool', tool_call_id: 'c', content: 'a' },
    place: (message) => ({
      messages: [
        { role: 'assistant', tool_calls: [CALL, { ...CALL, id: 'd' }], function_call: { name: 'f', arguments: '' } },
        { role: 'user', content: 'hi' },
        message,
      ],
    }),
    values: {
      role: 'function',
      tool_call_id: 'd',
      content: 'b',
      name: 'n',
      cache_control: CACHE,
      ...PRIVATE,
    },
  },
  {
    table: toAnthropic.PARTS,
    base: {},
    place: (part) => user([{ type: 'text', text: 'hi' }, part]),
    values: {
      text: { text: 'a' },
      refusal: { refusal: 'a' },
      image_url: { image_url: { url: 'https://x/y' } },
      file: { file: { file_data: PDF } },
      input_audio: { input_audio: {} },
    },
  },
  {
    table: toAnthropic.TEXT_PART,
    base: { type: 'text', text: 'a' },
    place: (part) => user([part]),
    values: {
      type: 'refusal',
      text: 'b',
      cache_control: CACHE,
      prompt_cache_breakpoint: { mode: 'explicit' },
    },
    beside: { type: { text: undefined, refusal: 'b' } },
  },
  {
    table: toAnthropic.REFUSAL_PART,
    base: { type: 'refusal', refusal: 'a' },
    place: (part) => user([part]),
    values: { type: 'text', refusal: 'b' },
    beside: { type: { refusal: undefined, text: 'b' } },
  },
  {
    table: toAnthropic.IMAGE_PART,
    base: { type: 'image_url', image_url: { url: 'https://x/y' } },
    place: (part) => user([part]),
    values: { type: 'text', image_url: { url: 'https://x/z' }, cache_control: CACHE, prompt_cache_breakpoint: {} },
    beside: { type: { image_url: undefined, text: 'b' } },
  },
  {
    table: toAnthropic.IMAGE_URL,
    base: { url: 'https://x/y' },
    place: (image) => user([{ type: 'image_url', image_url: image }]),
    values: { url: 'data:image/png;base64,AAAA', detail: 'low' },
  },
  {
    table: toAnthropic.FILE_PART,
    base: { type: 'file', file: { file_data: PDF } },
    place: (part) => user([part]),
    values: {
      type: 'text',
      file: { file_data: 'data:text/plain;base64,AAAA' },
      cache_control: CACHE,
      prompt_cache_breakpoint: {},
    },
    beside: { type: { file: undefined, text: 'b' } },
  },
  {
    table: toAnthropic.FILE,
    base: { file_data: PDF },
    place: (file) => user([{ type: 'file', file }]),
    values: { file_data: 'data:image/png;base64,AAAA', filename: 'n', file_id: 'f' },
  },
  {
    table: toAnthropic.TOOL,
    base: { type: 'function', function: { name: 'f' } },
    place: (tool) => ({ ...user('hi'), tools: [tool] }),
    beside: { type: { custom: { name: 'f' } }, custom: { type: 'custom' } },
    values: { type: 'custom', function: { name: 'g' }, custom: { name: 'g' }, cache_control: CACHE },
  },
  {
    table: toAnthropic.FUNCTION,
    base: { name: 'f' },
    place: (definition) => ({
      ...user('hi'),
      tools: [{ type: 'function', function: definition }],
    }),
    values: {
      name: 'g',
      description: 'd',
      parameters: SCHEMA,
      strict: true,
      cache_control: CACHE,
    },
  },
  {
    table: toAnthropic.CUSTOM_TOOL,
    base: { name: 'f' },
    place: (custom) => ({
      ...user('hi'),
      tools: [{ type: 'custom', custom }],
    }),
    values: { name: 'g', description: 'd', format: { type: 'grammar' } },
  },
  {
    table: toAnthropic.TOOL_CALL,
    base: CALL,
    place: (call) => ({ messages: [{ role: 'assistant', tool_calls: [call] }] }),
    beside: { type: { custom: { name: 'g', input: '' } }, custom: { type: 'custom' } },
    values: {
      id: 'd',
      type: 'custom',
      function: { name: 'g' },
      custom: { name: 'g', input: 'x' },
      index: 0,
      cache_control: CACHE,
      provider_specific_fields: {},
      extra_content: {},
    },
  },
  {
    table: toAnthropic.FUNCTION_CALL,
    base: { name: 'f', arguments: '{}' },
    place: (called) => ({
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ ...CALL, function: called }],
        },
      ],
    }),
    values: { name: 'g', arguments: '{"a":1}', parsed_arguments: {} },
  },
  {
    table: toAnthropic.CUSTOM_CALL,
    base: { name: 'f', input: 'a' },
    place: (custom) => ({
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'custom', custom }],
        },
      ],
    }),
    values: { name: 'g', input: 'b' },
  },
  {
    table: toAnthropic.FORMAT,
    base: { type: 'json_schema', json_schema: { schema: SCHEMA } },
    place: (format) => ({ ...user('hi'), response_format: format }),
    values: { type: 'json_object', json_schema: { schema: {} } },
  },
  {
    table: toAnthropic.JSON_SCHEMA,
    base: { schema: SCHEMA },
    place: (definition) => ({
      ...user('hi'),
      response_format: { type: 'json_schema', json_schema: definition },
    }),
    values: { schema: {}, name: 'n', description: 'd', strict: true },
  },
  {
    table: toAnthropic.FORMATS,
    base: {},
    place: (format) => ({
      ...user('hi'),
      response_format: format,
    }),
    unseen: ['text'],
    values: { text: {}, json_schema: { json_schema: { schema: SCHEMA } }, json_object: {} },
  },
  {
    table: toAnthropic.TOOLS,
    base: {},
    place: (tool) => ({ ...user('hi'), tools: [tool] }),
    values: {
      function: { function: { name: 'f' } },
      custom: { custom: { name: 'f' } },
    },
  },
  {
    table: toAnthropic.ROLES,
    base: { content: 'a' },
    place: (message) => ({
      messages: [
        { role: 'assistant', function_call: { name: 'f', arguments: '' } },
        { role: 'user', content: 'hi' },
        message,
      ],
    }),
    values: {
      system: {},
      developer: {},
      user: {},
      assistant: {},
      tool: { tool_call_id: 'c' },
      function: { name: 'f' },
    },
  },
];
