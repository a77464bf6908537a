/** A random key in a Secret of the gateway's namespace, which one replica creates and all others read. */
import { randomBytes } from 'node:crypto';
import type { KubeClient } from '#kube/client.ts';
import { explainKubeError } from '#kube/errors.ts';
import { ownedObject } from '#kube/owned-object.ts';
import type { OwnedRef, Ownership } from '#kube/owned-object.ts';

interface StoredKeyOptions {
  readonly client: Pick<KubeClient, 'request'>;
  readonly namespace: string;
  readonly secret: string;
  /** The Secret's entry; its value is base64. */
  readonly entry: string;
  readonly bytes: number;
}

interface StoredKey {
  /** Undefined if there is no Secret. Rejects if it contains something else, which only its owner may replace. */
  read(): Promise<Buffer | undefined>;
  /** Creates the Secret with this key, or a new one. Undefined if another replica was faster. */
  make(key?: Buffer): Promise<{ readonly key: Buffer; readonly object: OwnedRef } | undefined>;
}

/** Both methods reject with the client's errors. */
export function storedKey({ client, namespace, secret, entry, bytes }: StoredKeyOptions): StoredKey {
  const object = ownedObject(client, { kind: 'Secret', namespace, name: secret });
  return {
    async read() {
      const entries = await object.read();
      if (!entries) return undefined;
      const key = Buffer.from(entries[entry] ?? '', 'base64');
      if (key.length === bytes) return key;
      throw new Error(`its entry ${entry} is not a key; delete the Secret to generate another key`);
    },
    async make(key = randomBytes(bytes)) {
      const written = await object.write({ [entry]: key.toString('base64') });
      return written && { key, object: written };
    },
  };
}

/** The interval of looks while the Secret is missing or cannot be read. */
const LOOK_AGAIN_MS = 1_000;

interface KeptKeyOptions extends Omit<StoredKeyOptions, 'client' | 'namespace'> {
  readonly ownership: Ownership;
  /** The key that a missing Secret gets; undefined: a new one each time. */
  readonly restored?: Buffer;
  /** Called with the first key and with each other one. */
  readonly onKey: (key: Buffer) => void;
}

export interface KeptKey {
  /** Checks the object now. Call it when this replica becomes the leader. */
  look(): void;
  stop(): Promise<void>;
}

/** Watches the Secret, which the leader creates when it is missing. Retries whatever cannot be read or written. */
export function keepStoredKey({ ownership, restored, onKey, ...naming }: KeptKeyOptions): KeptKey {
  const { client, namespace, clock, log, leading, onRestored } = ownership;
  const stored = storedKey({ ...naming, client, namespace });
  let known = restored;
  let told: string | undefined;
  let stopped = false;
  let looking: Promise<void> | undefined;
  let changed = false;
  let cancel = (): void => undefined;

  /** Returns undefined if there is no key and this replica could not create it. */
  async function load(): Promise<Buffer | undefined> {
    const found = await stored.read();
    if (found || !leading()) return found;
    const made = await stored.make(restored);
    if (made && known) onRestored(made.object);
    return made?.key;
  }

  async function lookOnce(): Promise<Buffer | undefined> {
    let problem: string | undefined;
    let found: Buffer | undefined;
    try {
      found = await load();
    } catch (error) {
      problem = explainKubeError(error);
    }
    if (problem !== undefined && problem !== told)
      log.warn({ secret: naming.secret, problem }, 'cannot read or create a key of the gateway; retrying');
    told = problem;
    if (found && !known?.equals(found) && !stopped) onKey((known = found));
    return found;
  }

  function look(): void {
    if (stopped) return;
    cancel();
    changed = looking !== undefined;
    looking ??= lookOnce().then((found) => {
      looking = undefined;
      if (stopped) return;
      if (changed) look();
      else if (!found) cancel = clock.after(LOOK_AGAIN_MS, look);
    });
  }

  look();
  const watch = ownedObject(client, { kind: 'Secret', namespace, name: naming.secret }).watch(ownership, look);
  return {
    look,
    async stop() {
      stopped = true;
      cancel();
      await watch.stop();
    },
  };
}
