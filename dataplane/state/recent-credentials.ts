/**
 * [P] Keys that called lately, found by a few characters of their hash. A look into a map makes V8 keep the text that is looked for
 * in a table of its own, anew for each call, as each reckons its hash anew; and a call looks three times.
 */
import type { Credential, State } from './state.ts';

/** As many as three hexadecimal digits tell apart; of two keys with the same place the later one has it. */
const PLACES = 4096;

let known: State['credentials'] | undefined;
const hashes = Array.from<string>({ length: PLACES }).fill('');
const found = Array.from<Credential | undefined>({ length: PLACES }).fill(undefined);

/** What a key's SHA-256, in hexadecimal digits, opens in this state; undefined: nothing. */
export function credentialOf({ credentials }: Pick<State, 'credentials'>, keyHash: string): Credential | undefined {
  if (known !== credentials) forget(credentials);
  const place = placeOf(keyHash);
  if (hashes[place] === keyHash) return found[place];
  const credential = credentials.get(keyHash);
  // what opens nothing does not push out what does
  if (credential) {
    hashes[place] = keyHash;
    found[place] = credential;
  }
  return credential;
}

function forget(credentials: State['credentials']): void {
  known = credentials;
  hashes.fill('');
  found.fill(undefined);
}

function placeOf(keyHash: string): number {
  return digit(keyHash.charCodeAt(0)) << 8 | digit(keyHash.charCodeAt(1)) << 4 | digit(keyHash.charCodeAt(2));
}

/** Of a hexadecimal digit's character code. */
function digit(code: number): number {
  return (code & 15) + (code >> 6) * 9;
}
