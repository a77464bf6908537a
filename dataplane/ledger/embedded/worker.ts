/**
 * The thread that owns the ledger's file. Only lookups of records wait for it, so it runs at a lower priority than the
 * main thread, which also repeats failed requests (checkpointer.ts).
 */
import { platform, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { LedgerFile } from './ledger-file.ts';
import type { StoredBalances } from './rows.ts';
import type { Row } from '../../usage/rows.ts';
import { openFile, readCheckpoint, readStoredBalances } from './schema.ts';
import type { FileAnswer, FileRequest, ThreadSettings } from './thread.ts';

/** About a quarter of the main thread's CPU share on the same core. */
const NICE = 5;
const NOTHING_STORED: StoredBalances = { keys: [], accounts: [], holds: [], jobs: [] };

function serve(port: MessagePort, settings: ThreadSettings): void {
  const db = openFile(settings.path);
  const stored = settings.readsBalances ? readStoredBalances(db) : NOTHING_STORED;
  const opened: FileAnswer = { type: 'Opened', checkpoint: readCheckpoint(db), stored };
  const file = new LedgerFile(db, settings);
  port.on('message', (request: FileRequest) => {
    port.postMessage(answer(file, request));
    if (request.type === 'Close') port.close();
  });
  port.postMessage(opened);
  // only now, because the main thread waits while the file is opened
  lowerPriority();
}

function answer(file: LedgerFile, request: FileRequest): FileAnswer {
  const { seq } = request;
  try {
    return { type: 'Done', seq, row: perform(file, request) };
  } catch (error) {
    return { type: 'Failed', seq, reason: messageOf(error) };
  }
}

function perform(file: LedgerFile, request: FileRequest): Row | undefined {
  switch (request.type) {
    case 'FindCall':
      return file.findCall(request.callId);
    case 'FindJob':
      return file.findJob(request.job);
    case 'KeepConversation':
      return file.conversations.keep(request.keeping);
    case 'ForgetConversation':
      file.conversations.forget(request.account, request.id);
      return undefined;
    case 'Checkpoint':
      file.checkpoint(request.range);
      return undefined;
    case 'Close':
      file.close();
      return undefined;
  }
}

/** Lowers the priority of this thread. Only on Linux, because elsewhere it would be that of the whole process. */
function lowerPriority(): void {
  if (platform() !== 'linux') return;
  try {
    setPriority(NICE);
  } catch {
    // some sandboxes forbid it; the thread works at normal priority too
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

if (!parentPort) throw new Error("the ledger's worker was started outside a worker thread");
try {
  serve(parentPort, workerData);
} catch (error) {
  parentPort.postMessage({ type: 'NotOpened', reason: messageOf(error) } satisfies FileAnswer, []);
}
