/**
 * Writes a conversation as a request of Converse. Settings that only some models have go to
 * `additionalModelRequestFields`.
 */
import { capabilitiesOf, CONVERSE_MODELS } from '../../capabilities.ts';
import type { ModelCapabilities } from '../../capabilities.ts';
import { prepare } from '../../conversation/prepare.ts';
import type { Conversation, ResponseFormat, Settings } from '../../conversation/request.ts';
import { keptValue, takeSettings } from '../../conversation/take.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import { isGiven } from '../../fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { askForJson } from '../../json-schemas.ts';
import { writeJson } from '../../json-value.ts';
import { ToolNames } from '../../tool-ids.ts';
import type { WriteContext, WrittenRequest } from '../chat-provider.ts';
import { familyOf } from './model-family.ts';
import type { ModelFamily } from './model-family.ts';
import { SETTINGS } from './table.ts';
import { CachePoints, NAME, writeMessages, writeSystem } from './write-messages.ts';
import { writeThinking } from './write-thinking.ts';
import { writeTools } from './write-tools.ts';

const MAX_NAME_LENGTH = 64;
/** Of the protocol; other dialects go to 2. */
const MAX_TEMPERATURE = 1;

export function writeRequest(conversation: Conversation, { plan, stream, dropped }: WriteContext): WrittenRequest {
  const { upstreamModel: model, maxOutputTokens } = plan;
  const settings = takeSettings(SETTINGS, conversation.settings, { provider: NAME, dropped });
  const family = familyOf(model);
  const capabilities = capabilitiesOf(CONVERSE_MODELS, model, plan.capabilities);
  const caches = new CachePoints(capabilities.promptCaching, family);
  const names = new ToolNames(MAX_NAME_LENGTH);
  const { system, turns } = prepare(conversation.turns, {
    reasoning: { proofs: ['Anthropic'], readable: false },
    system: 'AsUserText',
    alternates: true,
    prefill: capabilities.prefill,
  });
  const { messages, calledTools } = writeMessages(turns, { names, caches, cache: settings.cache?.value });
  const { format, instructions } = writeFormat(settings.responseFormat?.value, capabilities);
  const maxTokens = maxOutputTokens ?? settings.maxOutputTokens?.value;
  const { effort, fields } = writeThinking(settings, family, { model, maxTokens, turns, capabilities, dropped });
  const { strictSchemas } = capabilities;
  const body = {
    messages,
    system: writeSystem(system, instructions, caches),
    inferenceConfig: { maxTokens, ...writeSampling(settings, capabilities, dropped) },
    toolConfig: writeTools(conversation.tools, settings, { names, caches, dropped, strictSchemas, calledTools }),
    outputConfig: orAbsent({ textFormat: format, effort }),
    additionalModelRequestFields: orAbsent({ ...fields, ...topKOf(settings, family, capabilities) }),
  };
  return { path: `${modelPath(model)}/converse${stream ? '-stream' : ''}`, body, toolNames: names.original };
}

/** An id may have colons, and an ARN slashes: they are encoded as one segment. */
export function modelPath(model: string): string {
  return `/model/${encodeURIComponent(model)}`;
}

/** Undefined if no member has a value. */
function orAbsent(members: JsonRecord): JsonRecord | undefined {
  return Object.values(members).some(isGiven) ? members : undefined;
}

/** 1 is the default of temperature and top_p. */
function writeSampling(
  { temperature, topP, stop }: Settings,
  { temperature: takes, temperatureWithTopP, stopSequences }: ModelCapabilities,
  dropped: DroppedFields,
): JsonRecord {
  const warmth = keptValue(temperature, takes, dropped, 1);
  return {
    temperature: warmth === undefined ? undefined : Math.min(warmth, MAX_TEMPERATURE),
    topP: keptValue(topP, takes && (temperatureWithTopP || warmth === undefined), dropped, 1),
    stopSequences: keptValue(stop, stopSequences, dropped),
  };
}

/** top_k only narrows the sampling, so nothing is lost for a model without it. */
function topKOf({ topK }: Settings, family: ModelFamily, { temperature }: ModelCapabilities): JsonRecord {
  if (!topK || !temperature) return {};
  if (family === 'Claude') return { top_k: topK.value };
  return family === 'Nova' ? { inferenceConfig: { topK: topK.value } } : {};
}

interface Format {
  readonly format?: JsonRecord;
  /** Paragraphs for the system prompt. */
  readonly instructions: readonly string[];
}

/** A model without schemas is asked for JSON instead; Converse holds none to JSON of any shape. */
function writeFormat(given: ResponseFormat | undefined, { strictSchemas }: ModelCapabilities): Format {
  if (!given) return { instructions: [] };
  const schema = given.type === 'Schema' ? given.schema : undefined;
  if (!schema || !strictSchemas) return { instructions: [askForJson(schema)] };
  const jsonSchema = { schema: writeJson(schema), name: 'answer' };
  return { format: { type: 'json_schema', structure: { jsonSchema } }, instructions: [] };
}
