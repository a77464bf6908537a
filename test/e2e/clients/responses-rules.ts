/** What OpenAI's Responses refuse, in its words: by the model where models differ. */
import { isRecord, itemsOf, stringOf } from '../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';
import { reasons, strictFault, tooLong, unsupportedParameter } from './openai-rules.ts';
import type { Refusal } from './openai-rules.ts';

/** The encrypted reasoning that the fake provider issues, the only one that it can read. */
export const ENCRYPTED_REASONING = 'gAAAAABencryptedByTheFakeProvider';

const FIELDS = new Set([
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'top_logprobs',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'include',
  'store',
  'previous_response_id',
  'conversation',
  'prompt',
  'background',
  'truncation',
  'user',
  'safety_identifier',
  'service_tier',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
  'client_metadata',
]);
const EFFORTS = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const PARTS: Readonly<Record<string, readonly string[]>> = {
  assistant: ['output_text', 'refusal'],
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
  system: ['input_text', 'input_image', 'input_file'],
  developer: ['input_text', 'input_image', 'input_file'],
};
const CALLS = new Set(['function_call', 'custom_tool_call']);
const RESULTS = new Set(['function_call_output', 'custom_tool_call_output']);
const [MIN_TOKENS, MAX_ID_LENGTH] = [16, 64];

type Rule = (body: JsonRecord, model: string) => Refusal | undefined;

const RULES: readonly Rule[] = [
  (body) => {
    const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
    return unknown === undefined ? undefined : { message: `Unknown parameter: '${unknown}'.`, param: unknown };
  },
  settingsRule,
  toolRule,
  ({ text }) => {
    const format = isRecord(text) && isRecord(text['format']) ? text['format'] : {};
    if (format['type'] !== 'json_schema') return undefined;
    if (format['name'] === undefined)
      return { message: "Missing required parameter: 'text.format.name'.", param: 'text.format.name' };
    return format['strict'] === true && isRecord(format['schema'])
      ? strictFault(format['schema'], 'text.format')
      : undefined;
  },
  (body) => firstFault(inputItems(body), itemFault),
  pairRule,
];

/** The first rule that a request breaks. */
export function refuseResponses(body: JsonRecord): Refusal | undefined {
  for (const rule of RULES) {
    const refusal = rule(body, stringOf(body['model']));
    if (refusal) return refusal;
  }
  return undefined;
}

function firstFault(
  items: readonly JsonRecord[],
  faultOf: (item: JsonRecord, param: string) => Refusal | undefined,
): Refusal | undefined {
  for (const [index, item] of items.entries()) {
    const fault = faultOf(item, `input[${index}]`);
    if (fault) return fault;
  }
  return undefined;
}

function inputItems({ input }: JsonRecord): readonly JsonRecord[] {
  return itemsOf(input).filter(isRecord);
}

function settingsRule(body: JsonRecord, model: string): Refusal | undefined {
  const { max_output_tokens: limit, reasoning } = body;
  if (typeof limit === 'number' && limit < MIN_TOKENS)
    return {
      param: 'max_output_tokens',
      message: `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${limit}.`,
    };
  const sampling = ['temperature', 'top_p'].find((name) => name in body && body[name] !== 1);
  if (reasons(model) && sampling !== undefined) return unsupportedParameter(sampling);
  if (!isRecord(reasoning)) return undefined;
  if (!reasons(model)) return unsupportedParameter('reasoning.effort');
  const { effort } = reasoning;
  return effort === undefined || effort === null || EFFORTS.has(stringOf(effort))
    ? undefined
    : unsupportedParameter('reasoning.effort');
}

function toolRule(body: JsonRecord): Refusal | undefined {
  for (const [index, { type, name, parameters, strict }] of itemsOf(body['tools']).filter(isRecord).entries()) {
    const param = `tools[${index}]`;
    if (type !== 'function') continue;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(stringOf(name)))
      return { message: `Invalid '${param}.name'.`, param: `${param}.name` };
    if (!isRecord(parameters)) continue;
    if (parameters['type'] !== 'object')
      return { message: `Invalid schema for function '${stringOf(name)}': type must be 'object'.`, param };
    const fault = strict === true ? strictFault(parameters, param) : undefined;
    if (fault) return fault;
  }
  return undefined;
}

function itemFault(item: JsonRecord, param: string): Refusal | undefined {
  const type = item['type'] ?? 'message';
  if (type === 'reasoning') return reasoningFault(item, param);
  if (type !== 'message') return undefined;
  const taken = PARTS[stringOf(item['role'])];
  if (!taken) return { message: `Invalid value: '${stringOf(item['role'])}'.`, param: `${param}.role` };
  const parts = itemsOf(item['content']).filter(isRecord);
  const strange = parts.findIndex((part) => !taken.includes(stringOf(part['type'])));
  if (strange < 0) return undefined;
  return {
    param: `${param}.content[${strange}]`,
    message: `Invalid value: '${stringOf(parts[strange]!['type'])}'. Supported values are: '${taken.join("', '")}'.`,
  };
}

/** Nothing is stored here, so that reasoning comes back by its encrypted content only. */
function reasoningFault({ encrypted_content: encrypted, id, summary }: JsonRecord, param: string): Refusal | undefined {
  if (!Array.isArray(summary)) return { message: `Missing required parameter: '${param}.summary'.`, param };
  if (encrypted === ENCRYPTED_REASONING) return undefined;
  return encrypted === undefined || encrypted === null
    ? { message: `Item with id '${stringOf(id)}' not found. Items are not persisted when \`store\` is false.`, param }
    : { message: `The encrypted content for item ${stringOf(id)} could not be verified.`, param };
}

/** Every call has its output, and every output its call before it. */
function pairRule(body: JsonRecord): Refusal | undefined {
  const open = new Set<string>();
  for (const { type, call_id: given } of inputItems(body)) {
    const [kind, id] = [stringOf(type), stringOf(given)];
    if (!CALLS.has(kind) && !RESULTS.has(kind)) continue;
    if (id.length > MAX_ID_LENGTH) return tooLong('input.call_id', MAX_ID_LENGTH, id.length);
    if (CALLS.has(kind)) open.add(id);
    else if (!open.delete(id)) return { message: `No tool call found for function call output with call_id ${id}.` };
  }
  const [unanswered] = open;
  return unanswered === undefined ? undefined : { message: `No tool output found for function call ${unanswered}.` };
}
