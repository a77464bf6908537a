/**
 * This process's own journal of settlements: those that the store has not acknowledged, which the next process delivers
 * if this one cannot, and those of the last minutes that it has, which are put back into a store that lost them. One
 * JSON array a line. Two files take turns, so that what is older than some minutes leaves by itself.
 */
import { createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { journalPaths, openJournalFiles } from './journal-file.ts';
import type { Operation } from './operations.ts';
import type { Reply } from './replies.ts';

/** A settlement that was not acknowledged, or that a call is to be withdrawn. */
export interface PendingSettlement {
  readonly callId: string;
  readonly account: string;
  /** The hold that it replaces, as the store would have it; absent where its process did not know of one. */
  readonly adopt?: Operation;
  readonly settle: Operation;
}

/** What concerns one bucket in its present epoch. */
export interface JournalPart {
  readonly base: string;
  readonly epoch: string;
  /** Whether an account is in the bucket. */
  readonly accepts: (account: string) => boolean;
}

export interface SettlementJournal {
  /** Of the process before this one. */
  readonly left: readonly PendingSettlement[];
  addPending(settlement: PendingSettlement): void;
  /** `reply`: the script's, with everything; `job`: the arguments that make its job. */
  addSettled(reply: Reply, job: readonly string[]): void;
  /** It will not be delivered: the store has never known it. */
  addDropped(callId: string): void;
  /** What is acknowledged in this bucket from now on is so in this epoch. */
  beginEpoch(base: string, epoch: string): void;
  /** Acknowledged settlements of a bucket of the last minutes, oldest first, as operations that put them back. */
  refills(of: JournalPart): Promise<Operation[]>;
  /** Resolves when everything is in the file. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** Where its files are; made where it is missing. */
  readonly folder: string;
  /** Told when the file cannot be written, and why. */
  readonly onFault: (error: unknown) => void;
  readonly monotonicMs?: () => number;
}

/** P: pending. C: committed. D: dropped. E: an epoch began in a bucket. Files of other versions have the same. */
type Line = readonly ['P', PendingSettlement] | Committed | readonly ['D', string] | readonly ['E', string, string];
type Committed = readonly ['C', callId: string, reply: Reply, job: readonly string[]];

/** So many epochs of a bucket are remembered. */
const MAX_EPOCHS = 8;

/** Keeps nothing: for tests, and for ledgers that live as long as their process. */
export const NO_JOURNAL: SettlementJournal = {
  left: [], addPending: () => undefined, addSettled: () => undefined, addDropped: () => undefined,
  beginEpoch: () => undefined, refills: async () => [], close: async () => undefined,
};

/** Opens the folder's journal. Only one process may have it. */
export async function openJournal(options: JournalOptions): Promise<SettlementJournal> {
  const { folder, onFault, monotonicMs = () => performance.now() } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { waiting, epochs } = readKept(journalPaths(folder));
  const left = [...waiting.values()];
  const kept = (): string => [...keptLines(waiting, epochs)].map(lineOf).join('');
  const files = await openJournalFiles({ folder, onFault, monotonicMs, kept });
  return {
    left,
    addPending(settlement) {
      waiting.set(settlement.callId, settlement);
      files.append(lineOf(['P', settlement]));
      void files.flush();
    },
    addSettled(reply, job) {
      const [, , callId = ''] = reply;
      waiting.delete(callId);
      files.append(lineOf(['C', callId, reply, job]));
    },
    addDropped(callId) {
      if (waiting.delete(callId)) files.append(lineOf(['D', callId]));
    },
    beginEpoch(base, epoch) {
      if (epochs.get(base)?.includes(epoch)) return;
      files.append(lineOf(['E', base, epoch]));
      // until then no new file may begin with it: what was before it is still to be written
      void files.written().then(() => addEpoch(epochs, base, epoch));
    },
    refills: (part) => files.reading((paths) => readRefills(paths, part)),
    close: () => files.close(),
  };
}

/** Of each bucket, oldest first. */
type Epochs = Map<string, readonly string[]>;

function addEpoch(epochs: Epochs, base: string, epoch: string): void {
  const known = epochs.get(base) ?? [];
  if (!known.includes(epoch)) epochs.set(base, [...known, epoch].slice(-MAX_EPOCHS));
}

function* keptLines(waiting: ReadonlyMap<string, PendingSettlement>, epochs: Epochs): Generator<Line> {
  for (const [base, known] of epochs) for (const epoch of known) yield ['E', base, epoch];
  for (const each of waiting.values()) yield ['P', each];
}

/** A settlement's line as the operation that puts it back. `isOfEpoch`: it is not older than the epoch. */
function refillOperation([, callId, reply, job]: Committed, isOfEpoch: boolean): Operation {
  const [, account = '', , keyUid = '', ...rest] = reply;
  return { name: 'refill', args: [callId, keyUid, account, ...rest, ...job, isOfEpoch ? '1' : ''] };
}

async function readRefills(paths: readonly string[], { base, epoch, accepts }: JournalPart): Promise<Operation[]> {
  const operations: Operation[] = [];
  let isOfEpoch = false;
  for (const path of paths) {
    for await (const line of readLines(path)) {
      if (line[0] === 'E') isOfEpoch ||= line[1] === base && line[2] === epoch;
      else if (line[0] === 'C' && accepts(line[2][1] ?? '')) operations.push(refillOperation(line, isOfEpoch));
    }
  }
  return operations;
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
      else if (line?.[0] === 'E') addEpoch(epochs, line[1], line[2]);
      else if (line) waiting.delete(line[1]);
    }
  }
  return { waiting, epochs };
}

/** Not by node:readline, which also ends lines at U+2028 and the like: an identifier may have such in it. */
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

/** Undefined: the line was not written to its end. */
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
    case 'P': return typeof line[1] === 'object' && line[1] !== null;
    case 'C': return Array.isArray(line[2]) && Array.isArray(line[3]);
    case 'E': return typeof line[1] === 'string' && typeof line[2] === 'string';
    default: return line[0] === 'D';
  }
}
