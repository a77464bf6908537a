/** The demo provider's background responses, which take a few seconds. They are kept in memory. */
import type { Json } from './prompt.ts';

export interface StoredResponses {
  /** POST /v1/responses in the background. `response` is what it becomes. Returns what it is at first. */
  make(id: string, response: Json): Json;
  /** GET /v1/responses/{id}; undefined if there is none. */
  find(id: string): Json | undefined;
  /** POST /v1/responses/{id}/cancel; undefined if there is none. */
  cancel(id: string): Json | undefined;
  /** DELETE /v1/responses/{id}; false if there was none. */
  remove(id: string): boolean;
}

interface Stored {
  readonly response: Json;
  readonly createdMs: number;
  readonly cancelled?: true;
}

const MOST_RESPONSES = 1000;
const UNFINISHED: Json = { completed_at: null, output: [], usage: null };

/** `takesMs` is how long a response takes. */
export function createStoredResponses(takesMs: number, nowMs: () => number): StoredResponses {
  const stored = new Map<string, Stored>();
  const find = (id: string): Json | undefined => {
    const known = stored.get(id);
    return known && view(known, (nowMs() - known.createdMs) / takesMs);
  };
  return {
    make(id, response) {
      if (stored.size >= MOST_RESPONSES) stored.delete(stored.keys().next().value ?? '');
      const made = { response: { ...response, background: true, store: true }, createdMs: nowMs() };
      stored.set(id, made);
      return view(made, 0);
    },
    find,
    cancel(id) {
      const known = stored.get(id);
      if (known && nowMs() - known.createdMs < takesMs) stored.set(id, { ...known, cancelled: true });
      return find(id);
    },
    remove: (id) => stored.delete(id),
  };
}

/** `done` is the progress from 0 to 1, and may exceed 1. */
function view({ response, cancelled }: Stored, done: number): Json {
  if (cancelled) return { ...response, ...UNFINISHED, status: 'cancelled' };
  if (done >= 1) return response;
  return { ...response, ...UNFINISHED, status: done > 0.25 ? 'in_progress' : 'queued' };
}
