/**
 * This process's own file of settlements: those that the store has not acknowledged, which are delivered at the next start if
 * not before, and those of the last minutes that it has, which are put back into a store that lost them. One JSON list a line,
 * appended; two files take turns, so that what is older than some minutes goes away by itself.
 */
import { createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { journalPaths, openJournalFiles } from './journal-file.ts';
import type { Reply, Step } from './steps.ts';

/** A settlement that was not acknowledged, or that a call is to be withdrawn. */
export interface PendingSettlement {
  readonly callId: string;
  readonly account: string;
  /** The hold that it replaces, as the store would have it; absent where its process did not know of one. */
  readonly adopt?: Step;
  readonly settle: Step;
}

/** What concerns one bucket in its present epoch. */
export interface JournalPart {
  readonly base: string;
  readonly epoch: string;
  /** Whether an account is in the bucket. */
  readonly accepts: (account: string) => boolean;
}

export interface Journal {
  /** Of the process before this one. */
  readonly left: readonly PendingSettlement[];
  pending(settlement: PendingSettlement): void;
  /** `reply`: as the script told it; `job`: the last three words of the settlement. */
  settled(callId: string, reply: Reply, job: readonly string[]): void;
  /** The same, with the line as it is to be written. */
  noted(callId: string, line: string): void;
  /** It will not be delivered: the store has never known it. */
  dropped(callId: string): void;
  /** What is acknowledged in this bucket from now on is so in this epoch. */
  began(base: string, epoch: string): void;
  /** Acknowledged settlements of a bucket of the last minutes, oldest first, as steps that put them back. */
  recent(of: JournalPart): Promise<Step[]>;
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

type Line = readonly ['P', PendingSettlement] | readonly ['C', string, Reply, readonly string[]] | readonly ['D', string] | readonly ['E', string, string];

/** So many epochs of a bucket are remembered. */
const MOST_EPOCHS = 8;

/** Keeps nothing: for tests, and for ledgers that live as long as their process. */
export const NO_JOURNAL: Journal = {
  left: [], pending: () => undefined, settled: () => undefined, noted: () => undefined, dropped: () => undefined, began: () => undefined, recent: async () => [], close: async () => undefined,
};

/** Opens the folder's journal. Only one process may have it. */
export async function openJournal({ folder, onFault, monotonicMs = () => performance.now() }: JournalOptions): Promise<Journal> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { waiting, epochs } = readKept(journalPaths(folder));
  const left = [...waiting.values()];
  const files = await openJournalFiles({ folder, onFault, monotonicMs, kept: () => [...keptLines(waiting, epochs)].map(lineOf).join('') });
  const noLonger = (callId: string): void => {
    // a look into a map makes an entry of V8's own for a text that is new
    if (waiting.size > 0) waiting.delete(callId);
  };
  return {
    left,
    pending(settlement) {
      waiting.set(settlement.callId, settlement);
      files.append(lineOf(['P', settlement]));
      void files.flush();
    },
    settled(callId, reply, job) {
      noLonger(callId);
      files.append(lineOf(['C', callId, reply, job]));
    },
    noted(callId, line) {
      noLonger(callId);
      files.append(line);
    },
    dropped(callId) {
      if (waiting.delete(callId)) files.append(lineOf(['D', callId]));
    },
    began(base, epoch) {
      if (epochs.get(base)?.includes(epoch)) return;
      files.append(lineOf(['E', base, epoch]));
      // until then a new file must not begin with it: what was before is yet to be written
      void files.written().then(() => noteEpoch(epochs, base, epoch));
    },
    recent: (part) => files.reading((paths) => readSettled(paths, part)),
    close: () => files.close(),
  };
}

/** Of each bucket, oldest first. */
type Epochs = Map<string, readonly string[]>;

function noteEpoch(epochs: Epochs, base: string, epoch: string): void {
  const known = epochs.get(base) ?? [];
  if (!known.includes(epoch)) epochs.set(base, [...known, epoch].slice(-MOST_EPOCHS));
}

function* keptLines(waiting: ReadonlyMap<string, PendingSettlement>, epochs: Epochs): Generator<Line> {
  for (const [base, known] of epochs) for (const epoch of known) yield ['E', base, epoch];
  for (const each of waiting.values()) yield ['P', each];
}

/** What a settlement's reply says, as the step that puts it back. `since`: it is not older than the epoch. */
function refillStep([, account = '', callId = '', keyUid = '', ...rest]: Reply, job: readonly string[], since: boolean): Step {
  return { name: 'refill', args: [callId, keyUid, account, ...rest, ...job, since ? '1' : ''] };
}

async function readSettled(paths: readonly string[], { base, epoch, accepts }: JournalPart): Promise<Step[]> {
  const steps: Step[] = [];
  let since = false;
  for (const path of paths) {
    for await (const line of readLines(path)) {
      if (line[0] === 'E') since ||= line[1] === base && line[2] === epoch;
      else if (line[0] === 'C' && accepts(line[2][1] ?? '')) steps.push(refillStep(line[2], line[3], since));
    }
  }
  return steps;
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
      else if (line?.[0] === 'E') noteEpoch(epochs, line[1], line[2]);
      else if (line) waiting.delete(line[1]);
    }
  }
  return { waiting, epochs };
}

/** Ends of lines are those of JSON lists, and nothing else that ends a line for people: an identifier may have such in it. */
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

/** A line that a process did not write to its end is none. */
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
