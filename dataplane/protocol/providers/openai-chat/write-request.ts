/** Writes a conversation as a chat completion request. */
import { createHash } from 'node:crypto';
import { capabilitiesOf, OPENAI_MODELS } from '../../capabilities.ts';
import type { ModelCapabilities } from '../../capabilities.ts';
import { effortOfBudget } from '../../conversation/efforts.ts';
import { askForFormat, isObjectFormat } from '../../conversation/formats.ts';
import { prepare } from '../../conversation/prepare.ts';
import type { Conversation, ResponseFormat, Settings } from '../../conversation/request.ts';
import { keptValue, takeSettings } from '../../conversation/take.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { openAiStrictSchema } from '../../json-schemas.ts';
import {
  highestEffort,
  isGemini,
  isOpenAi,
  needsReasoningOfCalls,
  switchesThinking,
  takesVerbosity,
  wantsReasoningBack,
} from '../../openai/model-features.ts';
import { ToolNames } from '../../tool-ids.ts';
import { malformed, unsupported } from '../../unsupported.ts';
import type { WriteContext, WrittenRequest } from '../chat-provider.ts';
import { EFFORTS, SETTINGS } from './table.ts';
import { writeMessages, writeSystem } from './write-messages.ts';
import { NAME } from './write-parts.ts';
import { writeTools } from './write-tools.ts';

/** The API's limits. */
const MAX_USER_LENGTH = 64;
const MAX_STOPS = 4;
const MAX_NAME_LENGTH = 64;
/** In their order. */
const ALL_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** The name of a schema that has none. */
const SCHEMA_NAME = 'answer';
const NO_REASONING = 'The reasoning of this turn is not known.';

