/**
 * What a fuzzer is, and the loop that runs one: batches of random cases against a session, and the session's own check
 * after each batch. A failure names the seed and keeps the cases' exact bytes in a file that `npm run fuzz -- --replay
 * FILE` takes.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomFrom } from './random.ts';
import type { Random } from './random.ts';

export interface FuzzCase {
  /** What the bytes are meant for, as the fuzzer reads it. */
  readonly label: string;
  readonly pieces: readonly Buffer[];
}

export interface FuzzSession {
  /** Cases that run at the same time. */
  readonly batch: number;
  next(random: Random): FuzzCase;
  /** Throws where the case itself shows a defect. */
  run(one: FuzzCase): Promise<void>;
  /** After each batch: throws where the batch left something behind. */
  check(): Promise<void>;
  close(): Promise<void>;
}

export interface Fuzzer {
  readonly name: string;
  open(): Promise<FuzzSession>;
}

interface FuzzRun {
  readonly seed: number;
  readonly durationMs: number;
  /** How many cases at most; default: as many as the time allows. */
  readonly cases?: number;
}

/** Resolves with the number of cases. */
export async function fuzz(fuzzer: Fuzzer, { seed, durationMs, cases = Infinity }: FuzzRun): Promise<number> {
  const random = randomFrom(seed);
  const session = await fuzzer.open();
  const endMs = performance.now() + durationMs;
  let count = 0;
  try {
    while (performance.now() < endMs && count < cases) {
      const batch = Array.from({ length: session.batch }, () => session.next(random.fork()));
      await runBatch(fuzzer, session, { seed, batch });
      count += batch.length;
    }
  } finally {
    await session.close();
  }
  return count;
}

/** The cases of a replay file once more. */
export async function replay(fuzzer: Fuzzer, cases: readonly FuzzCase[]): Promise<void> {
  const session = await fuzzer.open();
  try {
    await runBatch(fuzzer, session, { seed: 0, batch: cases });
  } finally {
    await session.close();
  }
}

async function runBatch(
  fuzzer: Fuzzer,
  session: FuzzSession,
  { seed, batch }: { seed: number; batch: readonly FuzzCase[] },
): Promise<void> {
  const results = await Promise.allSettled(batch.map((one) => session.run(one)));
  const failed = results.findIndex((result) => result.status === 'rejected');
  const result = results[failed];
  if (result?.status === 'rejected')
    throw failure(fuzzer, { seed, cases: batch.slice(failed, failed + 1), error: result.reason });
  await session.check().catch((error: unknown) => {
    throw failure(fuzzer, { seed, cases: batch, error });
  });
}

const MOST_SHOWN = 1500;

function failure(
  fuzzer: Fuzzer,
  { seed, cases, error }: { seed: number; cases: readonly FuzzCase[]; error: unknown },
): Error {
  const file = join(
    tmpdir(),
    `mgw-fuzz-${fuzzer.name}-${seed}-${Math.trunc(performance.timeOrigin + performance.now())}.json`,
  );
  writeFileSync(file, encodeCases(fuzzer.name, cases));
  const shown =
    cases.length === 1
      ? `\ncase ${cases[0]?.label}: ${JSON.stringify(Buffer.concat(cases[0]?.pieces ?? []).toString('latin1')).slice(0, MOST_SHOWN)}`
      : `\n${cases.length} cases`;
  const why = error instanceof Error ? error.message : String(error);
  return new Error(`fuzz ${fuzzer.name}, seed ${seed}: ${why}\nreplay: npm run fuzz -- --replay ${file}${shown}`, {
    cause: error,
  });
}

function encodeCases(fuzzer: string, cases: readonly FuzzCase[]): string {
  return JSON.stringify({
    fuzzer,
    cases: cases.map(({ label, pieces }) => ({ label, pieces: pieces.map((piece) => piece.toString('base64')) })),
  });
}

export function decodeCases(text: string): { fuzzer: string; cases: FuzzCase[] } {
  const { fuzzer, cases } = JSON.parse(text) as { fuzzer: string; cases: { label: string; pieces: string[] }[] };
  return {
    fuzzer,
    cases: cases.map(({ label, pieces }) => ({ label, pieces: pieces.map((piece) => Buffer.from(piece, 'base64')) })),
  };
}
