/**
 * The key that seals the console's cookies, in a Secret of the gateway's namespace. The leader creates it and all
 * replicas read it, so that any of them serves any session. Deleting the Secret signs everybody out, because the leader
 * creates another key.
 */
import type { Logger } from 'pino';
import { SESSION_KEY_BYTES } from '../../console/session/session-cookies.ts';
import type { KubeClient } from '../kube/client.ts';
import { explainKubeError } from '../kube/errors.ts';
import { storedKey } from './stored-key.ts';

const CONSOLE_SECRET = 'model-gateway-console';
/** The first interval applies while there is no key, the second to detect that it was replaced. */
const ASK_AGAIN_MS = 1_000;
const LOOK_EVERY_MS = 10_000;

interface ConsoleKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly namespace: string;
  readonly leading: () => boolean;
  /** Calls a function once after a delay; the returned function cancels it. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Called with the first key and with each new one. */
  readonly onKey: (key: Uint8Array) => void;
}

/** The Secret's entry; its value is base64. */
const ENTRY = 'sealingKey';

/** Starts at once. Retries whatever cannot be read or written. */
export function manageConsoleKey(options: ConsoleKeyOptions): { stop(): void } {
  const { client, namespace, leading, after, log, onKey } = options;
  const stored = storedKey({ client, namespace, secret: CONSOLE_SECRET, entry: ENTRY, bytes: SESSION_KEY_BYTES });
  let known: Buffer | undefined;
  let told: string | undefined;
  let stopped = false;
  let cancel = (): void => undefined;

  /** Returns undefined if there is no key yet and this replica may not create it. */
  async function load(): Promise<Buffer | undefined> {
    return (await stored.read()) ?? (leading() ? stored.make() : undefined);
  }

  async function look(): Promise<void> {
    let problem: string | undefined;
    try {
      const found = await load();
      if (found && !known?.equals(found) && !stopped) onKey((known = found));
    } catch (error) {
      problem = explainKubeError(error);
    }
    if (problem !== undefined && problem !== told)
      log.warn(
        { secret: CONSOLE_SECRET, problem },
        "the key of the console's sessions cannot be read or created; retrying",
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
