/** Writes responses of Google's protocol: whole ones, and the chunks of a stream, which have the same form. */
import type { ReportedUsage } from '../../converter.ts';
import { parseArguments } from '../../conversation/arguments.ts';
import type { TokenProbability } from '../../conversation/events.ts';
import { sealReasoning } from '../../conversation/sealed-reasoning.ts';
import type { KeptReasoning } from '../../conversation/sealed-reasoning.ts';
import type { Candidate, ConversationResponse, ResponsePart } from '../../conversation/response.ts';
import type { JsonRecord } from '../../fields.ts';
import { writeSignature } from '../../gemini/thought-signature.ts';
import { writeJson } from '../../json-value.ts';
import type { ResponseWriteContext } from '../client.ts';
import { FINISH_REASONS } from './table.ts';

export function writeResponse(
  { model, candidates }: ConversationResponse,
  usage: ReportedUsage,
  context: ResponseWriteContext,
): Uint8Array {
  const written = candidates.map((candidate, index) => {
    const parts = new PartsWriter(context);
    const content = [...candidate.parts.flatMap((part) => parts.write(part)), ...parts.close()];
    return writeCandidate(index, content, { ...endOf(candidate), malformedCall: parts.malformedCall });
  });
  return Buffer.from(writeGenerated(written, { id: context.id, model: model ?? context.model, usage }));
}

function endOf({ finish, logProbabilities }: Candidate): Omit<CandidateEnd, 'malformedCall'> {
  return { finish, logProbabilities };
}

export interface CandidateEnd {
  readonly finish: Candidate['finish'];
  readonly logProbabilities: readonly TokenProbability[];
  /** A call's arguments are no JSON. */
  readonly malformedCall: boolean;
}

/** `end`: absent of all chunks of a stream but a candidate's last. */
export function writeCandidate(index: number, parts: readonly JsonRecord[], end?: CandidateEnd): JsonRecord {
  return {
    content: { parts: parts.length > 0 ? parts : [{ text: '' }], role: 'model' },
    ...(end && {
      finishReason: finishReasonOf(end),
      ...(end.finish?.reason === 'Refusal' && end.finish.detail !== undefined && { finishMessage: end.finish.detail }),
    }),
    index,
    ...(end && end.logProbabilities.length > 0 && { logprobsResult: writeLogProbabilities(end.logProbabilities) }),
  };
}

/** A malformed call that the limit cut off is not the model's fault. */
function finishReasonOf({ finish, malformedCall }: CandidateEnd): string {
  const reason = FINISH_REASONS.values.get(finish?.reason ?? 'Stop') ?? 'STOP';
  return malformedCall && reason === 'STOP' ? 'MALFORMED_FUNCTION_CALL' : reason;
}

function writeLogProbabilities(tokens: readonly TokenProbability[]): JsonRecord {
  return {
    chosenCandidates: tokens.map(({ token, logProbability }) => ({ token, logProbability })),
    topCandidates: tokens.map(({ alternatives }) => ({ candidates: alternatives })),
  };
}

export interface Generated {
  readonly id: string;
  readonly model: string;
  /** Absent of all chunks of a stream but the last. */
  readonly usage?: ReportedUsage;
}

export function writeGenerated(candidates: readonly JsonRecord[], { id, model, usage }: Generated): string {
  return writeJson({
    candidates,
    ...(usage && { usageMetadata: writeUsage(usage) }),
    modelVersion: model,
    responseId: id.replace(/^(?:req|chatcmpl|msg)[-_]/, ''),
  });
}

/** Google's prompt includes tokens read from and written to the cache; its candidates exclude thoughts. */
function writeUsage(usage: ReportedUsage): JsonRecord {
  const { input, cached = 0, cacheWrite5m, cacheWrite1h, output = 0, details } = usage;
  const prompt = [input, cached, cacheWrite5m, cacheWrite1h].reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const thoughts = Math.min(details?.reasoning ?? 0, output);
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: output - thoughts,
    totalTokenCount: prompt + output,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
  };
}

/** The parts of one candidate. Reasoning that must come back goes into the signature of the part after it. */
export class PartsWriter {
  readonly #context: ResponseWriteContext;
  /** Sealed reasoning that no part has carried yet. */
  #sealed: string[] = [];
  malformedCall = false;

  constructor(context: ResponseWriteContext) {
    this.#context = context;
  }

  write(part: ResponsePart): readonly JsonRecord[] {
    switch (part.type) {
      case 'Text':
      case 'Refusal':
        return this.text(part.text);
      case 'Reasoning':
        this.keep(part);
        return this.thought(part.text);
      case 'ToolCall':
        return this.call(part);
      case 'Image':
        return [this.#signed({ inlineData: { mimeType: part.mediaType, data: part.data } })];
    }
  }

  text(text: string): readonly JsonRecord[] {
    return text === '' ? [] : [this.#signed({ text })];
  }

  /** Shown only where the client asks for it. */
  thought(text: string): readonly JsonRecord[] {
    return text !== '' && this.#context.notes?.includeThoughts === true ? [{ text, thought: true }] : [];
  }

  /** Keeps what the provider needs back. */
  keep(reasoning: KeptReasoning): void {
    const { seal, notes } = this.#context;
    const isKept = reasoning.proof !== undefined || (notes?.keepsReasoning === true && reasoning.text !== '');
    if (seal && isKept) this.#sealed.push(sealReasoning(seal, { text: reasoning.text, proof: reasoning.proof }));
  }

  call({ id, name, arguments: text }: Extract<ResponsePart, { type: 'ToolCall' }>): readonly JsonRecord[] {
    const args = text === '' ? {} : parseArguments(text);
    this.malformedCall ||= args === undefined;
    return args ? [this.#signed({ functionCall: { id, name, args } })] : [];
  }

  /** The last part: an empty text that carries reasoning which no other part has carried. */
  close(): readonly JsonRecord[] {
    return this.#sealed.length > 0 ? [this.#signed({ text: '' })] : [];
  }

  #signed(part: JsonRecord): JsonRecord {
    if (this.#sealed.length === 0) return part;
    const thoughtSignature = writeSignature(this.#sealed);
    this.#sealed = [];
    return { ...part, thoughtSignature };
  }
}
