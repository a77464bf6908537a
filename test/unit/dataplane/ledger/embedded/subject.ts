/**
 * Embedded ledgers in folders of their own. A crash is what the operating system leaves of a killed process: the file
 * and its log as they are, copied from under the running one.
 */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { openEmbeddedLedger } from '#ledger/embedded.ts';
import type { EmbeddedLedgerOptions } from '#ledger/embedded.ts';
import type { TestClock } from '../calls.ts';
import type { LedgerUnderTest } from '../contract-scenario.ts';

/** A busy machine must not fail a test that is about something else. */
export const LONG_TIMEOUT = { timeoutMs: 60_000 };

export interface TempFolder {
  readonly path: string;
  remove(): void;
}

export function tempFolder(): TempFolder {
  const path = mkdtempSync(join(tmpdir(), 'ledger-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A segment that is gone by now is in the file. */
function copyIfThere(from: string, to: string): void {
  try {
    copyFileSync(from, to);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

/**
 * The files as a process that dies now would leave them. The journal comes first: a segment that is taken into the file
 * while they are copied is then there twice, which does no harm, and not missing.
 */
export function copyLedger(path: string): { readonly folder: TempFolder; readonly path: string } {
  const folder = tempFolder();
  const copy = join(folder.path, 'ledger.db');
  for (const name of readdirSync(dirname(path)).filter((each) => each.startsWith(`${basename(path)}.journal-`)))
    copyIfThere(join(dirname(path), name), copy + name.slice(basename(path).length));
  for (const suffix of ['', '-wal']) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
  return { folder, path: copy };
}

export async function openSubject(
  clock: TestClock,
  over: Partial<EmbeddedLedgerOptions> = {},
): Promise<LedgerUnderTest> {
  const folder = tempFolder();
  return openIn(folder, join(folder.path, 'ledger.db'), { clock: () => clock.nowMs, ...LONG_TIMEOUT, ...over });
}

async function openIn(
  folder: TempFolder,
  path: string,
  options: Omit<EmbeddedLedgerOptions, 'path'>,
): Promise<LedgerUnderTest> {
  const ledger = await openEmbeddedLedger({ ...options, path });
  let next: LedgerUnderTest | undefined;
  return {
    ledger,
    crash: async () => {
      const copy = copyLedger(path);
      await ledger.close();
      return (next = await openIn(copy.folder, copy.path, options));
    },
    reopen: async () => {
      await ledger.close();
      return (next = await openIn(folder, path, options));
    },
    close: async () => {
      await ledger.close();
      await next?.close();
      folder.remove();
    },
  };
}
