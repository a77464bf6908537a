/** Writes a conversation as a request to POST /v1/responses, of which the provider stores nothing. */
import { capabilitiesOf, OPENAI_MODELS } from '../../capabilities.ts';
import type { ModelCapabilities } from '../../capabilities.ts';
import { prepare } from '../../conversation/prepare.ts';
import type { Conversation, Settings, TextPart } from '../../conversation/request.ts';
import { keptValue, takeSettings } from '../../conversation/take.ts';
import type { JsonRecord } from '../../fields.ts';
import { MIN_RESPONSE_TOKENS } from '../../openai/serving-api.ts';
import { hasPhases, isOpenAi, takesVerbosity } from '../../openai/model-features.ts';
import { ToolNames } from '../../tool-ids.ts';
import type { WriteContext, WrittenRequest } from '../chat-provider.ts';
import type { EffortContext } from '../openai-effort.ts';
import { NAME } from '../openai-parts.ts';
import { writeCacheKey, writeFormat, writeTier, writeUser } from '../openai-settings.ts';
import type { HeldFormat } from '../openai-settings.ts';
import { MAX_NAME_LENGTH } from '../openai-tools.ts';
import { SETTINGS } from './table.ts';
import { systemMessage, writeInput } from './write-input.ts';
import { writeReasoning } from './write-reasoning.ts';
import { writeTools } from './write-tools.ts';

const REASONING = 'reasoning.encrypted_content';
const LOG_PROBABILITIES = 'message.output_text.logprobs';

export function writeRequest(conversation: Conversation, { plan, stream, dropped }: WriteContext): WrittenRequest {
  const { upstreamModel: model, maxOutputTokens } = plan;
  const settings = takeSettings(SETTINGS, conversation.settings, { provider: NAME, dropped });
  const capabilities = capabilitiesOf(OPENAI_MODELS, model, plan.capabilities);
  const context: EffortContext = { model, capabilities, dropped };
  const names = new ToolNames(MAX_NAME_LENGTH);
  const { members: tools, paragraphs } = writeTools(conversation.tools, settings, { names, dropped, capabilities });
  const format = writeFormat(settings.responseFormat, capabilities.strictSchemas, dropped);
  const limit = maxOutputTokens ?? settings.maxOutputTokens?.value;
  const body = {
    model,
    ...writeTurns(conversation, { paragraphs, format, names, plan, capabilities }),
    max_output_tokens: limit === undefined ? undefined : Math.max(limit, MIN_RESPONSE_TOKENS),
    stream: stream ? true : undefined,
    store: false,
    ...writeSampling(settings, context),
    ...tools,
    reasoning: writeReasoning(settings, context),
    text: writeText(settings, format.held, context),
    ...writeAccounts(settings, plan),
  };
  return { path: '/responses', body, toolNames: names.original, heldValue: format.heldValue };
}

interface TurnsContext {
  readonly paragraphs: readonly string[];
  readonly format: HeldFormat;
  readonly names: ToolNames;
  readonly capabilities: ModelCapabilities;
  readonly plan: Pick<WriteContext['plan'], 'upstreamModel' | 'seal'>;
}

function writeTurns(
  { turns: given, tools }: Conversation,
  { paragraphs, format, names, capabilities, plan: { upstreamModel, seal } }: TurnsContext,
): JsonRecord {
  const { system, turns } = prepare(given, {
    reasoning: { proofs: ['OpenAI'], readable: false },
    system: capabilities.systemTurns ? 'InPlace' : 'AsUserText',
    assistantImages: false,
    alternates: false,
    blanks: true,
    prefill: capabilities.prefill,
  });
  const textTools = new Set(tools.filter(({ takesText }) => takesText).map(({ name }) => name));
  const { instructions, first } = writePrompt(system, paragraphs, format);
  return {
    instructions,
    input: [...first, ...writeInput(turns, { names, textTools, phases: hasPhases(upstreamModel), seal })],
  };
}

/** The word JSON has to be in the input of a model that is held to it, for which instructions do not count. */
function writePrompt(
  system: readonly TextPart[],
  paragraphs: readonly string[],
  { held, instructions }: HeldFormat,
): { readonly instructions: string | undefined; readonly first: readonly JsonRecord[] } {
  const isUnsaid = held === 'Json' && instructions.length === 0;
  const text = [
    ...system.map((part) => part.text),
    ...paragraphs,
    ...instructions,
    ...(isUnsaid ? ['Answer with JSON.'] : []),
  ]
    .filter((each) => each !== '')
    .join('\n\n');
  if (held === 'Json') return { instructions: undefined, first: [systemMessage(text)] };
  return { instructions: text === '' ? undefined : text, first: [] };
}

/** 1 is the default of temperature and top_p. */
function writeSampling(settings: Settings, { capabilities, dropped }: EffortContext): JsonRecord {
  const { temperature: takes, reasoning } = capabilities;
  const alternatives = keptValue(settings.logProbabilities, takes, dropped);
  const include = [...(reasoning ? [REASONING] : []), ...(alternatives === undefined ? [] : [LOG_PROBABILITIES])];
  return {
    temperature: keptValue(settings.temperature, takes, dropped, 1),
    top_p: keptValue(settings.topP, takes, dropped, 1),
    top_logprobs: alternatives,
    include: include.length > 0 ? include : undefined,
  };
}

/** The user, the tier and the cache. */
function writeAccounts(settings: Settings, plan: WriteContext['plan']): JsonRecord {
  const isOwn = isOpenAi(plan.upstreamModel);
  return {
    [isOwn ? 'safety_identifier' : 'user']: writeUser(settings.user?.value),
    service_tier: writeTier(settings.serviceTier?.value),
    prompt_cache_key: isOwn ? writeCacheKey(settings, plan) : undefined,
  };
}

function writeText(
  { verbosity: given }: Settings,
  held: HeldFormat['held'],
  { model, dropped }: EffortContext,
): JsonRecord | undefined {
  const verbosity = keptValue(given, takesVerbosity(model), dropped, 'medium');
  const format = formatOf(held);
  return verbosity === undefined && format === undefined ? undefined : { format, verbosity };
}

function formatOf(held: HeldFormat['held']): JsonRecord | undefined {
  if (held === undefined) return undefined;
  return held === 'Json' ? { type: 'json_object' } : { type: 'json_schema', ...held };
}
