/**
 * The key that the sidecar adds to every request, from a mounted file. It is held here and put into one header; nothing
 * else in this folder sees it, and no message can contain it.
 */

/** The key as it is now. */
export interface LoadedKey {
  /** The authorization header's value; undefined: there is no key. */
  readonly header: string | undefined;
  /** Why there is none, in words that say how to fix it. */
  readonly problem: string;
}

export interface MountedKey {
  readonly current: LoadedKey;
  /** How often the file's key has been replaced by another. */
  readonly changes: number;
  /** Takes the file's new text; undefined: the file cannot be read. */
  take(text: string | undefined): void;
}

/** The form of the gateway's keys; a header may carry all of it. */
const KEY = /^sk-[\x21-\x7e]{1,1000}$/;

/**
 * Has no key until `take` gives it one. A file that becomes unreadable takes the key away: it was deleted, or access
 * was revoked.
 */
export function createMountedKey(path: string): MountedKey {
  let current = stateOf(undefined, path);
  let changes = 0;
  return {
    get current() { return current; },
    get changes() { return changes; },
    take(text) {
      const before = current.header;
      current = stateOf(text, path);
      if (before !== undefined && current.header !== undefined && current.header !== before) changes++;
    },
  };
}

function stateOf(text: string | undefined, path: string): LoadedKey {
  const without = (problem: string): LoadedKey => ({ header: undefined, problem: `the file ${path} ${problem}` });
  if (text === undefined)
    return without('is not there or cannot be read; it is the entry apiKey of the ApiKey\'s Secret');
  const key = text.trim();
  if (key === '') return without('is empty');
  if (!KEY.test(key)) return without('holds no key of the gateway, which begins with sk- and has no spaces');
  return { header: `Bearer ${key}`, problem: '' };
}
