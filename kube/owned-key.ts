/**
 * A random key in a Secret of the gateway's namespace: the leader creates it once, all replicas read it and watch it,
 * and the leader restores it when it is deleted. Failed reads and writes are retried.
 */
import { randomBytes } from 'node:crypto';
import { ReconcileLoop } from '#runtime/reconcile-loop.ts';
import type { RunResult } from '#runtime/reconcile-loop.ts';
import { explainKubeError } from './errors.ts';
import { ownedObject } from './owned-object.ts';
import type { Ownership } from './owned-object.ts';

interface OwnedKeyOptions {
  readonly ownership: Ownership;
  /** The Secret's name. */
  readonly secret: string;
  /** The Secret's entry; its value is base64. */
  readonly entry: string;
  readonly bytes: number;
  /** True: a deleted Secret is restored with the first key. False: with a new key. */
  readonly restoresFirst: boolean;
  /** Called with the first key, and whenever the key is another one. */
  readonly onKey: (key: Buffer, isFirst: boolean) => void;
  /** Called with the reason, for people, each time the key cannot be read or created. */
  readonly onProblem?: (problem: string) => void;
}

export interface OwnedKey {
  /** Resolves with the first key. Rejects if it is stopped before. */
  readonly first: Promise<Buffer>;
  /** Checks the Secret now. Call it when this replica becomes the leader. */
  look(): void;
  stop(): Promise<void>;
}

/** How often a missing or unreadable Secret is read again. */
const LOOK_AGAIN_MS = 1_000;

/** Starts at once. */
export function keepOwnedKey(options: OwnedKeyOptions): OwnedKey {
  const { ownership, secret, entry, bytes, restoresFirst, onKey, onProblem } = options;
  const { client, namespace, clock, log, leading, onRestored } = ownership;
  const object = ownedObject(client, { kind: 'Secret', namespace, name: secret });
  const first = Promise.withResolvers<Buffer>();
  first.promise.catch(() => undefined); // whoever awaits it handles the rejection
  let firstKey: Buffer | undefined;
  let known: Buffer | undefined;
  let told: string | undefined;
  let stopped = false;

  /** Undefined if there is no Secret. Rejects if it contains something else, which only its owner may replace. */
  async function read(): Promise<Buffer | undefined> {
    const entries = await object.read();
    if (!entries) return undefined;
    const key = Buffer.from(entries[entry] ?? '', 'base64');
    if (key.length === bytes) return key;
    throw new Error(`its entry ${entry} is no key; delete the Secret, and another one is made`);
  }

  /** Undefined if there is no key and this replica may not create it. */
  async function load(): Promise<Buffer | undefined> {
    const found = await read();
    if (found || !leading()) return found;
    const key = (restoresFirst ? firstKey : undefined) ?? randomBytes(bytes);
    const written = await object.write({ [entry]: key.toString('base64') });
    if (!written) return read(); // another replica was quicker
    if (known) onRestored(written);
    return key;
  }

  function take(key: Buffer): void {
    if (stopped || known?.equals(key)) return;
    known = key;
    const isFirst = firstKey === undefined;
    firstKey ??= key;
    first.resolve(key);
    onKey(key, isFirst);
  }

  async function lookOnce(): Promise<RunResult> {
    const found = await load();
    told = undefined;
    if (found) take(found);
    return found ? {} : { againInMs: LOOK_AGAIN_MS };
  }

  function report(error: unknown): void {
    const problem = explainKubeError(error);
    if (problem !== told) log.warn({ secret, problem }, 'a key of the gateway cannot be read or created; retrying');
    told = problem;
    onProblem?.(`the Secret ${secret}: ${problem}`);
  }

  const loop = new ReconcileLoop({
    run: lookOnce,
    debounceMs: 0,
    longestRetryMs: LOOK_AGAIN_MS,
    onFailed: report,
    clock,
  });
  const look = (): void => void loop.runNow();
  look();
  const watch = object.watch(ownership, look);
  return {
    first: first.promise,
    look,
    async stop() {
      stopped = true;
      first.reject(new Error(`stopped before the key in the Secret ${secret} was read`));
      void loop.stop(); // without a wait for a running look, whose requests may take long
      await watch.stop();
    },
  };
}
