/** What Anthropic's messages refuse, in its words: by the model's version where models differ. */
import { isRecord, itemsOf, stringOf } from '../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';

const FIELDS = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'output_format',
  'metadata',
  'service_tier',
  'cache_control',
  'betas',
  'context_management',
  'container',
  'mcp_servers',
  'diagnostics',
]);
const FORMATS = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']);
const KEYWORDS = new Set([
  'type',
  'enum',
  'const',
  'title',
  'description',
  'properties',
  'required',
  'items',
  'anyOf',
  'allOf',
  '$defs',
  '$ref',
  'default',
  'additionalProperties',
  'definitions',
  'minItems',
  'format',
  '$schema',
]);

type Rule = (body: JsonRecord, version: number) => string | undefined;

const RULES: readonly Rule[] = [
  (body) => {
    const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
    return unknown === undefined ? undefined : `${unknown}: Extra inputs are not permitted`;
  },
  (body, version) => {
    const sampling = ['temperature', 'top_p', 'top_k'].find((name) => name in body && body[name] !== 1);
    if (version >= 4.7 && sampling !== undefined) return `${sampling} is not supported by this model`;
    return version >= 4.1 && 'temperature' in body && 'top_p' in body
      ? '`temperature` and `top_p` cannot both be specified for this model.'
      : undefined;
  },
  thinkingRule,
  toolRule,
  formatRule,
  cacheRule,
  messagesRule,
  historyRule,
];

