/**
 * The tables are correct: a field that is Converted changes the sent request, one that is Dropped does not, and one
 * that is refused is refused by name. Each field has an example here, and each field of the official SDKs' types is in
 * a table.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import * as toConverse from '../../../../dataplane/protocol/anthropic-converse/table.ts';
import * as toGemini from '../../../../dataplane/protocol/anthropic-gemini/table.ts';
import * as toOpenAI from '../../../../dataplane/protocol/anthropic-openai/table.ts';
import { RequestFault } from '../../../../dataplane/protocol/call-facts.ts';
import type { ChatDialect } from '../../../../dataplane/protocol/call-facts.ts';
import { converterFor } from '../../../../dataplane/protocol/providers.ts';
import type { Handling, ObjectTable } from '../../../../dataplane/protocol/field-table.ts';
import * as toAnthropic from '../../../../dataplane/protocol/openai-anthropic/table.ts';
import * as toChat from '../../../../dataplane/protocol/responses-openai/table.ts';
import type { ProviderKind } from '../../../../dataplane/protocol/provider.ts';
import { CONVERSE } from './converse-examples.ts';
import * as toMessages from '../../../../dataplane/protocol/gemini-anthropic/table.ts';
import { GEMINI_DIALECT } from './gemini-dialect-examples.ts';
import { GEMINI } from './gemini-examples.ts';
import { RESPONSES } from './responses-examples.ts';
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

const OPENAI: readonly Examples[] = [
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

const ANTHROPIC: readonly Examples[] = [
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

interface Pair {
  readonly client: ChatDialect;
  readonly upstream: ProviderKind;
}

/** The sent request, the context of the response's conversion, and the fields that the response names. */
function convert({ client, upstream }: Pair, fields: Fields, model = 'u'): string {
  // Responses have another limit, and Google's protocol has it among other settings
  const limit = client === 'OpenAI' || client === 'Anthropic' ? { max_tokens: 900 } : {};
  const request = { model: 'm', ...limit, ...fields };
  const body = Buffer.from(JSON.stringify(request));
  const {
    body: sent,
    notes,
    dropped,
  } = converterFor(client, upstream).request(body, JSON.parse(body.toString()), {
    upstreamModel: model,
    maxOutputTokens: client === 'Gemini' ? 900 : undefined,
    outputLimitField: 'max_tokens',
  });
  const { responseTools, repeated: _repeated, ...told } = notes ?? {};
  return Buffer.from(sent).toString('utf8') + JSON.stringify([told, [...(responseTools ?? [])], dropped]);
}

function faultOf(make: () => unknown): RequestFault | undefined {
  try {
    make();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RequestFault, String(error));
    return error;
  }
}

const ROLES: ReadonlySet<object> = new Set([
  toAnthropic.ROLES,
  toOpenAI.ROLES,
  toChat.ROLES,
  toConverse.ROLES,
  toGemini.ROLES,
]);

const PAIRS: readonly (readonly [Pair, readonly Examples[]])[] = [
  [{ client: 'OpenAI', upstream: 'Anthropic' }, OPENAI],
  [{ client: 'Anthropic', upstream: 'OpenAI' }, ANTHROPIC],
  [{ client: 'Responses', upstream: 'OpenAI' }, RESPONSES],
  [{ client: 'Anthropic', upstream: 'BedrockConverse' }, CONVERSE],
  [{ client: 'Anthropic', upstream: 'Gemini' }, GEMINI],
  [{ client: 'Gemini', upstream: 'Anthropic' }, GEMINI_DIALECT],
];

