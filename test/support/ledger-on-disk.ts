/**
 * Reads the embedded ledger on disk while another process writes it: the file, and the journal that continues it, as if
 * that process died now.
 */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createBalances } from '#ledger/balances.ts';
import type { Balances } from '#ledger/balances.ts';
import { replayInto, restoreBalances } from '#ledger/embedded/recovery.ts';
import { decodeSettled, SETTLED_COLUMNS } from '#ledger/embedded/rows.ts';
import { readCheckpoint, readStoredBalances } from '#ledger/embedded/schema.ts';
import { prepareRows, rowsOf } from '#usage/sqlite.ts';
import { segmentsAfter, visitSegment } from '#ledger/embedded/segments.ts';
import type { UsageRecord } from '#usage/record.ts';

/** A settled call with its position in the order of settlements. */
interface RecordOnDisk extends UsageRecord {
  readonly seq: number;
}

interface LedgerOnDisk {
  /** Spent and held amounts; the generation is unknown. */
  readonly balances: Balances;
  readonly records: readonly RecordOnDisk[];
}

const TRIES = 50;

/** Undefined if there is no ledger yet. Records up to `afterSeq` are left out; without it, none are. */
export function readLedgerOnDisk(path: string, afterSeq: number | undefined): LedgerOnDisk | undefined {
  for (let tries = 1; existsSync(path); tries++) {
    try {
      return readOnce(path, afterSeq);
    } catch (error) {
      // a segment was checkpointed between the two reads
      if (tries >= TRIES) throw error;
    }
  }
  return undefined;
}

function readOnce(path: string, afterSeq: number | undefined): LedgerOnDisk {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    // one snapshot for all tables
    db.exec('BEGIN');
    const balances = createBalances();
    const records = afterSeq === undefined ? [] : recordsOf(db, afterSeq);
    const nextSeq = Number(db.prepare('SELECT coalesce(max(seq), 0) + 1 AS seq FROM usage').get()?.['seq']);
    const segments = segmentsAfter(path, readCheckpoint(db));
    restoreBalances(balances, readStoredBalances(db), 0);
    replay(balances, segments, { records, nextSeq, afterSeq });
    return { balances, records };
  } finally {
    db.close();
  }
}

function recordsOf(db: DatabaseSync, afterSeq: number): RecordOnDisk[] {
  return rowsOf(
    prepareRows(db, `SELECT seq, ${SETTLED_COLUMNS.join(', ')} FROM usage WHERE seq > ? ORDER BY seq`).all(afterSeq),
  ).map(([seq, ...row]) => ({ ...decodeSettled(row).record, seq: Number(seq) }));
}

/** The file gives the next records their numbers in the same order. */
function replay(
  balances: Balances,
  segments: ReturnType<typeof segmentsAfter>,
  { records, nextSeq, afterSeq }: { records: RecordOnDisk[]; nextSeq: number; afterSeq: number | undefined },
): void {
  const into = replayInto(balances, 0);
  let seq = nextSeq;
  for (const [index, segment] of segments.entries()) {
    visitSegment(segment, index === segments.length - 1, {
      ...into,
      settled: (call) => {
        into.settled(call);
        if (afterSeq !== undefined && seq > afterSeq) records.push({ ...call.record, seq });
        seq++;
      },
      job: (job) => {
        into.job(job);
        const at = records.findIndex(({ callId }) => callId === job.origin.callId);
        if (job.state === 'Failed' && at >= 0)
          records[at] = { ...records[at]!, costNanoUsd: 0n, unbilledNanoUsd: 0n, status: 'Refunded' };
      },
    });
  }
}
