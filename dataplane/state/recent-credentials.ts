/**
 * Keys that called lately, found by a few characters of their hash. A look into a map makes V8 keep the text that is looked for
 * in a table of its own, anew for each call, as each reckons its hash anew; and a call looks three times.
 */
import type { Credential, State } from './state.ts';

/** As many as three hexadecimal digits tell apart; of two keys with the same place the later one has it. */
const PLACES = 4096;

export class RecentCredentials {
  readonly #credentials: State['credentials'];
  readonly #hashes = Array.from<string>({ length: PLACES }).fill('');
  readonly #found = Array.from<Credential | undefined>({ length: PLACES }).fill(undefined);

  /** Of a state. */
  constructor(credentials: State['credentials']) {
    this.#credentials = credentials;
  }

  /** What a key's SHA-256, in hexadecimal digits, opens; undefined: nothing. */
  find(keyHash: string): Credential | undefined {
    const place = placeOf(keyHash);
    if (this.#hashes[place] === keyHash) return this.#found[place];
    const credential = this.#credentials.get(keyHash);
    // what opens nothing does not push out what does
    if (credential) {
      this.#hashes[place] = keyHash;
      this.#found[place] = credential;
    }
    return credential;
  }
}

function placeOf(keyHash: string): number {
  return digit(keyHash.charCodeAt(0)) << 8 | digit(keyHash.charCodeAt(1)) << 4 | digit(keyHash.charCodeAt(2));
}

/** Of a hexadecimal digit's character code. */
function digit(code: number): number {
  return (code & 15) + (code >> 6) * 9;
}