for (const [pair, examples] of PAIRS) {
  describe(`the request of a client of ${pair.client} to ${pair.upstream}`, () => {
    for (const { table, base, place, values, beside = {}, unseen = [], model } of examples) {
      const kinds = 'kinds' in table;
      const handlings: ReadonlyMap<string, Handling> = kinds ? table.kinds : table.fields;
      test(table.title, () => {
        assert.deepEqual(Object.keys(values).sort(), [...handlings.keys()].sort(), 'an example for each field');
        for (const [name, handling] of handlings) {
          const without = kinds ? base : { ...base, ...beside[name] };
          const given = kinds
            ? { ...base, type: name, role: name, ...(values[name] as Fields) }
            : { ...without, [name]: values[name] };
          // a text is in one member or the other
          if (kinds) delete given[ROLES.has(table) ? 'type' : 'role'];
          const make = (): string => convert(pair, place(given), model);
          if (handling.action === 'Refused') {
            const fault = faultOf(make);
            assert.equal(fault?.code, 'unsupported_parameter', `${name} is not refused`);
            if (!kinds)
              assert.ok(
                fault.param === name || fault.param?.endsWith(`.${name}`),
                `${name}: the refusal names ${fault.param}`,
              );
            for (const neutral of handling.neutral)
              assert.equal(
                convert(pair, place({ ...without, [name]: neutral }), model),
                convert(pair, place(without), model),
                `${name} neutral`,
              );
          } else if (handling.action === 'Omitted') {
            const named = kinds ? `[ .]?\\(?${name}|tool_choice` : name;
            assert.match(make(), new RegExp(`"[^"]*${named}[^"]*"\\]\\]$`), name);
            for (const neutral of handling.neutral)
              assert.doesNotMatch(
                convert(pair, place({ ...without, [name]: neutral }), model),
                new RegExp(`${name}"\\]\\]$`),
              );
          } else if (handling.action === 'Dropped') assert.equal(make(), convert(pair, place(without), model), name);
          else if (unseen.includes(name)) make();
          else if (kinds)
            assert.notEqual(
              make(),
              faultOf(() => convert(pair, place(base), model)) ? '' : convert(pair, place(base), model),
              name,
            );
          else assert.notEqual(make(), convertOr(pair, place(without), model), `${name} changes nothing`);
        }
        const novel = kinds ? { ...base, type: 'novel', role: 'novel' } : { ...base, novel: 1 };
        assert.match(faultOf(() => convert(pair, place(novel), model))?.param ?? '', /novel|type|MimeType|role|source/);
        assert.equal(
          faultOf(() => convert(pair, place({ ...base, novel: null }), model))?.param?.includes('novel'),
          kinds ? faultOf(() => convert(pair, place(base), model))?.param?.includes('novel') : undefined,
        );
      });
    }
  });
}

/** The sent request, or undefined if there is none: an example may need the field. */
function convertOr(pair: Pair, fields: Fields, model: string | undefined): string {
  try {
    return convert(pair, fields, model);
  } catch (error) {
    assert.ok(error instanceof RequestFault);
    return '';
  }
}

test('every table of requests has examples', () => {
  const shown = new Set(
    [...OPENAI, ...ANTHROPIC, ...RESPONSES, ...CONVERSE, ...GEMINI, ...GEMINI_DIALECT].map(
      ({ table }) => table as object,
    ),
  );
  for (const table of [
    ...toAnthropic.REQUEST_TABLES,
    ...toOpenAI.REQUEST_TABLES,
    ...toChat.REQUEST_TABLES,
    ...toConverse.REQUEST_TABLES,
    ...toGemini.REQUEST_TABLES,
    ...toMessages.REQUEST_TABLES,
  ])
    assert.ok('values' in table || shown.has(table), table.title);
});

/** Names of an interface's own members, out of a package's types. */
function members(file: string, name: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../../node_modules', file), 'utf8').replaceAll(
    /\/\*\*[^]*?\*\//g,
    '',
  );
  const body = new RegExp(`^export interface ${name} (?:extends [^{]+)?\\{\n([^]*?)^\\}`, 'm').exec(text)?.[1];
  assert.ok(body !== undefined, `${name} in ${file}`);
  return [...body.matchAll(/^ {4}([a-z_]+)\??:/gm)].map(([, member]) => member ?? '');
}

