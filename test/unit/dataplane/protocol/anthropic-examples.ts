/** An example for each field of Anthropic's messages that is converted to OpenAI's chat completions. */
import * as toOpenAI from '../../../../dataplane/protocol/anthropic-openai/table.ts';
import type { Examples, Fields } from './field-examples.ts';

const user = (content: unknown): Fields => ({ messages: [{ role: 'user', content }] });
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const CACHE = { type: 'ephemeral' };
const USE = { type: 'tool_use', id: 't', name: 'f', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 't', content: 'a' };
const assistant = (content: unknown): Fields => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content },
  ],
});
const TOOL = { name: 'f', input_schema: SCHEMA };
const TEXT_SOURCE = { type: 'text', media_type: 'text/plain', data: 'a' };
const PDF_SOURCE = { type: 'base64', media_type: 'application/pdf', data: 'AAAA' };
const IMAGE_SOURCE = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
const SERVER_BLOCKS = [
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'compaction',
  'fallback',
];

export const ANTHROPIC: readonly Examples[] = [
  {
    table: toOpenAI.REQUEST,
    base: { ...user('hi'), max_tokens: 9 },
    place: (request) => request,
    unseen: ['model', 'context_management'],
    beside: { tool_choice: { tools: [TOOL] } },
    values: {
      model: 'x',
      messages: [{ role: 'user', content: 'other' }],
      system: 's',
      max_tokens: 7,
      stream: true,
      temperature: 0.5,
      top_p: 0.5,
      stop_sequences: ['END'],
      tools: [TOOL],
      tool_choice: { type: 'any' },
      metadata: { user_id: 'u' },
      thinking: { type: 'enabled', budget_tokens: 2000 },
      output_config: { effort: 'low' },
      output_format: {
        type: 'json_schema',
        schema: SCHEMA,
      },
      context_management: { edits: [] },
      service_tier: 'standard_only',
      top_k: 5,
      cache_control: CACHE,
      diagnostics: {},
      speed: 'fast',
      inference_geo: 'us',
      mcp_servers: [{}],
      container: 'c',
      compaction: {},
      thread: {},
      fallbacks: [],
      fallback_credit_token: 't',
      billing_policy: {},
      user_profile_id: 'u',
      workspace_id: 'w',
    },
  },
  {
    table: toOpenAI.OUTPUT_CONFIG,
    base: {},
    place: (config) => ({ ...user('hi'), output_config: config }),
    values: {
      effort: 'high',
      format: { type: 'json_schema', schema: SCHEMA },
      task_budget: {},
    },
  },
  {
    table: toOpenAI.FORMAT,
    base: { type: 'json_schema', schema: SCHEMA },
    place: (format) => ({ ...user('hi'), output_config: { format } }),
    unseen: ['type'],
    values: { type: 'json_schema', schema: {} },
  },
  { table: toOpenAI.METADATA, base: {}, place: (metadata) => ({ ...user('hi'), metadata }), values: { user_id: 'u' } },
  {
    table: toOpenAI.ROLES,
    base: { content: 'a' },
    place: (message) => ({ messages: [{ role: 'user', content: 'hi' }, message] }),
    values: { user: {}, assistant: {}, system: {} },
  },
  {
    table: toOpenAI.MESSAGE,
    base: { role: 'system', content: 'a' },
    place: (message) => ({ messages: [{ role: 'user', content: 'hi' }, message] }),
    values: { role: 'user', content: 'b', clear_at: 'next_user_message', output_config: {} },
  },
  {
    table: toOpenAI.SYSTEM_BLOCKS,
    base: {},
    place: (block) => ({ ...user('hi'), system: [block] }),
    values: { text: { text: 'a' }, tool_addition: {}, tool_removal: {} },
  },
  {
    table: toOpenAI.USER_BLOCKS,
    base: {},
    place: (block) => user([{ type: 'text', text: 'hi' }, block]),
    values: {
      text: { text: 'a' },
      image: { source: IMAGE_SOURCE },
      document: { source: PDF_SOURCE },
      search_result: {
        title: 't',
        source: 's',
        content: [],
      },
      tool_result: { tool_use_id: 't', content: 'x' },
      tool_reference: {},
      browser_state: {},
      container_upload: {},
    },
  },
  {
    table: toOpenAI.ASSISTANT_BLOCKS,
    base: {},
    place: (block) => assistant([{ type: 'text', text: 'a' }, block]),
    unseen: ['redacted_thinking'],
    model: 'deepseek-chat',
    values: {
      text: { text: 'b' },
      tool_use: { id: 't', name: 'f', input: {} },
      thinking: {
        thinking: 'x',
        signature: '',
      },
      redacted_thinking: { data: 'x' },
      ...Object.fromEntries(SERVER_BLOCKS.map((type) => [type, {}])),
    },
  },
  {
    table: toOpenAI.TEXT_BLOCK,
    base: { type: 'text', text: 'a' },
    place: (block) => user([block]),
    unseen: ['type'],
    values: { type: 'text', text: 'b', cache_control: CACHE, citations: [{}] },
  },
  {
    table: toOpenAI.IMAGE_BLOCK,
    base: { type: 'image', source: IMAGE_SOURCE },
    place: (block) => user([block]),
    values: {
      type: 'document',
      source: { type: 'url', url: 'https://x/y' },
      cache_control: CACHE,
      transformations: {},
    },
  },
  {
    table: toOpenAI.DOCUMENT_BLOCK,
    base: { type: 'document', source: TEXT_SOURCE },
    place: (block) => user([block]),
    beside: { type: { source: PDF_SOURCE } },
    values: {
      type: 'image',
      source: PDF_SOURCE,
      title: 't',
      context: 'c',
      citations: { enabled: true },
      cache_control: CACHE,
    },
  },
  {
    table: toOpenAI.SOURCES,
    base: { media_type: 'application/pdf', data: 'AAAA', url: 'https://x/y', content: 'c' },
    place: (source) => user([{ type: source['type'] === 'url' ? 'image' : 'document', source }]),
    values: { base64: {}, url: {}, text: {}, content: {}, file: {} },
  },
  {
    table: toOpenAI.SOURCE,
    base: PDF_SOURCE,
    place: (source) => user([{ type: 'document', source }]),
    beside: { url: { type: 'base64' }, content: { type: 'content' } },
    unseen: ['url'],
    values: { type: 'text', media_type: 'application/x', data: 'BBBB', url: 'u', content: 'c', file_id: 'f' },
  },
  {
    table: toOpenAI.SEARCH_RESULT_BLOCK,
    base: {
      type: 'search_result',
      title: 't',
      source: 's',
      content: [{ type: 'text', text: 'a' }],
    },
    place: (block) => user([block]),
    unseen: ['type'],
    values: {
      type: 'search_result',
      title: 'u',
      source: 'v',
      content: [],
      citations: { enabled: true },
      cache_control: CACHE,
    },
  },
  {
    table: toOpenAI.TOOL_RESULT_BLOCK,
    base: RESULT,
    place: (block) => ({
      messages: [...(assistant([USE])['messages'] as unknown[]), { role: 'user', content: [block] }],
    }),
    unseen: ['type'],
    values: {
      type: 'tool_result',
      tool_use_id: 'u',
      content: 'b',
      is_error: true,
      cache_control: CACHE,
      toolset_name: 'x',
    },
  },
  {
    table: toOpenAI.TOOL_USE_BLOCK,
    base: USE,
    place: (block) => assistant([block]),
    unseen: ['type'],
    values: {
      type: 'tool_use',
      id: 'u',
      name: 'g',
      input: { a: 1 },
      caller: { type: 'code_execution_20250825' },
      toolset_name: 'x',
      cache_control: CACHE,
    },
  },
  {
    table: toOpenAI.THINKING_BLOCK,
    base: { type: 'thinking', thinking: 'a', signature: 's' },
    place: (block) => assistant([block, USE]),
    unseen: ['type'],
    model: 'kimi-k2',
    values: { type: 'thinking', thinking: 'b', signature: 't' },
  },
  {
    table: toOpenAI.REDACTED_BLOCK,
    base: { type: 'redacted_thinking', data: 'a' },
    place: (block) => assistant([block, USE]),
    unseen: ['type'],
    values: { type: 'redacted_thinking', data: 'b' },
  },
  {
    table: toOpenAI.TOOL,
    base: TOOL,
    place: (tool) => ({ ...user('hi'), tools: [tool] }),
    unseen: ['type'],
    beside: { strict: { input_schema: { type: 'object', properties: {}, additionalProperties: false } } },
    values: {
      type: 'custom',
      name: 'g',
      description: 'd',
      input_schema: {},
      strict: true,
      input_examples: [{ a: 1 }],
      cache_control: CACHE,
      eager_input_streaming: true,
      defer_loading: true,
      allowed_callers: ['code_execution_20250825'],
    },
  },
  {
    table: toOpenAI.TOOL_CHOICE,
    base: { type: 'auto' },
    place: (choice) => ({
      ...user('hi'),
      tools: [TOOL],
      tool_choice: choice,
    }),
    beside: { name: { type: 'tool' } },
    values: { type: 'any', name: 'f', disable_parallel_tool_use: true },
  },
];
