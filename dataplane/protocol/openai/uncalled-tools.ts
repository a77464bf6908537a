/**
 * A choice that ends with a call of tools and has none is the end of a turn: a client would wait for a call that never
 * comes. Responses that pass through say so too.
 */
import { decodeUtf8 } from '../bytes.ts';
import { readCandidate } from '../candidates.ts';
import { isRecord, itemsOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { memberBytes } from '../json-edit.ts';
import { parseLossless } from '../json-value.ts';

const CALLED: ReadonlySet<unknown> = new Set(['tool_calls', 'function_call']);

/** Follows the choices of one response. */
export class UncalledTools {
  /** The indexes of choices with a call that has a name. */
  readonly #called = new Set<number>();

  /** The choices of a whole response, or of a stream's chunk, as they should be; undefined: they are right. */
  mend(choices: unknown, body: () => Uint8Array): readonly unknown[] | undefined {
    const wrong = itemsOf(choices).map((choice) => isRecord(choice) && this.#isWrong(choice));
    if (!wrong.includes(true)) return undefined;
    return itemsOf(choicesIn(body())).map((choice, at) =>
      isRecord(choice) && wrong[at] ? { ...choice, finish_reason: 'stop' } : choice,
    );
  }

  #isWrong({ index: given, message, delta, finish_reason: reason }: JsonRecord): boolean {
    const index = readCandidate(given);
    if ([message, delta].some(hasCall)) this.#called.add(index);
    return CALLED.has(reason) && !this.#called.has(index);
  }
}

/** With numbers as they are. */
function choicesIn(body: Uint8Array): unknown {
  const bytes = memberBytes(body, 'choices');
  return bytes && parseLossless(decodeUtf8(bytes));
}

function hasCall(message: unknown): boolean {
  if (!isRecord(message)) return false;
  const { tool_calls: calls, function_call: call } = message;
  return (
    isNamed(call) ||
    itemsOf(calls).some((each) => isRecord(each) && (isNamed(each['function']) || isNamed(each['custom'])))
  );
}

function isNamed(called: unknown): boolean {
  return isRecord(called) && textOf(called['name']) !== undefined;
}
