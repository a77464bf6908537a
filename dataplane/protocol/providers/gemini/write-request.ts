/** Writes a conversation as a request of Gemini's own API. */
import { capabilitiesOf, GEMINI_MODELS } from '../../capabilities.ts';
import type { ModelCapabilities } from '../../capabilities.ts';
import { prepare } from '../../conversation/prepare.ts';
import { askForFormat } from '../../conversation/formats.ts';
import type { Conversation, Located, Settings } from '../../conversation/request.ts';
import { keptValue, refuseCheaperTier, takeSettings } from '../../conversation/take.ts';
import type { DroppedFields } from '../../dropped-fields.ts';
import type { JsonRecord } from '../../fields.ts';
import { ToolNames } from '../../tool-ids.ts';
import { unsupported } from '../../unsupported.ts';
import type { WriteContext, WrittenRequest } from '../chat-provider.ts';
import { geminiVersion, LEVELS_FROM } from './model-version.ts';
import { modelPath } from './model-path.ts';
import { SETTINGS } from './table.ts';
import { NAME, writeContents, writeSystem } from './write-contents.ts';
import { writeThinking } from './write-thinking.ts';
import { writeTools } from './write-tools.ts';

const MAX_NAME_LENGTH = 64;
const MAX_STOP_SEQUENCES = 5;

export function writeRequest(conversation: Conversation, { plan, stream, dropped }: WriteContext): WrittenRequest {
  const { upstreamModel: model, maxOutputTokens } = plan;
  const taker = { provider: NAME, dropped };
  refuseCheaperTier(conversation.settings, taker);
  const settings = takeSettings(SETTINGS, conversation.settings, taker);
  const capabilities = capabilitiesOf(GEMINI_MODELS, model, plan.capabilities);
  const names = new ToolNames(MAX_NAME_LENGTH, { letterFirst: true });
  const version = geminiVersion(model);
  const { system, turns } = prepare(conversation.turns, {
    reasoning: { proofs: ['Gemini'], readable: false },
    system: 'AsUserText',
    assistantImages: true,
    alternates: true,
    blanks: true,
    prefill: capabilities.prefill,
  });
  const contents = writeContents(turns, { names, version });
  const { tools, toolConfig } = writeTools(conversation.tools, settings, {
    names,
    strictSchemas: capabilities.strictSchemas,
  });
  const isHeld = capabilities.strictSchemas && (tools === undefined || version >= LEVELS_FROM);
  const { format, instructions } = writeFormat(settings.responseFormat, isHeld, dropped);
  const body = {
    contents,
    systemInstruction: writeSystem(system, instructions),
    tools,
    toolConfig,
    generationConfig: {
      responseModalities: writeModalities(settings.modalities),
      imageConfig: writeImageConfig(settings.imageConfig, version),
      ...writeSampling(settings, capabilities, dropped),
      maxOutputTokens: maxOutputTokens ?? settings.maxOutputTokens?.value,
      ...format,
      thinkingConfig: writeThinking(settings, { model, capabilities, dropped }),
    },
  };
  return {
    path: modelPath(model, stream ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    body,
    toolNames: names.original,
  };
}

/** 1 is the default of temperature and top_p. */
function writeSampling(settings: Settings, capabilities: ModelCapabilities, dropped: DroppedFields): JsonRecord {
  const { temperature, topP, topK, stop } = settings;
  const takes = capabilities.temperature;
  const stops = keptValue(stop, capabilities.stopSequences, dropped);
  if (stop && stop.value.length > MAX_STOP_SEQUENCES) dropped.add(stop.path);
  return {
    temperature: keptValue(temperature, takes, dropped, 1),
    topP: keptValue(topP, takes, dropped, 1),
    topK: takes ? topK?.value : undefined,
    stopSequences: stops?.slice(0, MAX_STOP_SEQUENCES),
    ...writeChoices(settings),
  };
}

function writeChoices({ seed, frequencyPenalty, presencePenalty, candidates, logProbabilities }: Settings): JsonRecord {
  return {
    seed: seed?.value,
    frequencyPenalty: differing(frequencyPenalty, 0),
    presencePenalty: differing(presencePenalty, 0),
    candidateCount: differing(candidates, 1),
    ...(logProbabilities && { responseLogprobs: true, logprobs: logProbabilities.value }),
  };
}

/** Undefined for the default, which models without the setting take if it is left out. */
function differing(setting: Located<number> | undefined, byDefault: number): number | undefined {
  return setting?.value === byDefault ? undefined : setting?.value;
}

function writeModalities(modalities: Settings['modalities']): readonly string[] | undefined {
  if (modalities?.value.includes('audio')) throw unsupported(modalities.path, NAME, 'there is no audio');
  return modalities?.value.map((modality) => modality.toUpperCase());
}

/** Models before Gemini 3 make pictures of 1K, and take no resolution. */
function writeImageConfig(given: Settings['imageConfig'], version: number): JsonRecord | undefined {
  if (!given) return undefined;
  const { shape, resolution } = given.value;
  const takesResolution = version >= LEVELS_FROM;
  if (!takesResolution && resolution !== undefined && resolution !== '1K')
    throw unsupported(given.path, NAME, 'this model makes pictures of 1K');
  const config = { aspectRatio: shape, ...(takesResolution && { imageSize: resolution }) };
  return Object.values(config).some((value) => value !== undefined) ? config : undefined;
}

interface Format {
  /** Members of `generationConfig`. */
  readonly format?: JsonRecord;
  /** Paragraphs for the system instruction. */
  readonly instructions: readonly string[];
}

/** A model that cannot be held to a format is asked for it instead, and the format is named. */
function writeFormat(setting: Settings['responseFormat'], isHeld: boolean, dropped: DroppedFields): Format {
  if (!setting) return { instructions: [] };
  const { value: given, path } = setting;
  if (!isHeld) {
    dropped.add(path);
    return { instructions: [askForFormat(given)] };
  }
  switch (given.type) {
    case 'Json':
      return { format: { responseMimeType: 'application/json' }, instructions: [] };
    case 'Words':
      return {
        format: { responseMimeType: 'text/x.enum', responseJsonSchema: { type: 'string', enum: given.words } },
        instructions: [],
      };
    case 'Schema':
      return {
        format: { responseMimeType: 'application/json', responseJsonSchema: given.schema },
        instructions: [],
      };
  }
}
