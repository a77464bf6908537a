/** Writes a conversation as a chat completion request. */
import { capabilitiesOf, OPENAI_MODELS } from '../../capabilities.ts';
import { prepare } from '../../conversation/prepare.ts';
import type { Conversation, ImageConfig, Settings } from '../../conversation/request.ts';
import { keptValue, takeSettings } from '../../conversation/take.ts';
import type { JsonRecord } from '../../fields.ts';
import {
  isGemini,
  isOpenAi,
  makerByName,
  needsReasoningOfCalls,
  switchesThinking,
  takesVerbosity,
  wantsReasoningBack,
} from '../../openai/model-features.ts';
import type { ChannelSeal } from '../../sealed-values.ts';
import { ToolNames } from '../../tool-ids.ts';
import { malformed, unsupported } from '../../unsupported.ts';
import type { WriteContext, WrittenRequest } from '../chat-provider.ts';
import { writeEffort } from '../openai-effort.ts';
import type { EffortContext } from '../openai-effort.ts';
import { NAME } from '../openai-parts.ts';
import { writeCacheKey, writeFormat, writeTier, writeUser } from '../openai-settings.ts';
import type { HeldFormat } from '../openai-settings.ts';
import { MAX_NAME_LENGTH } from '../openai-tools.ts';
import { SETTINGS } from './table.ts';
import { writeMessages, writeSystem } from './write-messages.ts';
import { writeTools } from './write-tools.ts';

/** The API's limit. */
const MAX_STOPS = 4;
const NO_REASONING = 'The reasoning of this turn is not known.';

export function writeRequest(conversation: Conversation, { plan, stream, dropped }: WriteContext): WrittenRequest {
  const { upstreamModel: model, maxOutputTokens, outputLimitField, seal } = plan;
  const settings = takeSettings(SETTINGS, conversation.settings, { provider: NAME, dropped });
  const capabilities = capabilitiesOf(OPENAI_MODELS, model, plan.capabilities);
  const context: EffortContext = { model, capabilities, dropped };
  const names = new ToolNames(MAX_NAME_LENGTH);
  const { members: tools, paragraphs } = writeTools(conversation.tools, settings, { names, dropped, capabilities });
  const format = writeFormat(settings.responseFormat, capabilities.strictSchemas, dropped);
  const reasoning = writeReasoning(settings, context);
  const body = {
    model,
    messages: writeTurns(conversation, [...paragraphs, ...format.instructions], { ...context, settings, names, seal }),
    [outputLimitField]: maxOutputTokens ?? settings.maxOutputTokens?.value,
    stream: stream ? true : undefined,
    stream_options: stream ? { include_usage: true } : undefined,
    ...writeSampling(settings, context),
    ...tools,
    ...reasoning,
    response_format: formatOf(format.held),
    verbosity: keptValue(settings.verbosity, takesVerbosity(model), dropped, 'medium'),
    user: writeUser(settings.user?.value),
    modalities: writeModalities(settings.modalities),
    image_config: writeImageConfig(settings.imageConfig?.value),
    service_tier: writeTier(settings.serviceTier?.value),
    prompt_cache_key: isOpenAi(model) ? writeCacheKey(settings, plan) : undefined,
  };
  const keepsReasoning = wantsReasoningBack(model);
  const { heldValue } = format;
  return { path: '/chat/completions', body, toolNames: names.original, keepsReasoning, heldValue };
}

interface TurnsContext extends EffortContext {
  readonly settings: Settings;
  readonly names: ToolNames;
  readonly seal: ChannelSeal | undefined;
}

function writeTurns(
  { turns: given }: Conversation,
  paragraphs: readonly string[],
  { model, capabilities, settings, names, seal }: TurnsContext,
): readonly JsonRecord[] {
  const maker = makerByName(model);
  const { system, turns } = prepare(given, {
    reasoning: {
      proofs: [...(isGemini(model) ? ['Gemini' as const] : []), ...(maker ? [maker] : [])],
      readable: wantsReasoningBack(model),
    },
    system: capabilities.systemTurns ? 'InPlace' : 'AsUserText',
    assistantImages: false,
    alternates: false,
    blanks: true,
    prefill: capabilities.prefill,
  });
  const first = writeSystem(system, paragraphs);
  const thinks = settings.reasoning?.value.mode !== 'Disabled';
  const placeholder = thinks && needsReasoningOfCalls(model) ? NO_REASONING : undefined;
  const messages = writeMessages(turns, {
    names,
    placeholder,
    signed: isGemini(model),
    keepsDetails: maker !== undefined,
    seal,
  });
  return first ? [first, ...messages] : messages;
}

/** 1 is the default of temperature and top_p. */
function writeSampling(settings: Settings, { capabilities, dropped }: EffortContext): JsonRecord {
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
function writeReasoning(settings: Settings, context: EffortContext): JsonRecord {
  const { reasoning } = settings;
  if (reasoning?.value.mode === 'Disabled' && switchesThinking(context.model))
    return { thinking: { type: 'disabled' } };
  return { reasoning_effort: writeEffort(settings, context) };
}

/** As chat completions have it. */
function formatOf(held: HeldFormat['held']): JsonRecord | undefined {
  if (held === undefined) return undefined;
  return held === 'Json' ? { type: 'json_object' } : { type: 'json_schema', json_schema: held };
}

function writeModalities(modalities: Settings['modalities']): readonly string[] | undefined {
  if (modalities?.value.includes('audio')) throw unsupported(modalities.path, NAME, 'audio has settings of its own');
  return modalities?.value;
}

/** As OpenRouter takes it. */
function writeImageConfig(config: ImageConfig | undefined): JsonRecord | undefined {
  return config && { aspect_ratio: config.shape, image_size: config.resolution };
}
