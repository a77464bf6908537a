/**
 * Time limits in the time that this process was given: on a busy machine, where a fuzzer comes last, a limit on the
 * clock would be one on the other programs. A tick that comes late counts once.
 */
const TICK_MS = 20;

interface Waiting {
  readonly untilMs: number;
  readonly callback: () => void;
}

const waiting = new Set<Waiting>();
let nowMs = 0;

setInterval(() => {
  nowMs += TICK_MS;
  for (const each of waiting)
    if (each.untilMs <= nowMs) {
      waiting.delete(each);
      each.callback();
    }
}, TICK_MS).unref();

/** The time that this process was given since its start, in milliseconds. */
export function givenMs(): number {
  return nowMs;
}

/** Calls back after this much of the process's own time. Returns a function that cancels it. */
export function afterGiven(ms: number, callback: () => void): () => void {
  const each = { untilMs: nowMs + ms, callback };
  waiting.add(each);
  return () => void waiting.delete(each);
}

/** Aborts after this much of the process's own time, with the error of AbortSignal.timeout. */
export function patience(ms: number): AbortSignal {
  const abort = new AbortController();
  afterGiven(ms, () => abort.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
  return abort.signal;
}
