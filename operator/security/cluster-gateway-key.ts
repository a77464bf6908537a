/**
 * The gateway's own key in a cluster: a Secret of the gateway's namespace. The replica that starts first creates it,
 * and all others read it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KubeClient } from '#kube/client.ts';
import { explainKubeError } from '#kube/errors.ts';
import { GATEWAY_KEY_BYTES } from './gateway-key.ts';
import type { Ownership } from '#kube/owned-object.ts';
import { keepStoredKey, storedKey } from './stored-key.ts';
import type { KeptKey } from './stored-key.ts';

const GATEWAY_KEY_SECRET = 'model-gateway-key';
/** The Secret's entry; its value is base64. */
const ENTRY = 'gatewayKey';
const RETRY_MS = 1_000;
const NAMING = { secret: GATEWAY_KEY_SECRET, entry: ENTRY, bytes: GATEWAY_KEY_BYTES };

interface GatewayKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  /** The gateway's namespace. */
  readonly namespace: string;
  readonly log: Pick<Logger, 'warn'>;
  /** Called with the reason why the key cannot be read or created, for operators. */
  readonly onProblem: (problem: string) => void;
  /** Ends the retries. */
  readonly signal: AbortSignal;
}

/** Retries until the API server returns the key, or accepts a new one. Rejects when `signal` aborts. */
export async function loadGatewayKey(options: GatewayKeyOptions): Promise<Buffer> {
  const { client, namespace, log, signal, onProblem } = options;
  const stored = storedKey({ client, namespace, ...NAMING });
  let told: string | undefined;
  for (;;) {
    try {
      const key = (await stored.read()) ?? (await stored.make())?.key ?? (await stored.read());
      if (key) return key;
    } catch (error) {
      const problem = explainKubeError(error);
      if (problem !== told)
        log.warn({ secret: GATEWAY_KEY_SECRET, problem }, 'cannot read or create the key of the gateway; retrying');
      told = problem;
      onProblem(`the Secret ${GATEWAY_KEY_SECRET}: ${problem}`);
    }
    await sleep(RETRY_MS, undefined, { signal });
  }
}

/** Restores a deleted Secret with the key that is in use, so that replicas that start later have the same key. */
export function keepGatewayKey(ownership: Ownership, key: Buffer): KeptKey {
  return keepStoredKey({
    ...NAMING,
    ownership,
    restored: key,
    onKey: () =>
      ownership.log.warn({ secret: GATEWAY_KEY_SECRET }, 'the key of the gateway was replaced; restart all operators'),
  });
}