test('every field of the official SDKs is in a table', () => {
  const OPENAI_TYPES = 'openai/resources/chat/completions/completions.d.ts';
  const ANTHROPIC_TYPES = '@anthropic-ai/sdk/resources/messages/messages.d.ts';
  const RESPONSE_TYPES = 'openai/resources/responses/responses.d.ts';
  const BETA_TYPES = '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts';
  const places: readonly (readonly [string, string, ObjectTable])[] = [
    [OPENAI_TYPES, 'ChatCompletionCreateParamsBase', toAnthropic.REQUEST],
    [OPENAI_TYPES, 'ChatCompletionAssistantMessageParam', toAnthropic.ASSISTANT_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionMessage', toAnthropic.ASSISTANT_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionUserMessageParam', toAnthropic.USER_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionSystemMessageParam', toAnthropic.SYSTEM_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionDeveloperMessageParam', toAnthropic.SYSTEM_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionToolMessageParam', toAnthropic.TOOL_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionFunctionMessageParam', toAnthropic.TOOL_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionContentPartText', toAnthropic.TEXT_PART],
    [OPENAI_TYPES, 'ChatCompletionContentPartImage', toAnthropic.IMAGE_PART],
    [OPENAI_TYPES, 'ChatCompletionContentPartRefusal', toAnthropic.REFUSAL_PART],
    [OPENAI_TYPES, 'ChatCompletionStreamOptions', toAnthropic.STREAM_OPTIONS],
    [OPENAI_TYPES, 'ChatCompletionFunctionTool', toAnthropic.TOOL],
    [OPENAI_TYPES, 'ChatCompletionCustomTool', toAnthropic.TOOL],
    [OPENAI_TYPES, 'ChatCompletion', toOpenAI.COMPLETION],
    [RESPONSE_TYPES, 'ResponseCreateParamsBase', toChat.REQUEST],
    [RESPONSE_TYPES, 'ResponseOutputMessage', toChat.MESSAGE],
    [RESPONSE_TYPES, 'EasyInputMessage', toChat.MESSAGE],
    [RESPONSE_TYPES, 'ResponseReasoningItem', toChat.REASONING],
    [RESPONSE_TYPES, 'ResponseFunctionToolCall', toChat.FUNCTION_CALL],
    [RESPONSE_TYPES, 'ResponseCustomToolCall', toChat.CUSTOM_CALL],
    [RESPONSE_TYPES, 'ResponseCustomToolCallOutput', toChat.CALL_OUTPUT],
    [RESPONSE_TYPES, 'ResponseToolSearchCall', toChat.TOOL_SEARCH_CALL],
    [RESPONSE_TYPES, 'ResponseToolSearchOutputItemParam', toChat.TOOL_SEARCH_OUTPUT],
    [RESPONSE_TYPES, 'ResponseInputText', toChat.TEXT_PART],
    [RESPONSE_TYPES, 'ResponseOutputText', toChat.TEXT_PART],
    [RESPONSE_TYPES, 'ResponseOutputRefusal', toChat.REFUSAL_PART],
    [RESPONSE_TYPES, 'ResponseInputImage', toChat.IMAGE_PART],
    [RESPONSE_TYPES, 'ResponseInputFile', toChat.FILE_PART],
    [RESPONSE_TYPES, 'FunctionTool', toChat.FUNCTION_TOOL],
    [RESPONSE_TYPES, 'CustomTool', toChat.CUSTOM_TOOL],
    [RESPONSE_TYPES, 'NamespaceTool', toChat.NAMESPACE_TOOL],
    [RESPONSE_TYPES, 'ToolSearchTool', toChat.TOOL_SEARCH_TOOL],
    [RESPONSE_TYPES, 'ResponseTextConfig', toChat.TEXT_SETTINGS],
    [RESPONSE_TYPES, 'ResponseFormatTextJSONSchemaConfig', toChat.FORMAT],
    ['openai/resources/shared.d.ts', 'Reasoning', toChat.REASONING_SETTINGS],
    [ANTHROPIC_TYPES, 'MessageCreateParamsBase', toConverse.REQUEST],
    [ANTHROPIC_TYPES, 'MessageCreateParamsBase', toGemini.REQUEST],
    [ANTHROPIC_TYPES, 'Tool', toGemini.TOOL],
    [ANTHROPIC_TYPES, 'DocumentBlockParam', toGemini.DOCUMENT_BLOCK],
    [ANTHROPIC_TYPES, 'Tool', toConverse.TOOL],
    [ANTHROPIC_TYPES, 'DocumentBlockParam', toConverse.DOCUMENT_BLOCK],
    [ANTHROPIC_TYPES, 'MessageCreateParamsBase', toOpenAI.REQUEST],
    [BETA_TYPES, 'BetaOutputConfig', toOpenAI.OUTPUT_CONFIG],
    [BETA_TYPES, 'BetaSystemMessageParam', toOpenAI.MESSAGE],
    [ANTHROPIC_TYPES, 'Metadata', toOpenAI.METADATA],
    [ANTHROPIC_TYPES, 'TextBlockParam', toOpenAI.TEXT_BLOCK],
    [ANTHROPIC_TYPES, 'ImageBlockParam', toOpenAI.IMAGE_BLOCK],
    [ANTHROPIC_TYPES, 'DocumentBlockParam', toOpenAI.DOCUMENT_BLOCK],
    [ANTHROPIC_TYPES, 'SearchResultBlockParam', toOpenAI.SEARCH_RESULT_BLOCK],
    [ANTHROPIC_TYPES, 'ToolResultBlockParam', toOpenAI.TOOL_RESULT_BLOCK],
    [ANTHROPIC_TYPES, 'ToolUseBlockParam', toOpenAI.TOOL_USE_BLOCK],
    [ANTHROPIC_TYPES, 'ThinkingBlockParam', toOpenAI.THINKING_BLOCK],
    [ANTHROPIC_TYPES, 'Tool', toOpenAI.TOOL],
    [ANTHROPIC_TYPES, 'Message', toAnthropic.MESSAGE],
    [ANTHROPIC_TYPES, 'Usage', toAnthropic.USAGE],
    [ANTHROPIC_TYPES, 'ToolUseBlock', toAnthropic.TOOL_USE_BLOCK],
    [ANTHROPIC_TYPES, 'TextBlock', toAnthropic.TEXT_BLOCK],
  ];
  const missing = places.flatMap(([file, name, table]) =>
    members(file, name)
      .filter((member) => !table.fields.has(member))
      .map((member) => `${name}.${member}`),
  );
  // names of parameters that are headers
  assert.deepEqual(missing, []);
});
