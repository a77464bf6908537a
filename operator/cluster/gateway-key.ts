/**
 * The gateway's own key in a cluster: a Secret of the gateway's namespace. Whichever replica starts first makes it, and
 * all others read it.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { explainKubeError, hasStatus } from '../kube/errors.ts';
import type { KubeClient, KubeJson } from '../kube/client.ts';
import { parseSecretObject, pathOfSecrets } from '../kube/parse-object.ts';
import { GATEWAY_KEY_BYTES } from '../store/gateway-key.ts';

const GATEWAY_KEY_SECRET = 'model-gateway-key';
/** The Secret's entry; its value is base64. */
const ENTRY = 'gatewayKey';
const RETRY_MS = 1_000;

interface GatewayKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  /** Of the gateway. */
  readonly namespace: string;
  readonly log: Pick<Logger, 'warn'>;
  /** Told why the key cannot be had, for people. */
  readonly onProblem: (problem: string) => void;
  /** Ends the retries. */
  readonly signal: AbortSignal;
}

/** Retries until the API server gives the key, or takes a new one. Rejects when `signal` is aborted. */
export async function loadGatewayKey(options: GatewayKeyOptions): Promise<Buffer> {
  const { client, namespace, log, signal, onProblem } = options;
  const path = pathOfSecrets(namespace);
  let told: string | undefined;
  for (;;) {
    try {
      return await read() ?? await make();
    } catch (error) {
      const problem = explainKubeError(error);
      if (problem !== told)
        log.warn({ secret: GATEWAY_KEY_SECRET, problem }, 'the gateway\'s own key cannot be had; it is tried again');
      told = problem;
      onProblem(`the Secret ${GATEWAY_KEY_SECRET}: ${problem}`);
    }
    await sleep(RETRY_MS, undefined, { signal });
  }

  async function read(): Promise<Buffer | undefined> {
    try {
      return keyOf(await client.request({ method: 'GET', path: `${path}/${GATEWAY_KEY_SECRET}` }));
    } catch (error) {
      if (hasStatus(error, 404)) return undefined;
      throw error;
    }
  }

  async function make(): Promise<Buffer> {
    const metadata = {
      name: GATEWAY_KEY_SECRET, namespace, labels: { 'app.kubernetes.io/managed-by': 'model-gateway' },
    };
    const key = randomBytes(GATEWAY_KEY_BYTES);
    await client.request({ method: 'POST', path, body: {
      apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, stringData: { [ENTRY]: key.toString('base64') },
    } });
    return key;
  }
}

/** Throws where the Secret holds something else, which the operator does not replace. */
function keyOf(secret: KubeJson): Buffer {
  const key = Buffer.from(parseSecretObject(secret).data.get(ENTRY) ?? '', 'base64');
  if (key.length === GATEWAY_KEY_BYTES) return key;
  throw new Error(`its entry ${ENTRY} does not have ${GATEWAY_KEY_BYTES} bytes; delete the Secret, and one is made`);
}
