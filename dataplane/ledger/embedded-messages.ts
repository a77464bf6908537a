/**
 * What the main thread and the file's thread tell each other. Types only.
 */
import type { Batch, StoredBooks } from './embedded-rows.ts';
import type { Row } from './row-reader.ts';
import type { LedgerSync } from './embedded-schema.ts';

/** Bounds of what is kept of settled calls. */
export interface UsageRetention {
  readonly maxRecords: number;
  readonly maxAgeMs: number;
}

export interface FileSettings {
  /** ":memory:" keeps nothing. */
  readonly path: string;
  readonly sync: LedgerSync;
  readonly retention: UsageRetention;
  /** For tests: see embedded-faults.ts. */
  readonly faults: Int32Array | undefined;
}

export type FileRequest =
  | { readonly type: 'Commit'; readonly seq: number; readonly batch: Batch }
  | { readonly type: 'Find'; readonly seq: number; readonly callId: string }
  | { readonly type: 'Close'; readonly seq: number };

export type FileAnswer =
  | { readonly type: 'Opened'; readonly stored: StoredBooks }
  | { readonly type: 'NotOpened'; readonly reason: string }
  | { readonly type: 'Done'; readonly seq: number; readonly row: Row | undefined }
  | { readonly type: 'Failed'; readonly seq: number; readonly reason: string };