interface SettingsContext {
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

export function writeRequest(conversation: Conversation, { plan, stream, dropped }: WriteContext): WrittenRequest {
  const { upstreamModel: model, maxOutputTokens, outputLimitField, seal } = plan;
  const settings = takeSettings(SETTINGS, conversation.settings, { provider: NAME, dropped });
  const capabilities = capabilitiesOf(OPENAI_MODELS, model, plan.capabilities);
  const context: SettingsContext = { model, capabilities, dropped };
  const names = new ToolNames(MAX_NAME_LENGTH);
  const { members: tools, paragraphs } = writeTools(conversation.tools, settings, { names, dropped, capabilities });
  const { format, instructions } = writeFormat(settings.responseFormat?.value, capabilities.strictSchemas);
  const reasoning = writeReasoning(settings, context);
  const body = {
    model,
    messages: writeTurns(conversation, [...paragraphs, ...instructions], { ...context, settings, names }),
    [outputLimitField]: maxOutputTokens ?? settings.maxOutputTokens?.value,
    stream: stream ? true : undefined,
    stream_options: stream ? { include_usage: true } : undefined,
    ...writeSampling(settings, context),
    ...tools,
    ...reasoning,
    response_format: format,
    verbosity: keptValue(settings.verbosity, takesVerbosity(model), dropped, 'medium'),
    user: writeUser(settings.user?.value),
    modalities: writeModalities(settings.modalities),
    service_tier: writeTier(settings.serviceTier?.value),
    prompt_cache_key: isOpenAi(model) ? writeCacheKey(settings, seal) : undefined,
  };
  const keepsReasoning = wantsReasoningBack(model);
  return { path: '/chat/completions', body, toolNames: names.original, keepsReasoning };
}

interface TurnsContext extends SettingsContext {
  readonly settings: Settings;
  readonly names: ToolNames;
}

function writeTurns(
  { turns: given }: Conversation,
  paragraphs: readonly string[],
  { model, capabilities, settings, names }: TurnsContext,
): readonly JsonRecord[] {
  const { system, turns } = prepare(given, {
    reasoning: { proofs: isGemini(model) ? ['Gemini'] : [], readable: wantsReasoningBack(model) },
    system: capabilities.systemTurns ? 'InPlace' : 'AsUserText',
    alternates: false,
    blanks: true,
    prefill: capabilities.prefill,
  });
  const first = writeSystem(system, paragraphs);
  const thinks = settings.reasoning?.value.mode !== 'Disabled';
  const placeholder = thinks && needsReasoningOfCalls(model) ? NO_REASONING : undefined;
  const messages = writeMessages(turns, { names, placeholder, signed: isGemini(model) });
  return first ? [first, ...messages] : messages;
}

/** 1 is the default of temperature and top_p. */
function writeSampling(settings: Settings, { capabilities, dropped }: SettingsContext): JsonRecord {
  const { temperature: takes, stopSequences } = capabilities;
  const { stop, logProbabilities } = settings;
  if (stop && stop.value.length > MAX_STOPS)
    throw malformed(stop.path, `a list of at most ${MAX_STOPS} for this model`);
  const alternatives = keptValue(logProbabilities, takes, dropped);
  return {
    temperature: keptValue(settings.temperature, takes, dropped, 1),
    top_p: keptValue(settings.topP, takes, dropped, 1),
    frequency_penalty: keptValue(settings.frequencyPenalty, takes, dropped, 0),
    presence_penalty: keptValue(settings.presencePenalty, takes, dropped, 0),
    seed: settings.seed?.value,
    n: settings.candidates?.value,
    stop: keptValue(stop, stopSequences, dropped),
    ...(alternatives !== undefined && { logprobs: true, top_logprobs: alternatives }),
  };
}

/** That a model shall not reason is no loss for one that cannot, nor for one that decides itself. */
function writeReasoning(settings: Settings, context: SettingsContext): JsonRecord {
  const { reasoning } = settings;
  if (reasoning?.value.mode === 'Disabled' && switchesThinking(context.model))
    return { thinking: { type: 'disabled' } };
  return { reasoning_effort: writeEffort(settings, context) };
}

function writeEffort(
  { effort, reasoning }: Settings,
  { model, capabilities, dropped }: SettingsContext,
): string | undefined {
  const known = effort && knownEffort(model, effort.value);
  if (effort && known === undefined && capabilities.reasoning) dropped.add(effort.path);
  const taken = keptValue(effort, capabilities.reasoning, dropped) === undefined ? undefined : known;
  if (reasoning?.value.mode !== 'Enabled') return taken;
  return taken ?? effortOf(keptValue(reasoning, capabilities.reasoning, dropped)?.budgetTokens);
}

/** The closest effort that the model knows; undefined: it is a word for other models. */
function knownEffort(model: string, effort: string): string | undefined {
  if (!takesVerbosity(model)) return EFFORTS.values.get(effort);
  const asked = ALL_EFFORTS.indexOf(effort);
  return ALL_EFFORTS[Math.min(asked, ALL_EFFORTS.indexOf(highestEffort(model)))];
}

function effortOf(budget: number | undefined): string | undefined {
  return budget === undefined ? undefined : effortOfBudget(budget);
}

interface Format {
  readonly format?: JsonRecord;
  /** Paragraphs for the system message. */
  readonly instructions: readonly string[];
}

/** A model that cannot be held to a format is asked for it instead. */
function writeFormat(given: ResponseFormat | undefined, strictSchemas: boolean): Format {
  if (!given) return { instructions: [] };
  const json = { type: 'json_object' };
  if (given.type === 'Json') return { format: json, instructions: [] };
  if (given.type === 'Words' || !isObjectFormat(given)) return { instructions: [askForFormat(given)] };
  if (!strictSchemas) return { format: json, instructions: [askForFormat(given)] };
  const { schema, name = SCHEMA_NAME, description } = given;
  const strict = given.strict === false ? undefined : openAiStrictSchema(schema);
  const definition = { name, schema: strict ?? schema, strict: strict !== undefined, description };
  return { format: { type: 'json_schema', json_schema: definition }, instructions: [] };
}

/** OpenAI refuses long ids; a digest still tells users apart. */
function writeUser(user: string | undefined): string | undefined {
  return user === undefined || user.length <= MAX_USER_LENGTH ? user : createHash('sha256').update(user).digest('hex');
}

function writeModalities(modalities: Settings['modalities']): readonly string[] | undefined {
  if (modalities?.value.includes('audio')) throw unsupported(modalities.path, NAME, 'audio has settings of its own');
  return modalities?.value;
}

function writeTier(tier: string | undefined): string | undefined {
  return tier === 'standard' ? 'default' : tier;
}

/** All accounts share the provider's cache, and names are guessed easily: the key becomes one of the account. */
function writeCacheKey({ promptCacheKey }: Settings, seal: WriteContext['plan']['seal']): string | undefined {
  if (promptCacheKey === undefined || promptCacheKey.value === '') return undefined;
  return seal ? seal.ofAccount(promptCacheKey.value) : promptCacheKey.value;
}
