/**
 * Embedded ledgers in folders of their own. A crash is what the operating system leaves of a killed process: the file
 * and its log as they are, copied from under the running one.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedLedger } from '../../../../../dataplane/ledger/embedded.ts';
import type { EmbeddedLedgerOptions } from '../../../../../dataplane/ledger/embedded.ts';
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

/**
 * The files as a process that dies now would leave them. The test's process is between two commits meanwhile. A
 * checkpoint that moves pages while both are copied does no harm, because the log comes last, unless it begins the log
 * anew.
 */
export function copyLedger(path: string): { readonly folder: TempFolder; readonly path: string } {
  const folder = tempFolder();
  const copy = join(folder.path, 'ledger.db');
  const log = `${path}-wal`;
  for (let before: Buffer | undefined; before === undefined || !before.equals(headerOf(log));) {
    before = headerOf(log);
    for (const suffix of ['', '-wal']) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
  }
  return { folder, path: copy };
}

function headerOf(log: string): Buffer {
  return existsSync(log) ? readFileSync(log).subarray(0, 32) : Buffer.alloc(0);
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
