/**
 * This process's own file of settlements: those that the store has not acknowledged, which are delivered at the next start if
 * not before, and those of the last minutes that it has, which are put back into a store that lost them. One JSON list a line,
 * appended; two files take turns, so that what is older than some minutes goes away by itself.
 */
import { createReadStream, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Lines } from './lines.ts';
import type { Reply, Step } from './steps.ts';

/** A settlement that was not acknowledged, and the hold that it replaces, as the store would have it. */
export interface PendingSettlement {
  readonly callId: string;
  readonly account: string;
  readonly adopt: Step;
  readonly settle: Step;
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
  /** Acknowledged settlements of the last minutes, oldest first, as steps that put them back. */
  recent(accepts: (account: string) => boolean): Promise<Step[]>;
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

type Line = readonly ['P', PendingSettlement] | readonly ['C', string, Reply, readonly string[]] | readonly ['D', string];

/** What is acknowledged is wanted only where a store loses it: it may be written together. */
const GATHER_MS = 200;
const TURN_MS = 5 * 60_000;
const TURN_BYTES = 64 * 2 ** 20;

/** Keeps nothing: for tests, and for ledgers that live as long as their process. */
export const NO_JOURNAL: Journal = {
  left: [], pending: () => undefined, settled: () => undefined, noted: () => undefined, dropped: () => undefined, recent: async () => [], close: async () => undefined,
};

/** Opens the folder's journal. Only one process may have it. */
export async function openJournal({ folder, onFault, monotonicMs = () => performance.now() }: JournalOptions): Promise<Journal> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [current, previous] = [join(folder, 'current.jsonl'), join(folder, 'previous.jsonl')];
  const waiting = readPending([previous, current]);
  const left = [...waiting.values()];
  // a line that the process before did not write to its end must not take the next one with it
  let file: FileHandle = await open(current, 'a', 0o600);
  let bytes = 0;
  let sinceMs = monotonicMs();
  const lines = new Lines();
  lines.add('\n');
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const write = async (): Promise<void> => {
    for (let filled = lines.take(); filled.length > 0; filled = lines.take()) {
      bytes += filled.length;
      await file.appendFile(filled);
      if (bytes > TURN_BYTES || monotonicMs() - sinceMs > TURN_MS) await turn();
    }
  };
  const turn = async (): Promise<void> => {
    await file.close();
    renameSync(current, previous);
    file = await open(current, 'a', 0o600);
    [bytes, sinceMs] = [0, monotonicMs()];
    const kept = [...waiting.values()].map((each) => lineOf(['P', each])).join('');
    if (kept !== '') await file.appendFile(kept);
  };
  /** Writes what there is, and what comes meanwhile. */
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    return writing ??= write().catch(onFault).finally(() => { writing = undefined; });
  };
  const append = (line: string): void => {
    lines.add(line);
    timer ??= setTimeout(() => void flush(), GATHER_MS).unref();
  };

  return {
    left,
    pending(settlement) {
      waiting.set(settlement.callId, settlement);
      append(lineOf(['P', settlement]));
      void flush();
    },
    settled(callId, reply, job) {
      waiting.delete(callId);
      append(lineOf(['C', callId, reply, job]));
    },
    noted(callId, line) {
      waiting.delete(callId);
      append(line);
    },
    dropped(callId) {
      if (waiting.delete(callId)) append(lineOf(['D', callId]));
    },
    async recent(accepts) {
      await flush();
      const steps: Step[] = [];
      for (const path of [previous, current]) {
        for await (const line of readLines(path)) if (line[0] === 'C' && accepts(line[2][1] ?? '')) steps.push(refillStep(line[2], line[3]));
      }
      return steps;
    },
    async close() {
      await flush();
      // what was appended at the very end of a write
      await flush();
      clearTimeout(timer);
      await file.close();
    },
  };
}

/** What a settlement's reply says, as the step that puts it back. */
function refillStep([, account = '', callId = '', keyUid = '', ...rest]: Reply, job: readonly string[]): Step {
  return { name: 'refill', args: [callId, keyUid, account, ...rest, ...job] };
}

function lineOf(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

function readPending(paths: readonly string[]): Map<string, PendingSettlement> {
  const pending = new Map<string, PendingSettlement>();
  for (const path of paths) {
    if (!existsSync(path)) continue;
    for (const text of readFileSync(path, 'utf8').split('\n')) {
      const line = parseLine(text);
      if (line?.[0] === 'P') pending.set(line[1].callId, line[1]);
      else if (line) pending.delete(line[1]);
    }
  }
  return pending;
}

async function* readLines(path: string): AsyncGenerator<Line> {
  if (!existsSync(path)) return;
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = parseLine(text);
    if (line) yield line;
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
  return Array.isArray(line) && (line[0] === 'P' ? typeof line[1] === 'object' : (line[0] === 'C' ? Array.isArray(line[2]) && Array.isArray(line[3]) : line[0] === 'D'));
}
