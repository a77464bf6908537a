/** An example for each field of the tables for requests in the Responses dialect. */
import * as toChat from '../../../../dataplane/protocol/responses-openai/table.ts';
import type { Examples, Fields } from './field-examples.ts';

const TOOL = { type: 'function', name: 'f' };
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } };
const USER = { role: 'user', content: 'hi' };
const PDF = 'data:application/pdf;base64,JVBERi0=';

const input = (...items: readonly Fields[]): Fields => ({ input: [USER, ...items] });
const user = (part: Fields): Fields => ({ input: [{ role: 'user', content: [part] }] });
const CALL = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const CUSTOM = { type: 'custom_tool_call', call_id: 'c', name: 'f', input: 'x' };
const SEARCH = { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} };
const OUTPUT = { type: 'function_call_output', call_id: 'c', output: 'a' };
const FOUND = { type: 'tool_search_output', call_id: 'c', execution: 'client', tools: [TOOL] };
const DIRECT = { type: 'direct' };
const PROVIDER_ITEMS = [
  'compaction', 'web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call',
  'mcp_list_tools', 'mcp_call', 'mcp_approval_request', 'mcp_approval_response', 'program', 'program_output',
  'computer_call', 'computer_call_output', 'local_shell_call', 'local_shell_call_output', 'shell_call',
  'shell_call_output', 'apply_patch_call', 'apply_patch_call_output', 'configuration_update', 'compaction_trigger',
  'item_reference',
];
const PROVIDER_TOOLS = [
  'web_search', 'web_search_preview', 'file_search', 'code_interpreter', 'image_generation', 'mcp',
  'programmatic_tool_calling', 'computer', 'computer_use_preview', 'local_shell', 'shell', 'apply_patch',
];
const PROVIDER_CHOICES = [
  'web_search_preview', 'file_search', 'code_interpreter', 'image_generation', 'mcp', 'programmatic_tool_calling',
  'computer', 'computer_use', 'computer_use_preview', 'shell', 'apply_patch',
];
const OF_CALL = { id: 'x', status: 'completed', async: true, caller: DIRECT };

