/**
 * The note of a connected proxy in the store: one key, which each of them writes again and which expires by the store's
 * clock. A proxy that is cut off does not write it, so a key by another process shows that others are connected.
 */
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { ValkeyConnection } from './connection.ts';

const EXPIRES_MS = 10_000;

export interface ConnectedNote {
  write(): Promise<void>;
  /** True if the note is another process's. */
  isOthers(): Promise<boolean>;
}

/** `base`: the prefix of the bucket that has the key. */
export function createConnectedNote(
  { write, command }: Pick<ValkeyConnection, 'write' | 'command'>,
  base: string,
  instance: string,
): ConnectedNote {
  const key = `${base}connected`;
  return {
    async write() {
      await answerOf(write(key, ['SET', key, instance, 'PX', String(EXPIRES_MS)]));
    },
    async isOthers() {
      const writer = await answerOf(command(key, ['GET', key]));
      return writer !== null && writer !== instance;
    },
  };
}

function answerOf(answer: Promise<unknown>): Promise<unknown> {
  return answer.catch((error: unknown) => {
    throw new LedgerUnavailable(error instanceof Error ? error.message : String(error));
  });
}