/** The first rule that a request breaks, as the API words it; undefined: it is accepted. */
export function refuseAnthropic(body: JsonRecord): string | undefined {
  const [, major, minor = '0'] = /claude-[a-z]+-(\d)(?:-(\d)(?!\d))?/.exec(stringOf(body['model'])) ?? [];
  for (const rule of RULES) {
    const refusal = rule(body, Number(`${major ?? 9}.${minor}`));
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function thinkingRule(body: JsonRecord): string | undefined {
  const thinking = isRecord(body['thinking']) ? body['thinking'] : {};
  if (thinking['type'] !== 'enabled') return undefined;
  if (!(Number(thinking['budget_tokens']) < Number(body['max_tokens'] ?? Infinity)))
    return '`max_tokens` must be greater than `thinking.budget_tokens`.';
  return 'temperature' in body && body['temperature'] !== 1
    ? '`temperature` may only be set to 1 when thinking is enabled.'
    : undefined;
}

function toolRule(body: JsonRecord): string | undefined {
  const tools = itemsOf(body['tools']).filter(isRecord);
  if ('tool_choice' in body && tools.length === 0) return 'tool_choice: tools must be provided';
  for (const [index, { type, name, input_schema: schema, strict }] of tools.entries()) {
    if (type !== undefined && type !== 'custom') continue;
    const param = `tools.${index}.custom`;
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(stringOf(name))) return `${param}.name: String should match pattern`;
    if (!isRecord(schema) || schema['type'] !== 'object') return `${param}.input_schema.type: Field required`;
    if (['anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in schema))
      return `${param}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
    const fault = strict === true ? schemaFault(schema) : undefined;
    if (fault !== undefined) return `${param}: ${fault}`;
  }
  return undefined;
}

function formatRule(body: JsonRecord): string | undefined {
  const config = isRecord(body['output_config']) ? body['output_config']['format'] : undefined;
  const format = config ?? body['output_format'];
  if (!isRecord(format)) return undefined;
  const fault = isRecord(format['schema']) ? schemaFault(format['schema']) : 'schema is required';
  return fault === undefined ? undefined : `output_config.format.schema: ${fault}`;
}

/** The first thing that the API refuses in a schema to which it holds an answer. */
function schemaFault(schema: JsonRecord): string | undefined {
  const keyword = Object.keys(schema).find((name) => !KEYWORDS.has(name));
  if (keyword !== undefined) return `property '${keyword}' is not supported`;
  if ('format' in schema && !FORMATS.has(stringOf(schema['format']))) return 'format is not supported';
  if ('minItems' in schema && Number(schema['minItems']) > 1)
    return "'minItems' values other than 0 or 1 are not supported";
  if (schema['type'] === 'object' && schema['additionalProperties'] !== false)
    return "For 'object' type, 'additionalProperties' must be explicitly set to false";
  const named = [schema['properties'], schema['$defs']].flatMap((each) => (isRecord(each) ? Object.values(each) : []));
  const inner = [...named, ...itemsOf(schema['anyOf']), ...itemsOf(schema['allOf']), schema['items']];
  return inner
    .filter(isRecord)
    .map(schemaFault)
    .find((fault) => fault !== undefined);
}

function cacheRule(body: JsonRecord): string | undefined {
  const count = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + count(each), 0);
    return isRecord(value) ? ('cache_control' in value ? 1 : 0) + count(value['content']) : 0;
  };
  const parts = [body['tools'], body['system'], body['messages'], { ...body, content: [] }];
  const found = parts.reduce<number>((sum, part) => sum + count(part), 0);
  return found > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${found}.` : undefined;
}

function messagesRule(body: JsonRecord, version: number): string | undefined {
  const messages = itemsOf(body['messages']).filter(isRecord);
  for (const [index, message] of messages.entries()) {
    const extra = Object.keys(message).find((name) => name !== 'role' && name !== 'content');
    if (extra !== undefined) return `messages.${index}.${extra}: Extra inputs are not permitted`;
    const isLast = index === messages.length - 1;
    const { content } = message;
    if (content === '' || (itemsOf(content).length === 0 && typeof content !== 'string'))
      return isLast ? undefined : `messages.${index}: all messages must have non-empty content`;
  }
  const [first, last] = [messages[0], messages.at(-1)];
  if (first?.['role'] !== 'user') return 'messages: first message must use the "user" role';
  if (textsOf([...itemsOf(body['system']), ...messages]).some((text) => text.trim() === ''))
    return 'messages: text content blocks must contain non-whitespace text';
  if (last?.['role'] !== 'assistant') return undefined;
  if (version >= 4.6)
    return 'This model does not support assistant message prefill. The conversation must end with a user message.';
  return /\s$/.test(textsOf([last]).at(-1) ?? '')
    ? 'messages: final assistant content cannot end with trailing whitespace'
    : undefined;
}

function textsOf(values: readonly unknown[]): string[] {
  return values.filter(isRecord).flatMap((value) => {
    if (value['type'] === 'text') return [stringOf(value['text'])];
    return typeof value['content'] === 'string' && value['type'] !== 'tool_result'
      ? [value['content']]
      : textsOf(itemsOf(value['content']));
  });
}

const UNANSWERED = '`tool_use` ids were found without `tool_result` blocks immediately after';

/** Every tool call is answered in the next turn, at its start, and the tools are declared. */
function historyRule(body: JsonRecord): string | undefined {
  let open: unknown[] = [];
  let used = false;
  for (const [index, { role, content }] of itemsOf(body['messages']).filter(isRecord).entries()) {
    const blocks = itemsOf(content).filter(isRecord);
    const results = blocks.filter(({ type }) => type === 'tool_result').map((block) => block['tool_use_id']);
    if (role === 'user' && open.some((id) => !results.includes(id)))
      return `messages.${index}: ${UNANSWERED}: ${open.join()}`;
    if (results.some((id) => !open.includes(id)))
      return `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${results.join()}`;
    const uses = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
    if (uses.some((id) => !/^[a-zA-Z0-9_-]+$/.test(stringOf(id))))
      return `messages.${index}: tool_use.id: String should match pattern`;
    open = uses;
    used ||= uses.length > 0;
  }
  if (open.length > 0) return UNANSWERED;
  return used && itemsOf(body['tools']).length === 0
    ? 'Requests which include `tool_use` or `tool_result` blocks must define tools'
    : undefined;
}
