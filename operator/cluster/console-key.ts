/**
 * The key that seals the console's cookies: in a Secret of the gateway's namespace, made by the leader and read by all
 * replicas, so that any of them serves any session. Whoever deletes the Secret signs everybody out: another key is
 * made.
 */
import type { Logger } from 'pino';
import { SESSION_KEY_BYTES } from '../../console/session/session-cookies.ts';
import type { KubeClient } from '../kube/client.ts';
import { explainKubeError } from '../kube/errors.ts';
import { storedKey } from './stored-key.ts';

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
  const stored = storedKey({ client, namespace, secret: CONSOLE_SECRET, entry: ENTRY, bytes: SESSION_KEY_BYTES });
  let known: Buffer | undefined;
  let told: string | undefined;
  let stopped = false;
  let cancel = (): void => undefined;

  /** undefined: there is none yet, and this replica is not the one that makes it. */
  async function load(): Promise<Buffer | undefined> {
    return await stored.read() ?? (leading() ? stored.make() : undefined);
  }

  async function look(): Promise<void> {
    let problem: string | undefined;
    try {
      const found = await load();
      if (found && !known?.equals(found) && !stopped) onKey(known = found);
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
