/**
 * The key that the sidecar adds to every request, from a mounted file. Only this module holds it; it puts the key into
 * one header and into no message.
 */

/** The current key. */
export interface LoadedKey {
  /** The value of the authorization header; undefined if there is no key. */
  readonly header: string | undefined;
  /** Why there is no key, and how to fix that. */
  readonly problem: string;
}

export interface MountedKey {
  readonly current: LoadedKey;
  /** How many times the file's key has been replaced by another. */
  readonly changes: number;
  /** Takes the file's new text; undefined if the file cannot be read. */
  take(text: string | undefined): void;
}

/** The format of the gateway's keys, all of which a header can carry. */
const KEY = /^sk-[\x21-\x7e]{1,1000}$/;

/**
 * Has no key until the first `take`. If the file becomes unreadable, the key is dropped, because the file was deleted
 * or access was revoked.
 */
export function createMountedKey(path: string): MountedKey {
  let current = stateOf(undefined, path);
  let changes = 0;
  return {
    get current() {
      return current;
    },
    get changes() {
      return changes;
    },
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
    return without("is not there or cannot be read; it is the entry apiKey of the ApiKey's Secret");
  const key = text.trim();
  if (key === '') return without('is empty');
  if (!KEY.test(key)) return without('holds no key of the gateway, which begins with sk- and has no spaces');
  return { header: `Bearer ${key}`, problem: '' };
}
