/**
 * This process's journal of settlements, one JSON array per line. It contains those that the store has not
 * acknowledged, which the next process delivers if this one cannot. It also contains those acknowledged in the last
 * minutes, to restore them in a store that lost them. Files rotate, so that older lines disappear.
 */
import { createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { journalPaths, openJournalFiles } from './journal-file.ts';
import type { Epoch } from './epoch.ts';
import type { Operation } from './operations.ts';
import type { Reply } from './replies.ts';

/** A settlement, or the withdrawal of a hold, that was not acknowledged. */
export interface PendingSettlement {
  readonly callId: string;
  readonly account: string;
  /** Restores the hold that the settlement replaces; absent if its process knew of none. */
  readonly adopt?: Operation;
  readonly settle: Operation;
}

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
  /**
   * `reply` is the script's full reply; `job` are the arguments that create its job; `change` is the number of the
   * change that billed the call, if the reply has later balances. Resolves when the line is written or has failed.
   * Never rejects.
   */
  addSettled(reply: Reply, job: readonly string[], change?: string): Promise<void>;
  /**
   * Records that a job's bill has replaced the charge of its call. `reply` is the call's record in the form of a full
   * reply, `job` are the arguments that name the job's end. Never rejects.
   */
  addEnded(reply: Reply, job: readonly string[]): Promise<void>;
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

/**
 * P: pending. C: committed. F: a committed call's job ended with a bill. D: dropped. E: an epoch began in a bucket.
 * Versions of the program share this format.
 */
type Line =
  | readonly ['P', PendingSettlement]
  | Committed
  | readonly ['D', string]
  | readonly ['E', base: string, epoch: string, start?: number];
type Committed = readonly ['C' | 'F', callId: string, reply: Reply, job: readonly string[], change?: string];

/** The operation that restores a job's end. */
export const REFILL_END = 'refillEnd';
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
  const kept = (): string => [...keptLines(waiting, epochs)].map(lineOf).join('');
  const files = await openJournalFiles({ folder, onFault, monotonicMs, kept });
  return {
    undelivered,
    addPending(settlement) {
      waiting.set(settlement.callId, settlement);
      files.append(lineOf(['P', settlement]));
      return files.synced();
    },
    addSettled(reply, job, change) {
      const [, , callId = ''] = reply;
      waiting.delete(callId);
      files.append(lineOf(change === undefined ? ['C', callId, reply, job] : ['C', callId, reply, job, change]));
      return files.written();
    },
    addEnded(reply, job) {
      const [, , callId = ''] = reply;
      files.append(lineOf(['F', callId, reply, job]));
      return files.written();
    },
    addDropped(callId) {
      if (waiting.delete(callId)) files.append(lineOf(['D', callId]));
    },
    beginEpoch(base, { id, start }) {
      if (epochs.get(base)?.some((known) => known.id === id)) return;
      files.append(lineOf(['E', base, id, start]));
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
  for (const [base, known] of epochs) for (const { id, start } of known) yield ['E', base, id, start];
  for (const each of waiting.values()) yield ['P', each];
}

/**
 * The operation that restores a settlement, or the end of its job. `since`: 1 if it was acknowledged in the current
 * epoch.
 */
function refillOperation([kind, callId, reply, job, change]: Committed, since: '' | '1' | 'missed'): Operation {
  const [, account = '', , keyUid = '', ...rest] = reply;
  const call = [callId, keyUid, account, ...rest];
  const ends = [since, ...(change === undefined ? [] : [change])];
  return kind === 'F'
    ? { name: REFILL_END, args: [...job, ...call, ...ends] }
    : { name: 'refill', args: [...call, ...job, ...ends] };
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
    if (line[0] === 'E') isOfEpoch ||= line[1] === base && line[2] === epoch;
    if (!isCommitted(line) || !accepts(line[2][1] ?? '')) continue;
    operations.delete(line[1]);
    operations.set(line[1], refillOperation(line, isOfEpoch ? '1' : missed ? 'missed' : ''));
  }
  return [...operations.values()];
}

function isCommitted(line: Line): line is Committed {
  return line[0] === 'C' || line[0] === 'F';
}

function lineOf(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

function readKept(paths: readonly string[]): { waiting: Map<string, PendingSettlement>; epochs: Epochs } {
  const waiting = new Map<string, PendingSettlement>();
  const epochs: Epochs = new Map();
  for (const path of paths) {
    if (!existsSync(path)) continue;
    for (const text of readFileSync(path, 'utf8').split('\n')) {
      const line = parseLine(text);
      if (line?.[0] === 'P') waiting.set(line[1].callId, line[1]);
      else if (line?.[0] === 'E') addEpoch(epochs, line[1], { id: line[2], start: line[3] ?? 0 });
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

/** Returns undefined if the line is incomplete. */
function parseLine(text: string): Line | undefined {
  if (text === '') return undefined;
  try {
    const line: unknown = JSON.parse(text);
    return isLine(line) ? line : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isLine(line: unknown): line is Line {
  if (!Array.isArray(line)) return false;
  switch (line[0]) {
    case 'P':
      return typeof line[1] === 'object' && line[1] !== null;
    case 'C':
    case 'F':
      return Array.isArray(line[2]) && Array.isArray(line[3]);
    case 'E':
      return typeof line[1] === 'string' && typeof line[2] === 'string';
    default:
      return line[0] === 'D';
  }
}
