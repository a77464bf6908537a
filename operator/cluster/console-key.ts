/**
 * The key that seals the console's cookies: in a Secret of the gateway's namespace, made by the leader and read by all
 * replicas, so that any of them serves any session. Whoever deletes the Secret signs everybody out: another key is
 * made.
 */
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { SESSION_KEY_BYTES } from '../../console/session/session-cookies.ts';
import type { KubeClient, KubeJson } from '../kube/client.ts';
import { explainKubeError, hasStatus } from '../kube/errors.ts';
import { parseSecretObject, pathOfSecrets } from '../kube/parse-object.ts';

const CONSOLE_SECRET = 'model-gateway-console';
/** While there is none; and to see that it is another. */
const ASK_AGAIN_MS = 1_000;
const LOOK_EVERY_MS = 10_000;

interface ConsoleKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly namespace: string;
  readonly leading: () => boolean;
  /** Calls a function once after a delay; the function that it returns cancels that. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Told of the first one too, and never of the same one twice. */
  readonly onKey: (key: Uint8Array) => void;
}

/** The Secret's entry; its value is base64. */
const ENTRY = 'sealingKey';

/** Begins at once; whatever cannot be read or made is tried again. */
export function manageConsoleKey(options: ConsoleKeyOptions): { stop(): void } {
  const { client, namespace, leading, after, log, onKey } = options;
  const path = pathOfSecrets(namespace);
  let known: string | undefined;
  let told: string | undefined;
  let stopped = false;
  let cancel = (): void => undefined;

  /** undefined: there is none yet, and this replica is not the one that makes it. */
  async function load(): Promise<string | undefined> {
    try {
      return keyOf(await client.request({ method: 'GET', path: `${path}/${CONSOLE_SECRET}` }));
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
    }
    return leading() ? make() : undefined;
  }

  async function make(): Promise<string | undefined> {
    const sealingKey = randomBytes(SESSION_KEY_BYTES).toString('base64');
    const metadata = { name: CONSOLE_SECRET, namespace, labels: { 'app.kubernetes.io/managed-by': 'model-gateway' } };
    try {
      const body = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, stringData: { [ENTRY]: sealingKey } };
      await client.request({ method: 'POST', path, body });
      return sealingKey;
    } catch (error) {
      if (hasStatus(error, 409)) return undefined; // another replica was quicker
      throw error;
    }
  }

  async function look(): Promise<void> {
    let problem: string | undefined;
    try {
      const stored = await load();
      if (stored !== undefined && stored !== known && !stopped) onKey(Buffer.from(known = stored, 'base64'));
    } catch (error) {
      problem = explainKubeError(error);
    }
    if (problem !== undefined && problem !== told)
      log.warn(
        { secret: CONSOLE_SECRET, problem }, 'the key of the console\'s sessions cannot be had; it is tried again',
      );
    told = problem;
    if (!stopped) cancel = after(known === undefined ? ASK_AGAIN_MS : LOOK_EVERY_MS, () => void look());
  }

  void look();
  return {
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** Throws where somebody has put something else there: it is not ours to replace. */
function keyOf(secret: KubeJson): string {
  const key = parseSecretObject(secret).data.get(ENTRY) ?? '';
  if (Buffer.from(key, 'base64').length !== SESSION_KEY_BYTES)
    throw new Error(`its entry ${ENTRY} is no key; delete the Secret, and another one is made`);
  return key;
}
