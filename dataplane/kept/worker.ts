/** The thread that reads and writes `responses.db`. */
import { parentPort } from 'node:worker_threads';
import type { Posted, Replied } from '../fair-worker.ts';
import type { FileJob, FileReply } from './file-store.ts';
import { ResponseTable } from './response-table.ts';

let table: ResponseTable | undefined;

function run(job: FileJob): FileReply {
  try {
    table ??= new ResponseTable(job.path);
    return { result: resultOf(table, job) };
  } catch (error) {
    table?.close();
    table = undefined; // the next job opens the file anew, because it may have been deleted or damaged
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

function resultOf(open: ResponseTable, job: FileJob): Extract<FileReply, { readonly result: unknown }>['result'] {
  switch (job.work) {
    case 'Put':
      return open.put(job.kept);
    case 'Size':
      return open.sizeOf(job.place, job.nowMs);
    case 'Get':
      return open.get(job.place, job.nowMs);
    case 'Delete':
      return open.delete(job.place, job.nowMs);
  }
}

const port = parentPort;
port?.on('message', ({ job }: Posted<FileJob>) => {
  port.postMessage({ reply: run(job) } satisfies Replied<FileReply>);
});
