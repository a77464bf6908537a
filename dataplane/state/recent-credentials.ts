/**
 * Keys that called lately, found by a few characters of their hash. A look into a map makes V8 keep the text that is looked for
 * in a table of its own, anew for each call, as each reckons its hash anew; and a call looks three times. Of a hundred thousand
 * keys each lies somewhere else in memory, a wait at every step; those that call again are therefore copied, side by side.
 */
import { copyOfAmount } from '../snapshot/decimal.ts';
import type { Credential, State } from './state.ts';

/** As many as three hexadecimal digits tell apart; of two keys with the same place the later one has it. */
const PLACES = 4096;
/** A key that is found so often, and not pushed out, is worth a copy. */
const FINDS_TO_COPY = 9;

interface Place {
  readonly keyHash: string;
  readonly original: Credential;
  /** The original, or its copy. */
  credential: Credential;
  /** Of the credentials that it was looked up in. */
  version: number;
  finds: number;
}

export class RecentCredentials {
  #credentials: State['credentials'];
  #version = 0;
  readonly #places = Array.from<Place | undefined>({ length: PLACES }).fill(undefined);

  /** Of a state. */
  constructor(credentials: State['credentials']) {
    this.#credentials = credentials;
  }

  /** Another state is in force; what is unchanged in it stays the object that it is. */
  follow(credentials: State['credentials']): void {
    this.#credentials = credentials;
    this.#version += 1;
  }

  /** What a key's SHA-256, in hexadecimal digits, opens; undefined: nothing. */
  find(keyHash: string): Credential | undefined {
    const at = placeOf(keyHash);
    const place = this.#places[at];
    if (place?.keyHash !== keyHash || place.version !== this.#version) return this.#look(keyHash, at, place);
    if (place.finds < FINDS_TO_COPY && ++place.finds === FINDS_TO_COPY) place.credential = copyOf(place.original);
    return place.credential;
  }

  #look(keyHash: string, at: number, place: Place | undefined): Credential | undefined {
    const credential = this.#credentials.get(keyHash);
    // what opens nothing does not push out what does
    if (!credential) return undefined;
    if (place?.keyHash === keyHash && place.original === credential) {
      place.version = this.#version;
      return place.credential;
    }
    this.#places[at] = { keyHash, original: credential, credential, version: this.#version, finds: 0 };
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

/** With all that a call reads of it. Fields in the order of compile-keys.ts, so that both are one shape. */
function copyOf({ key, notAfterMs }: Credential): Credential {
  const { slot, limitNanoUsd } = key;
  return {
    key: {
      uid: copyOfText(key.uid),
      namespace: copyOfText(key.namespace),
      name: copyOfText(key.name),
      prefix: copyOfText(key.prefix),
      generation: copyOfAmount(key.generation),
      enabled: key.enabled,
      refusal: key.refusal,
      expirationMs: key.expirationMs,
      group: copyOfText(key.group),
      account: copyOfText(key.account),
      limitNanoUsd: limitNanoUsd === null ? null : copyOfAmount(limitNanoUsd),
      period: key.period,
      whenShort: key.whenShort,
      models: key.models,
      slot: slot && { scope: slot.scope, id: copyOfText(slot.id), limit: slot.limit },
    },
    notAfterMs,
  };
}

/** UTF-8 cannot say half a character. */
function copyOfText(text: string): string {
  const copy = Buffer.from(text).toString();
  return copy === text ? copy : text;
}
