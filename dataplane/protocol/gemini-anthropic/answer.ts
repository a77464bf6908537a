/**
 * Writes answers of Google's protocol: whole ones, and the chunks of a stream, which have the same form.
 */
import type { ReportedUsage } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { writeJson } from '../json-value.ts';
import { FINISH_REASONS } from './answer-table.ts';

export interface AnswerHead {
  readonly id: string;
  readonly model: string;
}

export interface AnswerEnd {
  readonly stopReason: string | undefined;
  /** A call could not be read. */
  readonly malformedCall: boolean;
  readonly explanation: string | undefined;
  readonly usage: ReportedUsage;
  /** Output tokens with which the model reasoned; undefined: not reported. */
  readonly thoughts: number | undefined;
}

/** `end`: absent of all chunks of a stream but the last. */
export function writeAnswer({ id, model }: AnswerHead, parts: readonly JsonRecord[], end?: AnswerEnd): string {
  return writeJson({
    candidates: [
      {
        content: { parts: parts.length > 0 ? parts : [{ text: '' }], role: 'model' },
        ...(end && {
          finishReason: finishReasonOf(end),
          ...(end.explanation !== undefined && {
            finishMessage: end.explanation,
          }),
        }),
        index: 0,
      },
    ],
    ...(end && { usageMetadata: writeUsage(end) }),
    modelVersion: model,
    responseId: id.replace(/^(?:req|chatcmpl|msg)[-_]/, ''),
  });
}

/** A malformed call that the limit cut off is not the model's fault. */
function finishReasonOf({ stopReason, malformedCall }: AnswerEnd): string {
  const reason = FINISH_REASONS.values.get(stopReason ?? '') ?? 'STOP';
  return malformedCall && reason === 'STOP' ? 'MALFORMED_FUNCTION_CALL' : reason;
}

/** Google's prompt includes tokens read from and written to the cache; its candidates exclude thoughts. */
function writeUsage({ usage, thoughts = 0 }: AnswerEnd): JsonRecord {
  const { input, cached, cacheWrite5m, cacheWrite1h, output = 0 } = usage;
  const prompt = (input ?? 0) + (cached ?? 0) + (cacheWrite5m ?? 0) + (cacheWrite1h ?? 0);
  const thought = Math.min(thoughts, output);
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: output - thought,
    totalTokenCount: prompt + output,
    ...((cached ?? 0) > 0 && { cachedContentTokenCount: cached }),
    ...(thought > 0 && { thoughtsTokenCount: thought }),
  };
}
