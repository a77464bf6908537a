/** Writes a chat completion. */
import type { ConversionNotes, ReportedUsage } from '../../converter.ts';
import type { Candidate, ConversationResponse, ResponsePart } from '../../conversation/response.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeJson } from '../../json-value.ts';
import type { ResponseWriteContext } from '../client.ts';
import {
  completionId,
  finishReasonOf,
  serviceTierOf,
  writeCall,
  writeCitations,
  writeImage,
  writeLogProbabilities,
  writeReasoningDetail,
  writeUsage,
} from './write-parts.ts';

export function writeResponse(
  { model, candidates }: ConversationResponse,
  usage: ReportedUsage,
  context: ResponseWriteContext,
): Uint8Array {
  const tier = serviceTierOf(usage);
  const completion = {
    id: completionId(context.id),
    object: 'chat.completion',
    created: context.createdSeconds,
    model: model ?? context.model,
    choices: candidates.map((candidate, index) => writeChoice(candidate, index, context.notes)),
    ...(tier !== undefined && { service_tier: tier }),
    usage: writeUsage(usage),
  };
  return Buffer.from(writeJson(completion));
}

function writeChoice(candidate: Candidate, index: number, notes: ConversionNotes | undefined): JsonRecord {
  const { finish, logProbabilities } = candidate;
  return {
    index,
    message: writeMessage(candidate, notes),
    logprobs: writeLogProbabilities(logProbabilities) ?? null,
    finish_reason: finishReasonOf(finish?.reason, notes),
  };
}

function partsOf<Type extends ResponsePart['type']>(
  { parts }: Candidate,
  type: Type,
): readonly Extract<ResponsePart, { readonly type: Type }>[] {
  return parts.filter((part): part is Extract<ResponsePart, { readonly type: Type }> => part.type === type);
}

function writeMessage(candidate: Candidate, notes: ConversionNotes | undefined): JsonRecord {
  const texts = partsOf(candidate, 'Text');
  const reasoning = partsOf(candidate, 'Reasoning');
  const thoughts = reasoning.map(({ text }) => text).join('');
  const details = reasoning.flatMap(({ text, proof }, index) => writeReasoningDetail(text, proof, index) ?? []);
  const annotations = writeCitations(candidate.citations);
  const images = partsOf(candidate, 'Image').map(writeImage);
  return {
    role: 'assistant',
    content: texts.length > 0 ? texts.map(({ text }) => text).join('') : null,
    refusal: refusalOf(candidate),
    ...(annotations.length > 0 && { annotations }),
    ...(thoughts !== '' && { reasoning_content: thoughts }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(images.length > 0 && { images }),
    ...writeCalls(candidate, notes),
  };
}

/** What the model says, or else the explanation of its end. */
function refusalOf(candidate: Candidate): string | null {
  const said = partsOf(candidate, 'Refusal')
    .map(({ text }) => text)
    .join('');
  if (said !== '') return said;
  return (candidate.finish?.reason === 'Refusal' ? candidate.finish.detail : undefined) ?? null;
}

/** An older client's function_call is one call. */
function writeCalls(candidate: Candidate, notes: ConversionNotes | undefined): JsonRecord {
  const calls = partsOf(candidate, 'ToolCall').map(({ id, name, arguments: given }) =>
    writeCall({ id, name, text: given === '' ? '{}' : given }, notes),
  );
  const [first] = calls;
  if (!first) return {};
  return notes?.legacyFunctions === true ? first : { tool_calls: calls };
}
