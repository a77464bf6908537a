/**
 * What the main thread and the file's thread tell each other. Types only. Movements do not travel: the thread reads the journal.
 */
import type { FileMark } from './journal-segments.ts';
import type { Row } from './row-reader.ts';

/** Bounds of what is kept of settled calls. */
export interface UsageRetention {
  readonly maxRecords: number;
  readonly maxAgeMs: number;
}

export interface FileSettings {
  readonly path: string;
  readonly retention: UsageRetention;
  /** Whether all that it has is read when it is opened. */
  readonly reading: boolean;
  /** For tests: see embedded-faults.ts. */
  readonly faults: Int32Array | undefined;
}

/** What the file had when it was opened. */
export interface StoredBooks {
  readonly keys: readonly Row[];
  readonly accounts: readonly Row[];
  /** Of a version before the journal. */
  readonly holds: readonly Row[];
  readonly jobs: readonly Row[];
}

export type FileRequest =
  /** Takes the segments from one to another into the file, in one transaction, and removes them. */
  | { readonly type: 'Fold'; readonly seq: number; readonly from: number; readonly to: number; readonly ledgerId: string; readonly nowMs: number }
  | { readonly type: 'FindCall'; readonly seq: number; readonly callId: string }
  | { readonly type: 'FindJob'; readonly seq: number; readonly by: 'Key' | 'Channel'; readonly of: string; readonly jobId: string }
  | { readonly type: 'Close'; readonly seq: number };

export type FileAnswer =
  | { readonly type: 'Opened'; readonly mark: FileMark; readonly stored: StoredBooks }
  | { readonly type: 'NotOpened'; readonly reason: string }
  | { readonly type: 'Done'; readonly seq: number; readonly row: Row | undefined }
  | { readonly type: 'Failed'; readonly seq: number; readonly reason: string };
