/** Responses of Bedrock's Converse, for tests: whole ones and binary event streams. */
import { eventFrame, eventStreamReply } from './api/clouds.ts';
import type { Reply } from './mock-provider.ts';
import { json } from './provider-answers.ts';

export interface ConverseAnswer {
  readonly pieces: readonly string[];
  readonly call?: { readonly id: string; readonly name: string; readonly input: unknown } | undefined;
  /** What the model thinks before it. */
  readonly reasoning?: { readonly text: string; readonly signature: string } | undefined;
  readonly stopReason?: string;
  /** Absent: none is reported. */
  readonly usage?: { readonly input: number; readonly output: number } | undefined;
}

/** In the form that is asked for. */
export function converseAnswer(answer: ConverseAnswer, { stream }: { readonly stream: boolean }): Reply {
  const { call, stopReason = call ? 'tool_use' : 'end_turn' } = answer;
  const metadata = { ...usageOf(answer), metrics: { latencyMs: 5 } };
  if (!stream)
    return json({ output: { message: { role: 'assistant', content: contentOf(answer) } }, stopReason, ...metadata });
  const blocks = blocksOf(answer).flatMap(({ start, deltas }, contentBlockIndex) => [
    ...(start === undefined ? [] : [eventFrame('contentBlockStart', { contentBlockIndex, start })]),
    ...deltas.map((delta) => eventFrame('contentBlockDelta', { contentBlockIndex, delta })),
    eventFrame('contentBlockStop', { contentBlockIndex }),
  ]);
  return eventStreamReply([
    eventFrame('messageStart', { role: 'assistant' }),
    ...blocks,
    eventFrame('messageStop', { stopReason }),
    eventFrame('metadata', metadata),
  ]);
}

function contentOf({ pieces, call, reasoning }: ConverseAnswer): readonly unknown[] {
  return [
    ...(reasoning ? [{ reasoningContent: { reasoningText: reasoning } }] : []),
    ...(pieces.length === 0 ? [] : [{ text: pieces.join('') }]),
    ...(call ? [{ toolUse: { toolUseId: call.id, name: call.name, input: call.input } }] : []),
  ];
}

interface Block {
  readonly start?: unknown;
  readonly deltas: readonly unknown[];
}

function blocksOf({ pieces, call, reasoning }: ConverseAnswer): readonly Block[] {
  const thought = reasoning && {
    deltas: [{ reasoningContent: { text: reasoning.text } }, { reasoningContent: { signature: reasoning.signature } }],
  };
  const called = call && {
    start: { toolUse: { toolUseId: call.id, name: call.name } },
    deltas: [{ toolUse: { input: JSON.stringify(call.input) } }],
  };
  const text = pieces.length === 0 ? undefined : { deltas: pieces.map((piece) => ({ text: piece })) };
  return [thought, text, called].filter((block) => block !== undefined);
}

function usageOf({ usage }: ConverseAnswer): object {
  if (!usage) return {};
  const { input, output } = usage;
  return { usage: { inputTokens: input, outputTokens: output, totalTokens: input + output } };
}

export function converseError(status: number, message: string, name = 'ValidationException'): Reply {
  return json({ message }, { status, headers: { 'x-amzn-errortype': name } });
}
