/** What OpenAI's chat completions refuse, in its words: by the model where models differ. */
import { isRecord, itemsOf, stringOf } from '../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';

/** A refusal; undefined: the request is accepted. */
export interface Refusal {
  readonly message: string;
  readonly param?: string;
}

const FIELDS = new Set([
  'model',
  'messages',
  'max_completion_tokens',
  'max_tokens',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'response_format',
  'reasoning_effort',
  'user',
  'safety_identifier',
  'service_tier',
  'metadata',
  'store',
  'seed',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prediction',
  'n',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'frequency_penalty',
  'presence_penalty',
  'modalities',
  'audio',
  'verbosity',
  'web_search_options',
]);
const MESSAGE_FIELDS = new Set([
  'role',
  'content',
  'name',
  'tool_calls',
  'tool_call_id',
  'refusal',
  'audio',
  'function_call',
  'annotations',
]);
const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);
/** Refused in strict schemas. */
const NOT_STRICT = [
  'minLength',
  'maxLength',
  'uniqueItems',
  'default',
  'allOf',
  'oneOf',
  'not',
  'if',
  'patternProperties',
  'propertyNames',
];

type Rule = (body: JsonRecord, model: string) => Refusal | undefined;

/** The model reasons. */
export const reasons = (model: string): boolean => /^(?:o\d|gpt-5)/.test(model);

export const unsupportedParameter = (param: string): Refusal => ({
  message: `Unsupported parameter: '${param}' is not supported with this model.`,
  param,
});

export const tooLong = (param: string, most: number, length: number): Refusal => ({
  param,
  message: `Invalid '${param}': string too long. Expected a string with maximum length ${most}, but got ${length} instead.`,
});

const RULES: readonly Rule[] = [
  (body) => {
    const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
    return unknown === undefined ? undefined : { message: `Unknown parameter: '${unknown}'.`, param: unknown };
  },
  (body, model) => {
    if (!('reasoning_effort' in body)) return undefined;
    if (!reasons(model)) return { message: 'Unrecognized request argument supplied: reasoning_effort' };
    return EFFORTS.has(stringOf(body['reasoning_effort'])) ? undefined : unsupportedParameter('reasoning_effort');
  },
  (body, model) => {
    if (!reasons(model)) return undefined;
    if ('max_tokens' in body) return unsupportedParameter('max_tokens');
    if ('stop' in body) return unsupportedParameter('stop');
    const param = ['temperature', 'top_p'].find((name) => name in body && body[name] !== 1);
    return param === undefined ? undefined : unsupportedParameter(param);
  },
  (body, model) => {
    const taken = !/^o\d/.test(model) || !('parallel_tool_calls' in body);
    return taken ? undefined : unsupportedParameter('parallel_tool_calls');
  },
  (body) => {
    const tooMany = itemsOf(body['stop']).length > 4;
    return tooMany ? { message: "Invalid 'stop': array too long.", param: 'stop' } : undefined;
  },
  toolRule,
  formatRule,
  messageRule,
];

/** The first rule that a request breaks. */
export function refuseOpenAi(body: JsonRecord): Refusal | undefined {
  for (const rule of RULES) {
    const refusal = rule(body, stringOf(body['model']));
    if (refusal) return refusal;
  }
  return undefined;
}

function toolRule(body: JsonRecord, model: string): Refusal | undefined {
  if (!('tools' in body))
    return 'tool_choice' in body || 'parallel_tool_calls' in body
      ? { message: "'tool_choice' is only allowed when 'tools' are specified.", param: 'tool_choice' }
      : undefined;
  for (const [index, tool] of itemsOf(body['tools']).filter(isRecord).entries()) {
    const refusal = functionRule(isRecord(tool['function']) ? tool['function'] : {}, `tools[${index}].function`, model);
    if (refusal) return refusal;
  }
  return undefined;
}

function functionRule(definition: JsonRecord, param: string, model: string): Refusal | undefined {
  const { name, description, parameters, strict } = definition;
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(stringOf(name))) return { message: `Invalid '${param}.name'.`, param };
  const { length } = stringOf(description);
  if (!model.startsWith('gpt-5') && length > 1024) return tooLong(`${param}.description`, 1024, length);
  if (!isRecord(parameters)) return undefined;
  if (parameters['type'] !== 'object' || !isRecord(parameters['properties']))
    return { message: `Invalid schema for function '${stringOf(name)}': object schema missing properties.`, param };
  if (['anyOf', 'oneOf', 'allOf', 'enum', 'not'].some((keyword) => keyword in parameters))
    return { message: `Invalid schema for function '${stringOf(name)}': 'anyOf' at the top level.`, param };
  return strict === true ? strictFault(parameters, param) : undefined;
}

function formatRule(body: JsonRecord): Refusal | undefined {
  const format = body['response_format'];
  const definition = isRecord(format) ? format['json_schema'] : undefined;
  if (!isRecord(definition) || definition['strict'] !== true) return undefined;
  return isRecord(definition['schema']) ? strictFault(definition['schema'], 'response_format') : undefined;
}

/** The first thing that strict mode refuses in a schema. */
export function strictFault(schema: JsonRecord, param: string): Refusal | undefined {
  const refused = (why: string): Refusal => ({ message: `Invalid schema for ${param}: ${why}`, param });
  const keyword = NOT_STRICT.find((name) => name in schema);
  if (keyword !== undefined) return refused(`'${keyword}' is not permitted.`);
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  if (schema['type'] === 'object') {
    if (schema['additionalProperties'] !== false) return refused("'additionalProperties' is required to be false.");
    const missing = Object.keys(properties).find((name) => !itemsOf(schema['required']).includes(name));
    if (missing !== undefined) return refused(`'required' must include every key in properties. Missing '${missing}'.`);
  }
  const definitions = isRecord(schema['$defs']) ? schema['$defs'] : {};
  const named = [...Object.values(properties), ...Object.values(definitions)];
  for (const each of [...named, ...itemsOf(schema['anyOf']), schema['items']].filter(isRecord)) {
    const fault = strictFault(each, param);
    if (fault) return fault;
  }
  return undefined;
}

const UNANSWERED = "An assistant message with 'tool_calls' must be followed by tool messages.";
const STRAY = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";

/** Every tool call is followed by its results, and every result follows its call. */
function messageRule(body: JsonRecord): Refusal | undefined {
  let open: unknown[] = [];
  for (const [index, message] of itemsOf(body['messages']).filter(isRecord).entries()) {
    const param = `messages.[${index}]`;
    const unknown = Object.keys(message).find((name) => !MESSAGE_FIELDS.has(name));
    if (unknown !== undefined) return { message: `Additional properties are not allowed ('${unknown}')`, param };
    if (message['role'] === 'tool') {
      if (!open.includes(message['tool_call_id'])) return { message: STRAY, param };
      open = open.filter((id) => id !== message['tool_call_id']);
      continue;
    }
    if (open.length > 0) return { message: UNANSWERED, param };
    const calls = itemsOf(message['tool_calls']).filter(isRecord);
    const long = calls.find((call) => stringOf(call['id']).length > 40);
    if (long) return tooLong(`${param}.tool_calls.id`, 40, stringOf(long['id']).length);
    open = calls.map((call) => call['id']);
  }
  return open.length > 0 ? { message: UNANSWERED } : undefined;
}
