/**
 * Follows the first choice of a chat completion's stream; other dialects have only one answer.
 */
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';

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
