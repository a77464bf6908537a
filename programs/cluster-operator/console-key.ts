/**
 * The key that seals the console's cookies, in a Secret of the gateway's namespace. The leader creates it and all
 * replicas read it, so that any of them serves any session. Deleting the Secret signs everybody out, because the leader
 * creates another key.
 */
import { SESSION_KEY_BYTES } from '../../console/session/session-cookies.ts';
import type { Ownership } from '#kube/owned-object.ts';
import { keepOwnedKey } from '#kube/owned-key.ts';
import type { OwnedKey } from '#kube/owned-key.ts';

const CONSOLE_SECRET = 'model-gateway-console';
/** The Secret's entry; its value is base64. */
const ENTRY = 'sealingKey';

/** Starts at once, and calls `onKey` with the first key and with each new one. */
export function manageConsoleKey(ownership: Ownership, onKey: (key: Uint8Array) => void): OwnedKey {
  return keepOwnedKey({
    ownership,
    secret: CONSOLE_SECRET,
    entry: ENTRY,
    bytes: SESSION_KEY_BYTES,
    restoresFirst: false,
    onKey,
  });
}
