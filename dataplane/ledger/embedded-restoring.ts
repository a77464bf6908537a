/**
 * The books as the last process left them: from its file, and from the segments of its journal that the file has yet to take in.
 */
import type { Books } from './books.ts';
import { restoreBooks } from './embedded-rows.ts';
import type { OpenFile } from './embedded-thread.ts';
import type { RecordVisitor } from './journal-reader.ts';
import { replayInto } from './journal-replay.ts';
import { segmentsAfter, visitSegment } from './journal-segments.ts';
import { noLeftCalls } from './recent-calls.ts';
import type { LeftCalls } from './recent-calls.ts';

/** Where the books' file and its journal stood, and what the file has yet to take in. */
export interface Restored {
  readonly mark: OpenFile['mark'];
  readonly lastSegment: number;
  readonly left: LeftCalls;
}

/** Fills books, which are empty, with what the file has and what the journal has since. */
export function restore(books: Books, path: string, { file, nowMs }: { readonly file: OpenFile; readonly nowMs: number }): Restored {
  const { mark, stored } = file;
  const segments = segmentsAfter(path, mark);
  const [first] = segments;
  // where the file was replaced, the journal has begun again with everything
  const isOwn = first === undefined || first.ledgerId === mark.ledgerId;
  if (isOwn) restoreBooks(books, stored, nowMs);
  const left = noLeftCalls();
  const replay = remembering(left, replayInto(books, nowMs));
  for (const [index, segment] of segments.entries()) visitSegment(segment, index === segments.length - 1, replay);
  return {
    left,
    mark: isOwn ? mark : { ledgerId: first.ledgerId, folded: first.number - 1 },
    lastSegment: segments.at(-1)?.number ?? mark.folded,
  };
}

function remembering(left: LeftCalls, replay: Required<RecordVisitor>): RecordVisitor {
  return {
    ...replay,
    settled: (call) => {
      left.settled.set(call.record.callId, call);
      replay.settled(call);
    },
    job: (job) => {
      if (job.state === 'Failed') left.refunded.add(job.origin.callId);
      replay.job(job);
    },
  };
}