export const RESPONSES: readonly Examples[] = [
  { table: toChat.REQUEST, base: { input: 'hi' }, place: (request) => request, unseen: ['model', 'metadata'],
    beside: {
      tool_choice: { tools: [TOOL] }, parallel_tool_calls: { tools: [TOOL] },
    }, values: {
      model: 'x', input: 'other', instructions: 'i', max_output_tokens: 7, stream: true, temperature: 0.5, top_p: 0.5,
      tools: [TOOL], tool_choice: 'required', parallel_tool_calls: false, reasoning: { effort: 'low' },
      text: { format: { type: 'json_object' } }, user: 'u', safety_identifier: 's', service_tier: 'default',
      metadata: { a: 'b' }, store: true, include: ['reasoning.encrypted_content'], stream_options: {},
      max_tool_calls: 3, prompt_cache_key: 'k', prompt_cache_retention: '24h', prompt_cache_options: {},
      client_metadata: {}, truncation: 'auto', context_management: [{}], image: {}, top_logprobs: 1, moderation: {},
      access_programs: {}, previous_response_id: 'r', conversation: 'c', prompt: {}, background: true,
    } },
  { table: toChat.REASONING_SETTINGS, base: {}, place: (reasoning) => ({ input: 'hi', reasoning }),
    values: { effort: 'low', summary: 'auto', generate_summary: 'auto', context: 'auto', max_tokens: 9, mode: 'pro' } },
  { table: toChat.TEXT_SETTINGS, base: {}, place: (text) => ({ input: 'hi', text }), model: 'gpt-5',
    values: { format: { type: 'json_object' }, verbosity: 'low' } },
  { table: toChat.FORMATS, base: {}, place: (format) => ({ input: 'hi', text: { format } }), unseen: ['text'],
    values: { text: {}, json_object: {}, json_schema: { schema: SCHEMA } } },
  { table: toChat.FORMAT, base: { type: 'json_schema', schema: SCHEMA },
    place: (format) => ({ input: 'hi', text: { format } }),
    values: { type: 'json_object', name: 'n', schema: {}, strict: true, description: 'd' } },
  { table: toChat.ITEMS, base: {}, model: 'kimi-k2', place: (item) => input(
    item['type'] === 'message' ? { ...item, role: 'user' } : item, { ...CALL, call_id: 'z', name: 'z' },
  ), values: {
    message: USER, reasoning: { summary: [{ type: 'summary_text', text: 'a' }] }, function_call: CALL,
    function_call_output: OUTPUT, custom_tool_call: CUSTOM, custom_tool_call_output: OUTPUT, tool_search_call: SEARCH,
    tool_search_output: FOUND, additional_tools: { tools: [TOOL] },
    ...Object.fromEntries(PROVIDER_ITEMS.map((type) => [type, {}])),
  } },
  { table: toChat.ROLES, base: { content: 'a' }, place: (message) => input(message),
    values: { user: {}, assistant: {}, system: {}, developer: {} } },
  { table: toChat.MESSAGE, base: { role: 'assistant', content: 'a' }, place: (message) => input(message),
    unseen: ['type'], values: {
      type: 'message', role: 'user', content: 'b', id: 'x', status: 'completed', phase: 'commentary',
    } },
  { table: toChat.REASONING, base: { type: 'reasoning', summary: [] }, model: 'kimi-k2',
    place: (item) => input(item, CALL), unseen: ['type', 'encrypted_content'], values: {
      type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }], content: [{
        type: 'reasoning_text', text: 'b',
      }], encrypted_content: 'gAAAA', id: 'x', status: 'completed',
    } },
  { table: toChat.FUNCTION_CALL, base: CALL, place: (call) => input(call), unseen: ['type'],
    values: {
      ...CALL, call_id: 'd', name: 'g', arguments: '{"a":1}', parsed_arguments: {}, namespace: 'n', ...OF_CALL,
    } },
  { table: toChat.CUSTOM_CALL, base: CUSTOM, place: (call) => input(call), unseen: ['type'],
    values: { ...CUSTOM, call_id: 'd', name: 'g', input: 'y', namespace: 'n', ...OF_CALL } },
  { table: toChat.CALL_OUTPUT, base: OUTPUT, place: (output) => input(CALL, output), unseen: ['type'], values: {
    ...OUTPUT, call_id: 'd', output: 'b', id: 'x', status: 'completed', name: 'f', namespace: 'n', caller: DIRECT,
  } },
  { table: toChat.TOOL_SEARCH_CALL, base: SEARCH, place: (call) => input(call), unseen: ['type'], values: {
    ...SEARCH, call_id: 'd', arguments: { a: 1 }, execution: 'server', id: 'x', status: 'completed', created_by: 'x',
  } },
  { table: toChat.TOOL_SEARCH_OUTPUT, base: FOUND, place: (output) => input(SEARCH, output), unseen: ['type'],
    values: {
      ...FOUND, call_id: 'd', tools: [], execution: 'server', id: 'x', status: 'completed', created_by: 'x',
    } },
  { table: toChat.ADDITIONAL_TOOLS, base: { type: 'additional_tools' }, place: (item) => input(item),
    unseen: ['type'], values: { type: 'additional_tools', tools: [TOOL], role: 'developer', id: 'x' } },
  { table: toChat.PARTS, base: {}, place: (part) => ({ input: [{ role: 'user', content: [{
    type: 'input_text', text: 'hi',
  }, part] }] }), values: {
    input_text: { text: 'a' }, output_text: { text: 'a' }, text: { text: 'a' }, refusal: { refusal: 'a' },
    input_image: { image_url: 'https://x/y' }, input_file: { file_data: PDF }, input_audio: {},
  } },
  { table: toChat.TEXT_PART, base: { type: 'input_text', text: 'a' }, place: user, unseen: ['type'], values: {
    type: 'text', text: 'b', annotations: [], logprobs: [], parsed: {}, prompt_cache_breakpoint: {},
  } },
  { table: toChat.REFUSAL_PART, base: { type: 'refusal', refusal: 'a' }, place: user, unseen: ['type'],
    values: { type: 'refusal', refusal: 'b' } },
  { table: toChat.IMAGE_PART, base: { type: 'input_image', image_url: 'https://x/y' }, place: user, unseen: ['type'],
    values: {
      type: 'input_image', image_url: 'https://x/z', detail: 'low', file_id: 'f', prompt_cache_breakpoint: {},
    } },
  { table: toChat.FILE_PART, base: { type: 'input_file', file_data: PDF }, place: user, unseen: ['type', 'file_url'],
    values: {
      type: 'input_file', file_data: 'data:text/plain;base64,AAAA', filename: 'n', file_url: 'https://x/y',
      detail: 'low', file_id: 'f', prompt_cache_breakpoint: {},
    } },
  { table: toChat.TOOLS, base: {}, place: (tool) => ({ input: 'hi', tools: [tool] }), values: {
    function: { name: 'f' }, custom: { name: 'f' }, namespace: { name: 'n', tools: [TOOL] },
    tool_search: { execution: 'client' }, ...Object.fromEntries(PROVIDER_TOOLS.map((type) => [type, {}])),
  } },
  { table: toChat.FUNCTION_TOOL, base: TOOL, place: (tool) => ({ input: 'hi', tools: [tool] }), values: {
    type: 'custom', name: 'g', description: 'd', parameters: SCHEMA, strict: true, defer_loading: true, async: true,
    allowed_callers: ['direct'], output_schema: {},
  } },
  { table: toChat.CUSTOM_TOOL, base: { type: 'custom', name: 'f' }, place: (tool) => ({ input: 'hi', tools: [tool] }),
    values: {
      type: 'function', name: 'g', description: 'd', defer_loading: true, allowed_callers: ['direct'], async: true,
      format: { type: 'grammar', syntax: 'regex', definition: 'a' },
    } },
  { table: toChat.NAMESPACE_TOOL, base: { type: 'namespace', name: 'n', tools: [TOOL] },
    place: (tool) => ({ input: 'hi', tools: [tool] }), unseen: ['type'],
    values: { type: 'namespace', name: 'o', description: 'd', tools: [] } },
  { table: toChat.TOOL_SEARCH_TOOL, base: { type: 'tool_search', execution: 'client' },
    place: (tool) => ({ input: 'hi', tools: [tool] }), unseen: ['type'],
    values: { type: 'tool_search', execution: 'server', description: 'd', parameters: SCHEMA } },
  { table: toChat.CHOICES, base: {}, place: (choice) => ({
    input: 'hi', tools: [TOOL, { type: 'tool_search', execution: 'client' }], tool_choice: choice,
  }), values: {
    function: { name: 'f' }, custom: { name: 'f' }, allowed_tools: { mode: 'required', tools: [TOOL] },
    tool_search: {}, ...Object.fromEntries(PROVIDER_CHOICES.map((type) => [type, {}])),
  } },
];
