/**
 * The key that the sidecar adds to every request: the text of a mounted file. It is held here and put into one header; nothing
 * else of this folder sees it, and it has no way into a message.
 */

/** The key as it is now. */
export interface KeyState {
  /** What the header says; undefined: there is no key to send. */
  readonly header: string | undefined;
  /** Why there is none, in words that say how to mend it. */
  readonly problem: string;
}

export interface KeyHolder {
  readonly current: KeyState;
  /** How often the file has said another key than before. */
  readonly changes: number;
  /** Takes the file's text; undefined: it cannot be read. */
  take(text: string | undefined): void;
}

/** What a header may carry, and a key of the gateway's consists of. */
const KEY = /^sk-[\x21-\x7e]{1,1000}$/;

/** Without a key until it is told one. A file that has become unreadable takes the key away: it was deleted, or its right revoked. */
export function holdKey(path: string): KeyHolder {
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

function stateOf(text: string | undefined, path: string): KeyState {
  if (text === undefined) return { header: undefined, problem: `the file ${path} is not there or cannot be read; it is the entry apiKey of the ApiKey's Secret` };
  const key = text.trim();
  if (key === '') return { header: undefined, problem: `the file ${path} is empty` };
  if (!KEY.test(key)) return { header: undefined, problem: `the file ${path} holds no key of the gateway, which begins with sk- and has no spaces` };
  return { header: `Bearer ${key}`, problem: '' };
}
