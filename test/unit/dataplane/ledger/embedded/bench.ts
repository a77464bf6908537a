/** An embedded ledger on a disk that fails as a test decides, and its files as a process that dies then leaves them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'vitest';
import type { LedgerFault, LedgerSync } from '../../../../../dataplane/ledger/embedded/committer.ts';
import { FAULT } from '../../../../../dataplane/ledger/embedded/faults.ts';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import type { Ledger } from '../../../../../dataplane/ledger/ledger.ts';
import { copyLedger, LONG_TIMEOUT, tempFolder } from './subject.ts';

export class Bench {
  readonly faults: LedgerFault[] = [];
  readonly path: string;
  readonly ledger: Ledger;
  readonly #switch: Int32Array;

  constructor(path: string, ledger: Ledger, { faults, control }: { faults: LedgerFault[]; control: Int32Array }) {
    this.path = path;
    this.ledger = ledger;
    this.faults = faults;
    this.#switch = control;
  }

  set(fault: keyof typeof FAULT): void {
    Atomics.store(this.#switch, 0, FAULT[fault]);
    Atomics.notify(this.#switch, 0);
  }

  /** Resolves once the ledger has said this of itself, so many times. */
  async told(state: LedgerFault['state'], times = 1): Promise<void> {
    while (this.faults.filter((fault) => fault.state === state).length < times) await sleep(2);
  }

  /** Resolves when the accounts have spent so much in the file. */
  async inFile(...spent: readonly number[]): Promise<void> {
    while (spentInFile(this.path).join() !== spent.join()) await sleep(10);
  }

  /** Keeps another program's lock on the file until the returned function is called. */
  lock(): () => void {
    const other = new DatabaseSync(this.path);
    other.exec('BEGIN IMMEDIATE');
    return () => {
      other.exec('ROLLBACK');
      other.close();
    };
  }

  /** What a process that dies now leaves, as the next one reads it. */
  async afterwards(body: (ledger: Ledger) => Promise<void>): Promise<void> {
    const copy = copyLedger(this.path);
    const ledger = await openEmbeddedLedger({ path: copy.path, ...LONG_TIMEOUT });
    try {
      await body(ledger);
    } finally {
      await ledger.close();
      copy.folder.remove();
    }
  }
}

/** Per account; nothing where there is no file. */
export function spentInFile(path: string): number[] {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true });
    return db
      .prepare('SELECT spent_nano_usd FROM accounts ORDER BY id')
      .all()
      .map((row) => Number(row['spent_nano_usd']));
  } catch {
    return [];
  } finally {
    db?.close();
  }
}

export function faultTest(title: string, body: (bench: Bench) => Promise<void>, sync: LedgerSync = 'normal'): void {
  test(title, async () => {
    const folder = tempFolder();
    const control = new Int32Array(new SharedArrayBuffer(4));
    const faults: LedgerFault[] = [];
    const path = join(folder.path, 'ledger.db');
    const ledger = await openEmbeddedLedger({
      path,
      sync,
      faults: control,
      timeoutMs: 500,
      checkpointEveryMs: 30,
      onFault: (fault) => faults.push(fault),
    });
    const bench = new Bench(path, ledger, { faults, control });
    try {
      await body(bench);
    } finally {
      bench.set('none');
      await ledger.close();
      folder.remove();
    }
  });
}
