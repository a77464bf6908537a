/**
 * This process's journal of settlements (journal-line.ts). It contains those that the store has not
 * acknowledged, which the next process delivers if this one cannot. It also contains those acknowledged in the last
 * minutes, to restore them in a store that lost them. Files rotate, so that older lines disappear.
 */
import { createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { journalPaths, openJournalFiles } from './journal-file.ts';
import type { Epoch } from './epoch.ts';
import { formatLine, parseLine } from './journal-line.ts';
import type { Line, PendingSettlement, Settled } from './journal-line.ts';
import type { Operation } from './operations.ts';

/** A bucket and its current epoch. */
export interface BucketScope {
  readonly base: string;
  readonly epoch: string;
  /** True if this process did not take part in the previous epoch. */
  readonly missed: boolean;
  /** True if the account is in the bucket. */
  readonly accepts: (account: string) => boolean;
}

export interface SettlementJournal {
  /** The settlements that the previous process did not deliver. */
  readonly undelivered: readonly PendingSettlement[];
  /** Resolves with true once the settlement is on disk; with false if it cannot be written now. Never rejects. */
  addPending(settlement: PendingSettlement): Promise<boolean>;
  /** Records an acknowledged settlement. Resolves when the line is written or has failed. Never rejects. */
  addSettled(settled: Settled): Promise<void>;
  /** Records that a job's bill has replaced the charge of its call. Never rejects. */
  addEnded(ended: Settled): Promise<void>;
  /** Records that a settlement is dropped, because the store knows no such hold. */
  addDropped(callId: string): void;
  /** Records that later settlements in this bucket belong to this epoch. */
  beginEpoch(base: string, epoch: Epoch): void;
  /** The start of the bucket's latest epoch; 0 if there was none. */
  latestStart(base: string): number;
  /** Operations that restore a bucket's acknowledged settlements of the last minutes, oldest first. */
  refills(of: BucketScope): Promise<Operation[]>;
  /** Resolves when everything is in the file. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** The folder of the journal's files; created if missing. */
  readonly folder: string;
  /** Called with the reason when the file cannot be written. */
  readonly onFault: (error: unknown) => void;
  readonly monotonicMs?: () => number;
}

/** How many epochs of a bucket are kept. */
const MAX_EPOCHS = 8;

/** A journal that keeps nothing, for tests. */
export const NO_JOURNAL: SettlementJournal = {
  undelivered: [],
  addPending: async () => false,
  addSettled: async () => undefined,
  addEnded: async () => undefined,
  addDropped: () => undefined,
  beginEpoch: () => undefined,
  latestStart: () => 0,
  refills: async () => [],
  close: async () => undefined,
};

/** Opens the folder's journal. Only one process may use it. */
export async function openJournal(options: JournalOptions): Promise<SettlementJournal> {
  const { folder, onFault, monotonicMs = () => performance.now() } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { waiting, epochs } = readKept(journalPaths(folder));
  const undelivered = [...waiting.values()];
  const kept = (): string => [...keptLines(waiting, epochs)].map(formatLine).join('');
  const files = await openJournalFiles({ folder, onFault, monotonicMs, kept });
  return {
    undelivered,
    addPending(settlement) {
      waiting.set(settlement.callId, settlement);
      files.append(formatLine(['Pending', settlement]));
      return files.synced();
    },
    addSettled(settled) {
      const { call = '' } = settled.record;
      waiting.delete(call);
      files.append(formatLine(['Settled', call, settled]));
      return files.written();
    },
    addEnded(ended) {
      files.append(formatLine(['Ended', ended.record.call ?? '', ended]));
      return files.written();
    },
    addDropped(callId) {
      if (waiting.delete(callId)) files.append(formatLine(['Dropped', callId]));
    },
    beginEpoch(base, { id, start }) {
      if (epochs.get(base)?.some((known) => known.id === id)) return;
      files.append(formatLine(['Epoch', base, id, start]));
      // waits, so that no file begins with the new epoch before the lines of the previous one are written
      void files.written().then(() => addEpoch(epochs, base, { id, start }));
    },
    latestStart: (base) => epochs.get(base)?.at(-1)?.start ?? 0,
    refills: (part) => files.reading((paths, waiting) => readRefills(linesOf(paths, waiting), part)),
    close: () => files.close(),
  };
}

/** Epochs by bucket, oldest first. */
type Epochs = Map<string, readonly Epoch[]>;

function addEpoch(epochs: Epochs, base: string, epoch: Epoch): void {
  const known = epochs.get(base) ?? [];
  if (!known.some(({ id }) => id === epoch.id)) epochs.set(base, [...known, epoch].slice(-MAX_EPOCHS));
}

function* keptLines(waiting: ReadonlyMap<string, PendingSettlement>, epochs: Epochs): Generator<Line> {
  for (const [base, known] of epochs) for (const { id, start } of known) yield ['Epoch', base, id, start];
  for (const each of waiting.values()) yield ['Pending', each];
}

/**
 * The operation that restores a settlement, or the end of its job. `since`: 1 if it was acknowledged in the current
 * epoch.
 */
function refillOperation([kind, , { record, ...ending }]: Acknowledged, since: '' | '1' | 'missed'): Operation {
  return { op: kind === 'Ended' ? 'refillEnd' : 'refill', ...record, ...ending, since };
}

async function* linesOf(paths: readonly string[], waiting: readonly string[]): AsyncGenerator<Line> {
  for (const path of paths) yield* readLines(path);
  for (const text of waiting) {
    const line = parseLine(text);
    if (line) yield line;
  }
}

/**
 * Reads the latest line of each call, because the call may have been restored in a later epoch by a change of its own.
 */
async function readRefills(lines: AsyncIterable<Line>, scope: BucketScope): Promise<Operation[]> {
  const { base, epoch, missed, accepts } = scope;
  const operations = new Map<string, Operation>();
  let isOfEpoch = false;
  for await (const line of lines) {
    if (line[0] === 'Epoch') isOfEpoch ||= line[1] === base && line[2] === epoch;
    if (!isAcknowledged(line) || !accepts(line[2].record.account ?? '')) continue;
    operations.delete(line[1]);
    operations.set(line[1], refillOperation(line, isOfEpoch ? '1' : missed ? 'missed' : ''));
  }
  return [...operations.values()];
}

type Acknowledged = Extract<Line, readonly ['Settled' | 'Ended', ...unknown[]]>;

function isAcknowledged(line: Line): line is Acknowledged {
  return line[0] === 'Settled' || line[0] === 'Ended';
}

function readKept(paths: readonly string[]): { waiting: Map<string, PendingSettlement>; epochs: Epochs } {
  const waiting = new Map<string, PendingSettlement>();
  const epochs: Epochs = new Map();
  for (const path of paths) {
    if (!existsSync(path)) continue;
    for (const text of readFileSync(path, 'utf8').split('\n')) {
      const line = parseLine(text);
      if (line?.[0] === 'Pending') waiting.set(line[1].callId, line[1]);
      else if (line?.[0] === 'Epoch') addEpoch(epochs, line[1], { id: line[2], start: line[3] ?? 0 });
      else if (line) waiting.delete(line[1]);
    }
  }
  return { waiting, epochs };
}

/** Does not use node:readline, which also splits lines at U+2028 and other characters that identifiers may contain. */
async function* readLines(path: string): AsyncGenerator<Line> {
  if (!existsSync(path)) return;
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'utf8' })) {
    const texts = `${rest}${String(chunk)}`.split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) {
      const line = parseLine(text);
      if (line) yield line;
    }
  }
}
