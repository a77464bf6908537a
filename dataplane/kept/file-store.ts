/** Keeps responses and conversations in `responses.db`, on a thread of its own, so that no call waits for SQLite. */
import { rmSync } from 'node:fs';
import { createFairWorker } from '../fair-worker.ts';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { APPLICATION_ID, readApplicationId } from './application-id.ts';
import type { KeptPlace, KeptStore, NewKept, NotPut } from './store.ts';

export type FileJob = { readonly path: string } & FileWork;

type FileWork =
  | { readonly work: 'Put'; readonly kept: NewKept }
  | { readonly work: 'Size' | 'Get' | 'Delete'; readonly place: KeptPlace; readonly nowMs: number };

type Result = Uint8Array | number | boolean | NotPut | undefined;

export type FileReply = { readonly result: Result } | { readonly failure: string };

const IDLE_MS = 10 * 60_000;

/** The thread starts with the first response. Accounts take turns. */
export function openFileStore(path: string): KeptStore {
  let fault: unknown;
  const worker = createFairWorker<FileJob, FileReply>({
    module: new URL('worker.ts', import.meta.url),
    // a start of the thread delays the end of a response
    idleMs: IDLE_MS,
    onFault: (error) => {
      fault = error;
    },
  });
  const run = async (account: string, work: FileWork): Promise<Result> => {
    const reply = await worker.run(account, { path, ...work });
    if (!reply) throw new LedgerUnavailable(`the thread of kept responses ended: ${String(fault)}`);
    if ('failure' in reply) throw new LedgerUnavailable(reply.failure);
    return reply.result;
  };
  return {
    async put(kept) {
      const result = await run(kept.account, { work: 'Put', kept });
      return typeof result === 'string' ? result : undefined;
    },
    async sizeOf(place, nowMs) {
      const size = await run(place.account, { work: 'Size', place, nowMs });
      return typeof size === 'number' ? size : undefined;
    },
    async get(place, nowMs) {
      const bytes = await run(place.account, { work: 'Get', place, nowMs });
      return bytes instanceof Uint8Array ? bytes : undefined;
    },
    delete: async (place, nowMs) => (await run(place.account, { work: 'Delete', place, nowMs })) === true,
    close: () => worker.close(),
  };
}

/** Deletes what was kept before keeping was switched off. A file of another program stays. */
export function deleteFileStore(path: string): void {
  if (readApplicationId(path) !== APPLICATION_ID) return;
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
}
