/**
 * The gateway's own key in a cluster: a Secret of the gateway's namespace. The replica that starts first creates it,
 * and all others read it. A deleted Secret is restored with the key in use, so that replicas that start later have the
 * same key.
 */
import { keepOwnedKey } from '#kube/owned-key.ts';
import type { OwnedKey } from '#kube/owned-key.ts';
import type { Ownership } from '#kube/owned-object.ts';
import { GATEWAY_KEY_BYTES } from './gateway-key.ts';

const SECRET = 'model-gateway-key';

/** Starts at once. `onProblem` is called with the reason, for people, each time the key cannot be read or created. */
export function keepGatewayKey(ownership: Ownership, onProblem: (problem: string) => void): OwnedKey {
  return keepOwnedKey({
    ownership,
    secret: SECRET,
    entry: 'gatewayKey',
    bytes: GATEWAY_KEY_BYTES,
    restoresFirst: true,
    onKey(_key, isFirst) {
      if (!isFirst) ownership.log.warn({ secret: SECRET }, "the gateway's own key was replaced; restart all operators");
    },
    onProblem,
  });
}
