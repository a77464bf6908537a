/**
 * Converts a request in the Responses dialect to a chat completion request.
 */
import { createHash } from 'node:crypto';
import type { ConversionNotes } from '../converter.ts';
import { readObject } from '../field-table.ts';
import type { ConvertedFields } from '../field-table.ts';
import { textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { reparseLosslessly } from '../json-value.ts';
import { wantsReasoningBack } from '../openai/model-features.ts';
import { repeatedFields } from '../clients/responses/repeated-fields.ts';
import { convertInput } from './items.ts';
import { convertEffort, convertText } from './settings.ts';
import { REQUEST } from './table.ts';
import { location } from './target.ts';
import type { Target } from './target.ts';
import { convertChoice } from './tool-choice.ts';
import { RequestTools } from './tools.ts';
import type { SentTool } from './tools.ts';

type Request = ConvertedFields<NonNullable<typeof REQUEST.converted>>;

/** The API's limit. */
const MAX_USER_LENGTH = 64;

/** A chat completion request as a value, and what its conversion leaves behind. */
export interface ChatRequest {
  readonly completion: JsonRecord;
  readonly notes: ConversionNotes;
  /** By index: the path of the input item or tool that became the message or tool. */
  readonly messageParams: readonly string[];
  readonly toolParams: readonly string[];
}

/** Throws RequestFault for what cannot be converted. The limit is in max_tokens. */
export function convertToChat(body: Uint8Array, parsed: JsonRecord, target: Target): ChatRequest {
  const request = readObject(REQUEST, reparseLosslessly(body, parsed), location(target, ''));
  const tools = new RequestTools(target);
  tools.declare(request.tools, 'tools');
  const conversation = convertInput(request, tools, target);
  const { format, verbosity, instructions } = convertText(request.text, target);
  const messages = conversation.end([...tools.paragraphs, ...instructions]);
  const { choice, sent } = chooseTools(request.tool_choice, tools, target);
  const { plan } = target;
  const toolNames = tools.names.tools;
  return {
    completion: {
      model: plan.upstreamModel,
      messages: messages.map(({ message }) => message),
      max_tokens: plan.maxOutputTokens ?? parsed['max_output_tokens'],
      stream: parsed['stream'] === true ? true : undefined,
      ...convertSampling(request, target),
      tools: sent.length > 0 ? sent.map(({ definition }) => ({ type: 'function', function: definition })) : undefined,
      tool_choice: choice,
      parallel_tool_calls: sent.length > 0 ? convertParallel(request, target) : undefined,
      reasoning_effort: convertEffort(request.reasoning, target),
      response_format: format,
      verbosity,
      user: convertUser(request),
      service_tier: request.service_tier === 'auto' ? undefined : (request.service_tier ?? undefined),
    },
    notes: {
      ...(toolNames ? { responseTools: toolNames } : {}),
      repeated: repeatedFields(parsed),
      ...(wantsReasoningBack(plan.upstreamModel) ? { keepsReasoning: true } : {}),
    },
    messageParams: messages.map(({ param }) => param),
    toolParams: sent.map(({ param }) => param),
  };
}

/** A choice needs tools; without any, those that were left out cannot be called either. */
function chooseTools(
  given: unknown,
  tools: RequestTools,
  target: Target,
): { choice: unknown; sent: readonly SentTool[] } {
  const { choice, allowed } = convertChoice(given, tools, target);
  const sent = allowed ? tools.sent.filter(({ name }) => allowed.has(name)) : tools.sent;
  return { choice: sent.length > 0 ? choice : undefined, sent };
}

/** 1 is the API's default of temperature and top_p. Anthropic's part of the conversion decides by its own models. */
function convertSampling(
  { temperature, top_p: topP }: Request,
  { upstream, capabilities, dropped }: Target,
): JsonRecord {
  const taken = upstream === 'Anthropic' || capabilities.temperature;
  return {
    temperature: dropped.keepIf(taken, 'temperature', numberOf(temperature), 1),
    top_p: dropped.keepIf(taken, 'top_p', numberOf(topP), 1),
  };
}

function convertParallel(
  { parallel_tool_calls: parallel }: Request,
  { upstream, capabilities, dropped }: Target,
): false | undefined {
  const taken = upstream === 'Anthropic' || capabilities.parallelTools;
  return dropped.keepIf(taken, 'parallel_tool_calls', parallel === false ? false : undefined);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** OpenAI refuses long ids; a digest still tells users apart. */
function convertUser({ safety_identifier: identifier, user: given }: Request): string | undefined {
  const user = textOf(identifier) ?? textOf(given);
  return user === undefined || user.length <= MAX_USER_LENGTH ? user : createHash('sha256').update(user).digest('hex');
}
