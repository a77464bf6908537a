/** The thread that writes `activity.db`. */
import { parentPort } from 'node:worker_threads';
import type { Posted, Replied } from '../fair-worker.ts';
import { ActivityTables } from './activity-table.ts';
import type { FileJob, FileReply } from './file-writer.ts';

let tables: ActivityTables | undefined;

function write({ path, nowMs, batch, figures }: FileJob): FileReply {
  try {
    tables ??= new ActivityTables(path);
    if (batch) tables.write(batch, nowMs);
    if (figures) tables.writeChannels(figures);
    return { failure: undefined };
  } catch (error) {
    tables = undefined; // the next batch opens the file anew, because it may have been deleted or damaged
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

const port = parentPort;
port?.on('message', ({ job }: Posted<FileJob>) => {
  port.postMessage({ reply: write(job) } satisfies Replied<FileReply>);
});
