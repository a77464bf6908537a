/** Reads a request of OpenAI's Responses into a conversation. */
import type { ResponseFormat, Settings } from '../../conversation/request.ts';
import { kindOf, readFields } from '../../field-table.ts';
import type { UnreadField } from '../../field-table.ts';
import { isGiven, isRecord, itemsOf, textOf } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { writeRepeatedFields } from '../../openai/repeated-fields.ts';
import { malformed } from '../../unsupported.ts';
import type { ReadContext, ReadRequest } from '../client.ts';
import { located, numberOf, openAiTier, reasoningOfEffort } from '../settings.ts';
import { schemaFormat } from '../schema-format.ts';
import { readChoice } from './read-choice.ts';
import { readTurns } from './read-items.ts';
import { RequestTools } from './read-tools.ts';
import { FORMAT, FORMATS, REASONING_SETTINGS, REQUEST, TEXT_SETTINGS } from './table.ts';
import type { ResponsesRequest } from './table.ts';

/** Asks for log probabilities. */
const PROBABILITIES = 'message.output_text.logprobs';

/** Throws RequestFault for a field that is missing or malformed. */
export function readRequest(given: JsonRecord, { providerTools, seal, storage }: ReadContext): ReadRequest {
  const unread: UnreadField[] = [];
  const request = readFields(REQUEST, given, { param: '', unread });
  const tools = new RequestTools({ providerTools, unread });
  tools.declare(request.tools, 'tools');
  const turns = readTurns(request, { tools, seal, unread });
  const settings = { ...readSettings(request, unread), ...readChoices(request, tools, unread) };
  const { tools: responseTools } = tools.names;
  return {
    conversation: { turns, tools: tools.declared, settings, automaticCaching: true, unread },
    notes: {
      ...(responseTools && { responseTools }),
      repeated: writeRepeatedFields(given, storage),
      ...(storage?.isKept === true && { keptInput: writeInput(request.input) }),
    },
  };
}

/** The input as items: a text is a message of the user. */
function writeInput(input: unknown): string {
  return writeJson(typeof input === 'string' ? [{ role: 'user', content: input }] : itemsOf(input));
}

function readSettings(request: ResponsesRequest, unread: UnreadField[]): Settings {
  return {
    maxOutputTokens: located(numberOf(request.max_output_tokens), 'max_output_tokens'),
    temperature: located(numberOf(request.temperature), 'temperature'),
    topP: located(numberOf(request.top_p), 'top_p'),
    frequencyPenalty: located(numberOf(request.frequency_penalty), 'frequency_penalty'),
    presencePenalty: located(numberOf(request.presence_penalty), 'presence_penalty'),
    logProbabilities: readLogProbabilities(request),
    ...readReasoningSettings(request.reasoning, unread),
    ...readText(request.text, unread),
    user: located(textOf(request.safety_identifier), 'safety_identifier') ?? located(textOf(request.user), 'user'),
    promptCacheKey: located(textOf(request.prompt_cache_key), 'prompt_cache_key'),
    serviceTier: located(openAiTier(request.service_tier), 'service_tier'),
  };
}

function readLogProbabilities({ top_logprobs: top, include }: ResponsesRequest): Settings['logProbabilities'] {
  const alternatives = numberOf(top) ?? 0;
  if (alternatives > 0) return { value: alternatives, path: 'top_logprobs' };
  return itemsOf(include).includes(PROBABILITIES) ? { value: 0, path: 'include' } : undefined;
}

function readReasoningSettings(given: unknown, unread: UnreadField[]): Pick<Settings, 'effort' | 'reasoning'> {
  if (!isRecord(given)) return {};
  const { effort: word } = readFields(REASONING_SETTINGS, given, { param: 'reasoning', unread });
  const effort = located(textOf(word), 'reasoning.effort');
  return { effort, reasoning: reasoningOfEffort(effort) };
}

function readText(text: unknown, unread: UnreadField[]): Pick<Settings, 'verbosity' | 'responseFormat'> {
  if (!isGiven(text)) return {};
  if (!isRecord(text)) throw malformed('text', 'an object');
  const { format, verbosity } = readFields(TEXT_SETTINGS, text, { param: 'text', unread });
  return {
    verbosity: located(textOf(verbosity), 'text.verbosity'),
    responseFormat: located(readFormat(format, unread), FORMAT_PATH),
  };
}

const FORMAT_PATH = 'text.format';

/** Undefined: text. */
function readFormat(format: unknown, unread: UnreadField[]): ResponseFormat | undefined {
  if (!isGiven(format)) return undefined;
  if (!isRecord(format)) throw malformed(FORMAT_PATH, 'an object');
  const kind = kindOf(FORMATS, format['type'], { param: `${FORMAT_PATH}.type`, unread });
  if (kind === 'json_object') return { type: 'Json' };
  if (kind !== 'json_schema') return undefined;
  return schemaFormat(readFields(FORMAT, format, { param: FORMAT_PATH, unread }), FORMAT_PATH);
}

/** Without tools there is nothing to choose, also where all of them were left out. */
function readChoices(
  { tool_choice: choice, parallel_tool_calls: parallel }: ResponsesRequest,
  tools: RequestTools,
  unread: UnreadField[],
): Pick<Settings, 'toolChoice' | 'parallelToolCalls'> {
  const toolChoice = located(readChoice(choice, tools, unread), 'tool_choice');
  if (tools.declared.length === 0) return {};
  return {
    toolChoice,
    parallelToolCalls: located(typeof parallel === 'boolean' ? parallel : undefined, 'parallel_tool_calls'),
  };
}
