/** [P] The MAC of a Secret's list of replaced keys, by which the gateway knows that it wrote the list itself. */
import { timingSafeEqual } from 'node:crypto';
import { PREVIOUS_ANNOTATION, PREVIOUS_MAC_ANNOTATION } from '#objects/key-secret.ts';
import type { SecretObject } from '#objects/resources.ts';
import { hmacHex } from './gateway-key.ts';

/** Identifies a Secret of one ApiKey, so that its list is valid nowhere else. */
interface SecretIdentity {
  readonly namespace: string;
  readonly name: string;
  /** The uid of its ApiKey. */
  readonly ownerUid: string | undefined;
}

/** The MAC of a list of replaced keys. `key` is derived for the purpose `previous-keys`. */
export function macOfPreviousKeys(
  key: Uint8Array,
  { namespace, name, ownerUid }: SecretIdentity,
  list: string,
): string {
  return hmacHex(key, JSON.stringify([namespace, name, ownerUid ?? '', list]));
}

/** True if the Secret lists replaced keys that the gateway did not write. */
export function hasForgedPreviousKeys({ namespace, name, live, annotations }: SecretObject, key: Uint8Array): boolean {
  const list = annotations[PREVIOUS_ANNOTATION];
  if (list === undefined) return false;
  const mac = Buffer.from(annotations[PREVIOUS_MAC_ANNOTATION] ?? '');
  const right = Buffer.from(macOfPreviousKeys(key, { namespace, name, ownerUid: live?.ownerUid }, list));
  return mac.length !== right.length || !timingSafeEqual(mac, right);
}
