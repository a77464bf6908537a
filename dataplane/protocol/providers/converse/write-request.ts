/**
 * Writes a conversation as a request of Converse. Settings that only some models have go to
 * `additionalModelRequestFields`.
 */
import { capabilitiesOf, CONVERSE_MODELS } from '../../capabilities.ts';
import type { ModelCapabilities } from '../../capabilities.ts';
import { prepare } from '../../conversation/prepare.ts';
import { markCaches } from '../../conversation/repairs/cache-marks.ts';
import { endForModel } from '../../conversation/repairs/ends.ts';
import type { Conversation, Settings } from '../../conversation/request.ts';
import { keptValue, refuseCheaperTier, takeSettings } from '../../conversation/take.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import { isGiven } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import { ToolNames } from '../../tool-ids.ts';
import type { WriteContext, WrittenRequest } from '../chat-provider.ts';
import { schemaFormat } from '../schema-format.ts';
import { claudeSampling, claudeStops } from '../claude-sampling.ts';
import { familyOf } from './model-family.ts';
import type { ModelFamily } from './model-family.ts';
import { SETTINGS } from './table.ts';
import { CachePoints, NAME, writeMessages, writeSystem } from './write-messages.ts';
import { writeThinking } from './write-thinking.ts';
import { writeTools } from './write-tools.ts';

const MAX_NAME_LENGTH = 64;
/** Of one request. */
const MAX_CACHE_POINTS = 4;

interface SamplingContext {
  readonly thinks: boolean;
  readonly capabilities: ModelCapabilities;
  readonly dropped: DroppedFields;
}

export function writeRequest(conversation: Conversation, { plan, stream, dropped }: WriteContext): WrittenRequest {
  const { upstreamModel: model, maxOutputTokens } = plan;
  const taker = { provider: NAME, dropped };
  refuseCheaperTier(conversation.settings, taker);
  const settings = takeSettings(SETTINGS, conversation.settings, taker);
  const family = familyOf(model);
  const capabilities = capabilitiesOf(CONVERSE_MODELS, model, plan.capabilities);
  const caches = new CachePoints(capabilities.promptCaching, family);
  const names = new ToolNames(MAX_NAME_LENGTH);
  const { system, turns: prepared } = prepare(conversation.turns, {
    reasoning: { proofs: ['Anthropic'], readable: false },
    system: 'AsUserText',
    assistantImages: false,
    alternates: true,
    blanks: true,
    prefill: capabilities.prefill,
  });
  const { schema, heldValue, instructions } = schemaFormat(settings.responseFormat, capabilities, dropped);
  const maxTokens = maxOutputTokens ?? settings.maxOutputTokens?.value;
  const { effort, thinks, fields } = writeThinking(settings, family, {
    model,
    maxTokens,
    turns: prepared,
    capabilities,
    dropped,
  });
  // a Claude that thinks cannot go on with a turn of the assistant
  const turns = endForModel(prepared, capabilities.prefill && !thinks);
  const parts = { tools: conversation.tools, system: [...system, ...instructions], turns };
  const marked = capabilities.promptCaching ? markCaches(parts, conversation, MAX_CACHE_POINTS) : parts;
  if ('removed' in marked && marked.removed) dropped.add('cache_control');
  const { messages, calledTools } = writeMessages(marked.turns, { names, caches, cache: settings.cache?.value });
  const { strictSchemas } = capabilities;
  const body = {
    messages,
    system: writeSystem(marked.system, caches),
    inferenceConfig: { maxTokens, ...writeSampling(settings, family, { thinks, capabilities, dropped }) },
    toolConfig: writeTools(marked.tools, settings, { names, caches, dropped, strictSchemas, calledTools }),
    outputConfig: orAbsent({ textFormat: writeFormat(schema), effort }),
    additionalModelRequestFields: orAbsent({
      ...fields,
      ...topKOf(settings, family, { thinks, capabilities, dropped }),
    }),
  };
  const path = `${modelPath(model)}/converse${stream ? '-stream' : ''}`;
  return { path, body, toolNames: names.original, heldValue };
}

/** An id may have colons, and an ARN slashes: they are encoded as one segment. */
export function modelPath(model: string): string {
  return `/model/${encodeURIComponent(model)}`;
}

/** Undefined if no member has a value. */
function orAbsent(members: JsonRecord): JsonRecord | undefined {
  return Object.values(members).some(isGiven) ? members : undefined;
}

function writeSampling(settings: Settings, family: ModelFamily, context: SamplingContext): JsonRecord {
  const { capabilities, dropped } = context;
  const stop = family === 'Claude' ? claudeStops(settings.stop, dropped) : settings.stop;
  return {
    ...claudeSampling(settings, context),
    stopSequences: keptValue(stop, capabilities.stopSequences, dropped),
  };
}

/** top_k only narrows the sampling, so nothing is lost for a model without it. */
function topKOf(
  { topK }: Settings,
  family: ModelFamily,
  { thinks, capabilities, dropped }: SamplingContext,
): JsonRecord {
  if (!topK || !capabilities.temperature) return {};
  if (thinks) dropped.add(topK.path);
  if (thinks) return {};
  if (family === 'Claude') return { top_k: topK.value };
  return family === 'Nova' ? { inferenceConfig: { topK: topK.value } } : {};
}

function writeFormat(schema: JsonRecord | undefined): JsonRecord | undefined {
  return schema && { type: 'json_schema', structure: { jsonSchema: { schema: writeJson(schema), name: 'answer' } } };
}
