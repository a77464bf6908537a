/**
 * Reveals each key once. All replicas share the list of revealed keys: of several that want to show a key exactly one
 * may, and it records that before it shows the key. Keys are identified by their hash.
 */
import { isJsonObject, parseJson } from '#crds/json.ts';
import type { SharedState } from '../access/shared-state.ts';

/** How long after it was made a key can be shown. */
export const REVEAL_WINDOW_MS = 600_000;
/** Entries are kept longer, because clocks differ. */
const KEPT_MS = 2 * REVEAL_WINDOW_MS;
/** Beyond this number the oldest entries are dropped early. */
const MAX_SHOWN = 2_000;
const ID_CHARACTERS = 32;

/** Whether this replica knows that the key has been shown. */
export function isRevealed(state: SharedState, keyHash: string): boolean {
  return parse(state.read('shownKeys')).has(idOf(keyHash));
}

/** Resolves to whether the caller may show the key. Rejects with AccessError if the shared state is unavailable. */
export async function claimReveal(state: SharedState, keyHash: string, nowMs: number): Promise<boolean> {
  const id = idOf(keyHash);
  let mine = false;
  await state.change('shownKeys', (text) => {
    const shown = parse(text);
    mine = !shown.has(id);
    if (!mine) return text;
    const kept = [...shown]
      .filter(([, atMs]) => nowMs - atMs < KEPT_MS)
      .sort(([, a], [, b]) => a - b)
      .slice(1 - MAX_SHOWN);
    return JSON.stringify(Object.fromEntries([...kept, [id, nowMs]]));
  });
  return mine;
}

/** Malformed lines are ignored. */
function parse(text: string): ReadonlyMap<string, number> {
  const value = parseJson(text);
  return new Map(
    isJsonObject(value)
      ? Object.entries(value).flatMap(([id, atMs]) => (typeof atMs === 'number' ? [[id, atMs] as const] : []))
      : [],
  );
}

function idOf(keyHash: string): string {
  return keyHash.slice(0, ID_CHARACTERS);
}
