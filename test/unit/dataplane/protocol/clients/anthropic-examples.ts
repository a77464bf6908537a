/** An example for each field of Anthropic's messages. */
import * as tables from '../../../../../dataplane/protocol/clients/anthropic/table.ts';
import type { Examples, Fields } from '../field-examples.ts';

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const CACHE = { type: 'ephemeral' };
const USE = { type: 'tool_use', id: 't', name: 'f', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 't', content: 'a' };
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

const user = (content: unknown): Fields => ({ messages: [{ role: 'user', content }] });
const assistant = (content: unknown): Fields => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content },
  ],
});

/** A user's turn after two calls. */
const afterCalls = (content: unknown): Fields => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [USE, { ...USE, id: 'u', name: 'g' }] },
    { role: 'user', content },
  ],
});

export const ANTHROPIC: readonly Examples[] = [
  {
    table: tables.REQUEST,
    base: user('hi'),
    place: (request) => ({ max_tokens: 9, ...request }),
    unseen: ['model', 'stream', 'context_management'],
    beside: { tool_choice: { tools: [TOOL] } },
    values: {
      model: 'x',
      messages: [{ role: 'user', content: 'other' }],
      system: 's',
      max_tokens: 7,
      stream: true,
      temperature: 0.5,
      top_p: 0.5,
      top_k: 5,
      stop_sequences: ['END'],
      tools: [TOOL],
      tool_choice: { type: 'any' },
      thinking: { type: 'enabled', budget_tokens: 2000 },
      output_config: { effort: 'low' },
      output_format: { type: 'json_schema', schema: SCHEMA },
      context_management: { edits: [] },
      cache_control: CACHE,
      metadata: { user_id: 'u' },
      service_tier: 'standard_only',
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
    table: tables.OUTPUT_CONFIG,
    base: {},
    place: (config) => ({ ...user('hi'), output_config: config }),
    values: { effort: 'high', format: { type: 'json_schema', schema: SCHEMA }, task_budget: {} },
  },
  {
    table: tables.FORMAT,
    base: { type: 'json_schema', schema: SCHEMA },
    unseen: ['type'],
    place: (format) => ({ ...user('hi'), output_config: { format } }),
    values: { type: 'json_schema', schema: {} },
  },
  {
    table: tables.ROLES,
    base: { content: 'a' },
    place: (message) => ({ messages: [{ role: 'user', content: 'hi' }, message] }),
    values: { user: {}, assistant: {}, system: {} },
  },
  {
    table: tables.MESSAGE,
    base: { role: 'system', content: 'a' },
    unseen: ['role'],
    place: (message) => ({ messages: [{ role: 'user', content: 'hi' }, message] }),
    values: { role: 'user', content: 'b', clear_at: 'next_user_message', output_config: {} },
  },
  {
    table: tables.SYSTEM_BLOCKS,
    base: {},
    place: (block) => ({ ...user('hi'), system: [block] }),
    values: { text: { text: 'a' }, tool_addition: {}, tool_removal: {} },
  },
  {
    table: tables.USER_BLOCKS,
    base: {},
    place: (block) => afterCalls([{ type: 'text', text: 'hi' }, block]),
    values: {
      text: { text: 'a' },
      image: { source: IMAGE_SOURCE },
      document: { source: PDF_SOURCE },
      search_result: { title: 't', source: 's', content: [] },
      tool_result: { tool_use_id: 't', content: 'x' },
      tool_reference: { tool_name: 'f' },
      browser_state: {},
      container_upload: {},
    },
  },
  {
    table: tables.ASSISTANT_BLOCKS,
    base: {},
    place: (block) => assistant([{ type: 'text', text: 'a' }, block]),
    values: {
      text: { text: 'b' },
      tool_use: { id: 't', name: 'f', input: {} },
      thinking: { thinking: 'x', signature: 'gemini.text.AAAA' },
      redacted_thinking: { data: 'AAAA' },
      ...Object.fromEntries(SERVER_BLOCKS.map((type) => [type, {}])),
    },
  },
  {
    table: tables.TEXT_BLOCK,
    base: { type: 'text', text: 'a' },
    place: (block) => user([block]),
    unseen: ['type'],
    values: { type: 'text', text: 'b', cache_control: CACHE, citations: [{}] },
  },
  {
    table: tables.IMAGE_BLOCK,
    base: { type: 'image', source: IMAGE_SOURCE },
    place: (block) => user([block]),
    unseen: ['type'],
    values: {
      type: 'document',
      source: { ...IMAGE_SOURCE, data: 'BBBB' },
      cache_control: CACHE,
      transformations: {},
    },
  },
  {
    table: tables.DOCUMENT_BLOCK,
    base: { type: 'document', source: TEXT_SOURCE },
    place: (block) => user([block]),
    unseen: ['type'],
    beside: { type: { source: IMAGE_SOURCE } },
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
    table: tables.SOURCES,
    base: { media_type: 'application/pdf', data: 'AAAA', content: 'c' },
    place: (source) => user([{ type: 'document', source }]),
    values: { base64: {}, text: {}, content: {}, url: {}, file: {} },
  },
  {
    table: tables.SOURCE,
    base: PDF_SOURCE,
    place: (source) => user([{ type: source['media_type'] === 'image/png' ? 'image' : 'document', source }]),
    beside: { content: { type: 'content' }, url: { type: 'url' } },
    values: { type: 'text', media_type: 'image/png', data: 'BBBB', content: 'c', url: 'u', file_id: 'f' },
  },
  {
    table: tables.SEARCH_RESULT_BLOCK,
    unseen: ['type'],
    place: (block) => user([block]),
    base: { type: 'search_result', title: 't', source: 's', content: [{ type: 'text', text: 'a' }] },
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
    table: tables.TOOL_RESULT_BLOCK,
    base: RESULT,
    unseen: ['type'],
    place: (block) => afterCalls([block]),
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
    table: tables.TOOL_USE_BLOCK,
    base: USE,
    place: (block) => assistant([block]),
    unseen: ['type'],
    values: {
      type: 'tool_use',
      id: 'u',
      name: 'g',
      input: { a: 1 },
      cache_control: CACHE,
      toolset_name: 'x',
      caller: { type: 'code_execution_20250825' },
    },
  },
  {
    table: tables.THINKING_BLOCK,
    base: { type: 'thinking', thinking: 'a', signature: 'gemini.call.t.AAAA' },
    unseen: ['type'],
    place: (block) => assistant([block, USE]),
    values: { type: 'thinking', thinking: 'b', signature: 'gemini.call.t.BBBB' },
  },
  {
    table: tables.REDACTED_BLOCK,
    base: { type: 'redacted_thinking', data: 'a' },
    unseen: ['type'],
    place: (block) => assistant([block, USE]),
    values: { type: 'redacted_thinking', data: 'b' },
  },
  {
    table: tables.TOOL_REFERENCE_BLOCK,
    base: { type: 'tool_reference', tool_name: 'f' },
    unseen: ['type'],
    place: (block) => afterCalls([{ ...RESULT, content: [block] }]),
    values: { type: 'tool_reference', tool_name: 'g', cache_control: CACHE },
  },
  { table: tables.METADATA, base: {}, place: (metadata) => ({ ...user('hi'), metadata }), values: { user_id: 'u' } },
  {
    table: tables.THINKING,
    base: { type: 'enabled', budget_tokens: 1024 },
    place: (thinking) => ({ ...user('hi'), thinking }),
    values: { type: 'disabled', budget_tokens: 20_000, display: 'omitted' },
  },
  {
    table: tables.TOOL,
    base: TOOL,
    place: (tool) => ({ ...user('hi'), tools: [tool] }),
    unseen: ['type'],
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
    table: tables.TOOL_CHOICE,
    base: { type: 'auto' },
    beside: { name: { type: 'tool' } },
    place: (choice) => ({ ...user('hi'), tools: [TOOL], tool_choice: choice }),
    values: { type: 'any', name: 'f', disable_parallel_tool_use: true },
  },
];
