/** What Bedrock's Converse refuses, in its words, for a Claude. */
import { isRecord, itemsOf, stringOf } from '../../../dataplane/protocol/fields.ts';
import type { JsonRecord } from '../../../dataplane/protocol/fields.ts';

/** The signature that the fake provider issues, the only one that it knows. */
export const REASONING_SIGNATURE = 'c2lnbmVkIGJ5IHRoZSBmYWtlIG9mIENvbnZlcnNl';

const FIELDS = new Set([
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'outputConfig',
  'guardrailConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'performanceConfig',
  'promptVariables',
  'requestMetadata',
  'serviceTier',
]);
const MAX_CACHE_POINTS = 4;
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

type Rule = (body: JsonRecord) => string | undefined;

const RULES: readonly Rule[] = [
  (body) => {
    const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
    return unknown === undefined ? undefined : `The field ${unknown} is unknown.`;
  },
  roleRule,
  contentRule,
  toolRule,
  historyRule,
  thinkingRule,
  (body) => {
    const count = JSON.stringify(body).split('"cachePoint":').length - 1;
    return count > MAX_CACHE_POINTS ? `You have ${count} cache points. The maximum is 4.` : undefined;
  },
];

/** The first rule that a request breaks, as the API words it; undefined: it is accepted. */
export function refuseConverse(body: JsonRecord): string | undefined {
  for (const rule of RULES) {
    const refusal = rule(body);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function messagesOf({ messages }: JsonRecord): readonly JsonRecord[] {
  return itemsOf(messages).filter(isRecord);
}

function blocksOf({ content }: JsonRecord): readonly JsonRecord[] {
  return itemsOf(content).filter(isRecord);
}

function roleRule(body: JsonRecord): string | undefined {
  const roles = messagesOf(body).map(({ role }) => role);
  if (roles[0] !== 'user') return 'A conversation must start with a user message.';
  const strange = roles.findIndex((role) => role !== 'user' && role !== 'assistant');
  if (strange >= 0) return `Value at 'messages.${strange}.member.role' failed to satisfy constraint`;
  const twice = roles.find((role, index) => role === roles[index - 1]);
  return twice === undefined
    ? undefined
    : `messages: roles must alternate between "user" and "assistant", but found multiple "${stringOf(twice)}" roles in a row`;
}

function contentRule(body: JsonRecord): string | undefined {
  for (const [index, message] of messagesOf(body).entries()) {
    const at = `messages.${index}`;
    const blocks = blocksOf(message);
    if (blocks.length === 0)
      return `The content field in the Message object at ${at} is empty. Add a ContentBlock object to the content field and try again.`;
    const blank = blocks.findIndex(({ text }) => typeof text === 'string' && text.trim() === '');
    if (blank >= 0)
      return `The text field in the ContentBlock object at ${at}.content.${blank} is blank. Add text to the text field, and try again.`;
  }
  const system = itemsOf(body['system']).filter(isRecord);
  return system.some(({ text }) => text === '')
    ? 'The text field in the SystemContentBlock object is blank.'
    : undefined;
}

function toolRule({ toolConfig }: JsonRecord): string | undefined {
  if (toolConfig === undefined) return undefined;
  const tools = isRecord(toolConfig) ? itemsOf(toolConfig['tools']).filter(isRecord) : [];
  if (tools.length === 0) return "Value at 'toolConfig.tools' failed to satisfy constraint: at least one tool";
  const specs = tools.flatMap(({ toolSpec }) => (isRecord(toolSpec) ? [toolSpec] : []));
  for (const [index, { name, description, inputSchema }] of specs.entries()) {
    const at = `toolConfig.tools.${index}.toolSpec`;
    if (!NAME.test(stringOf(name))) return `Value at '${at}.name' failed to satisfy constraint`;
    if (description === '')
      return `Value at '${at}.description' failed to satisfy constraint: Member must have length greater than or equal to 1`;
    const schema = isRecord(inputSchema) && isRecord(inputSchema['json']) ? inputSchema['json'] : {};
    if (schema['type'] !== 'object')
      return `The value at ${at}.inputSchema.json.type must be one of the following: object.`;
  }
  const names = specs.map(({ name }) => name);
  return new Set(names).size < names.length ? 'The tool names in toolConfig must be unique.' : undefined;
}

function idsIn(message: JsonRecord, kind: string): readonly string[] {
  return blocksOf(message).flatMap((block) => {
    const { [kind]: inner } = block;
    return isRecord(inner) ? [stringOf(inner['toolUseId'])] : [];
  });
}

/** Every call has its result in the next turn, and the tools are declared. */
function historyRule(body: JsonRecord): string | undefined {
  let open: readonly string[] = [];
  let used = false;
  for (const [index, message] of messagesOf(body).entries()) {
    const [uses, results] = [idsIn(message, 'toolUse'), idsIn(message, 'toolResult')];
    const missing = open.filter((id) => !results.includes(id));
    if (missing.length > 0)
      return `Expected toolResult blocks at messages.${index}.content for the following Ids: ${missing.join(', ')}`;
    if (results.length > open.length || results.some((id) => !open.includes(id)))
      return `The number of toolResult blocks at messages.${index}.content exceeds the number of toolUse blocks of previous turn.`;
    if (uses.some((id) => !NAME.test(id))) return `Value at 'messages.${index}.content.toolUse.toolUseId' failed`;
    if (new Set(uses).size < uses.length) return `messages.${index}.content contains duplicate toolUse Ids`;
    open = uses;
    used ||= uses.length > 0;
  }
  if (open.length > 0) return `Expected toolResult blocks for the following Ids: ${open.join(', ')}`;
  return used && body['toolConfig'] === undefined
    ? 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
    : undefined;
}

/** Reasoning has the signature that the provider gave it, and begins the last turn of a Claude that thinks. */
function thinkingRule(body: JsonRecord): string | undefined {
  const { additionalModelRequestFields: fields, inferenceConfig: config } = body;
  const thinking = isRecord(fields) && isRecord(fields['thinking']) ? fields['thinking'] : {};
  const messages = messagesOf(body);
  const texts = messages.flatMap(blocksOf).flatMap(({ reasoningContent: reasoning }) => {
    const text = isRecord(reasoning) ? reasoning['reasoningText'] : undefined;
    return isRecord(text) ? [text] : [];
  });
  if (texts.some(({ signature }) => signature !== REASONING_SIGNATURE))
    return 'Invalid `signature` in `thinking` block';
  if (thinking['type'] !== 'enabled') return undefined;
  const limit = isRecord(config) ? config['maxTokens'] : undefined;
  if (Number(thinking['budget_tokens']) >= Number(limit ?? Infinity))
    return '`max_tokens` must be greater than `thinking.budget_tokens`.';
  const answered = messages.at(-1);
  const asked = messages.at(-2);
  const goesOn = answered && asked && idsIn(answered, 'toolResult').length > 0;
  return goesOn && blocksOf(asked)[0]?.['reasoningContent'] === undefined
    ? 'Expected `thinking` or `redacted_thinking`, but found `tool_use`.'
    : undefined;
}
