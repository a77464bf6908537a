/**
 * Follows the first choice of a chat completion's stream; other dialects have only one answer.
 */
import { isGiven, isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import type { ValueTable } from '../field-table.ts';

export class FirstChoice {
  #index: unknown;
  #finishReason: string | undefined;

  /** The latest; undefined: none has come. */
  get finishReason(): string | undefined {
    return this.#finishReason;
  }

  /** The choice's deltas in a chunk. */
  deltasIn({ choices }: JsonRecord): readonly JsonRecord[] {
    const deltas: JsonRecord[] = [];
    for (const choice of itemsOf(choices)) {
      if (!isRecord(choice)) continue;
      this.#index ??= choice['index'] ?? 0;
      if ((choice['index'] ?? 0) !== this.#index) continue;
      this.#finishReason = textOf(choice['finish_reason']) ?? this.#finishReason;
      if (isRecord(choice['delta'])) deltas.push(choice['delta']);
    }
    return deltas;
  }
}

/** A piece of a tool call. */
interface CallPiece {
  /** The same for all pieces of a call. */
  readonly key: unknown;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** A piece of their JSON; some providers send an object. */
  readonly arguments: unknown;
}

/** The pieces of tool calls in a delta, in their order; the deprecated function_call comes last. */
export function callPieces({ tool_calls: calls, function_call: functionCall }: JsonRecord): readonly CallPiece[] {
  const pieces = itemsOf(calls)
    .filter(isRecord)
    .map((call) => callPiece(call['index'], call['id'], call['function']));
  return isRecord(functionCall) ? [...pieces, callPiece('function_call', undefined, functionCall)] : pieces;
}

function callPiece(key: unknown, id: unknown, called: unknown): CallPiece {
  const { name, arguments: given } = isRecord(called) ? called : {};
  return { key, id: textOf(id), name: textOf(name), arguments: given };
}

/** Whether a chunk is an error, or has a finish_reason of `failures`. */
export function isFailedChunk(chunk: JsonRecord, failures: ValueTable): boolean {
  return (isGiven(chunk['error']) && !Array.isArray(chunk['choices'])) || failureReason(chunk, failures) !== undefined;
}

/** What readStreamError takes: the chunk, or an error of the type that `failures` has for its finish_reason. */
export function failedChunkError(chunk: unknown, failures: ValueTable): unknown {
  const reason = isRecord(chunk) && !isGiven(chunk['error']) ? failureReason(chunk, failures) : undefined;
  return reason === undefined
    ? chunk
    : { error: { type: failures.values.get(reason), message: `The provider broke the answer off: ${reason}.` } };
}

function failureReason({ choices }: JsonRecord, { values }: ValueTable): string | undefined {
  const first: unknown = itemsOf(choices)[0];
  const reason = isRecord(first) ? textOf(first['finish_reason']) : undefined;
  return reason !== undefined && values.has(reason) ? reason : undefined;
}
