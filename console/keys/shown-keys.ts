/**
 * Which keys were shown lately, for all replicas together: of several that want to show a key exactly one does, and it
 * notes so before it shows the key. A key is told by its hash, which its status has as well.
 */
import { isJsonObject, parseJson } from '#crds/json.ts';
import type { SharedState } from '../access/shared-state.ts';

/** So long after it was made a key can be shown. */
export const SHOWN_FOR_MS = 600_000;
/** By whatever clock. */
const KEPT_MS = 2 * SHOWN_FOR_MS;
/** Beyond it the ones that were shown first are forgotten, a little early. */
const MAX_SHOWN = 2_000;
const ID_CHARACTERS = 32;

/** Whether it was shown, as far as is known here. */
export function wasShown(state: SharedState, keyHash: string): boolean {
  return parse(state.read('shownKeys')).has(idOf(keyHash));
}

/** Resolves to whether the caller is the one to show it. Rejects with AccessError where nobody can tell. */
export async function claimShowing(state: SharedState, keyHash: string, nowMs: number): Promise<boolean> {
  const id = idOf(keyHash);
  let mine = false;
  await state.change('shownKeys', (text) => {
    const shown = parse(text);
    mine = !shown.has(id);
    if (!mine) return text;
    const kept =
      [...shown].filter(([, atMs]) => nowMs - atMs < KEPT_MS).sort(([, a], [, b]) => a - b).slice(1 - MAX_SHOWN);
    return JSON.stringify(Object.fromEntries([...kept, [id, nowMs]]));
  });
  return mine;
}

/** What is empty, or not ours, counts for nothing. */
function parse(text: string): ReadonlyMap<string, number> {
  const value = parseJson(text);
  return new Map(isJsonObject(value)
    ? Object.entries(value).flatMap(([id, atMs]) => typeof atMs === 'number' ? [[id, atMs] as const] : [])
    : []);
}

function idOf(keyHash: string): string {
  return keyHash.slice(0, ID_CHARACTERS);
}
