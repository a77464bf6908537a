/** Responses of Gemini's own API, for tests. */
import type { Reply } from './mock-provider.ts';
import { json, sseReply } from './provider-answers.ts';

export interface GeminiAnswer {
  readonly pieces: readonly string[];
  readonly call?: { readonly name: string; readonly args: unknown } | undefined;
  /** What the model thinks before it, shown as a part. */
  readonly thought?: string | undefined;
  /** Of the call, or of the text. */
  readonly signature?: string | undefined;
  readonly finishReason?: string;
  readonly model: string;
  /** Absent: none is reported. */
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
}

type Part = Readonly<Record<string, unknown>>;

/** In the form that is asked for. A stream sends its signature as Gemini does: with the call, or with an empty text. */
export function geminiAnswer(answer: GeminiAnswer, { stream }: { readonly stream: boolean }): Reply {
  const { call, thought, signature, pieces, finishReason = 'STOP' } = answer;
  const signed = signature === undefined ? {} : { thoughtSignature: signature };
  const before: readonly Part[] = thought === undefined ? [] : [{ text: thought, thought: true }];
  const calls: readonly Part[] = call ? [{ functionCall: call, ...signed }] : [];
  if (!stream) {
    const text: readonly Part[] = pieces.length === 0 ? [] : [{ text: pieces.join(''), ...(call ? {} : signed) }];
    return json(generated(answer, [...before, ...text, ...calls], finishReason));
  }
  const parts = [...before, ...pieces.map((text) => ({ text })), ...calls];
  const last = { text: '', ...(call ? {} : signed) };
  return sseReply(...parts.map((part) => ({ data: generated(answer, [part]) })), {
    data: generated(answer, [last], finishReason),
  });
}

function generated({ model, usage }: GeminiAnswer, parts: readonly Part[], finishReason?: string): object {
  return {
    candidates: [{ content: { parts, role: 'model' }, ...(finishReason !== undefined && { finishReason }), index: 0 }],
    ...(usage && {
      usageMetadata: {
        promptTokenCount: usage.input,
        candidatesTokenCount: usage.output,
        totalTokenCount: usage.input + usage.output,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: usage.input }],
      },
    }),
    modelVersion: model,
    responseId: 'mock-response',
  };
}

export function geminiError(status: number, message: string, name = 'INVALID_ARGUMENT'): Reply {
  return json({ error: { code: status, message, status: name } }, { status });
}
