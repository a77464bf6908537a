/**
 * Resources from a folder of manifests, watched. An edit is taken as a whole or not at all: with a mistake anywhere the last
 * good state stays, every mistake is reported, and the fix is picked up like any other edit.
 */
import type { Resources } from '../store/resources.ts';
import type { LoadFolder, LoadedFolder, Origin } from './load-folder.ts';
import { ConfigProblems } from './problem.ts';
import type { ConfigProblem } from './problem.ts';
import { readFiles, scanFolder } from './scan-folder.ts';
import type { FileText } from './scan-folder.ts';
import { watchFolder } from './watch-folder.ts';

interface ProviderOptions {
  readonly folder: string;
  readonly load: LoadFolder;
  readonly onResources: (resources: Resources) => void;
  /** Told of each edit with mistakes, and with an empty list when they are mended. */
  readonly onProblems: (problems: readonly ConfigProblem[]) => void;
  /** Waits; default: as long as it is told. */
  readonly delay?: (ms: number) => Promise<void>;
}

export interface FilesProvider {
  /** The last good state. */
  readonly resources: Resources;
  /** Where its objects stand, by "Kind namespace/name". */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The files' texts that it was read from, by path. */
  readonly texts: ReadonlyMap<string, string>;
  /** What keeps the folder as it was read last from being in force; empty: nothing. */
  readonly problems: readonly ConfigProblem[];
  /** Reads the folder now, without waiting for a notice. Resolves when it has been taken, or its problems told. */
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

/** An editor that empties a file before it writes it is given this long. */
const EMPTIED_MS = 300;
const MOST_READS = 5;

/** Loads a folder and watches it. Rejects with ConfigProblems where it is not good to begin with. */
export async function provideFolder(options: ProviderOptions): Promise<FilesProvider> {
  const { files, signature } = await readFolder(options.folder);
  const first = options.load(files);
  if (first.problems.length > 0) throw new ConfigProblems(first.problems);

  let good = first;
  let goodFiles = files;
  let goodTexts: ReadonlyMap<string, string> | undefined;
  let texts: readonly FileText[] | undefined = files;
  let problems: readonly ConfigProblem[] = [];
  let running: Promise<void> = Promise.resolve();

  function tell(found: readonly ConfigProblem[]): void {
    const before = problems.length;
    problems = found;
    if (found.length > 0 || before > 0) options.onProblems(found);
  }

  function take(loaded: LoadedFolder, from: readonly FileText[]): void {
    tell(loaded.problems);
    if (loaded.problems.length > 0) return;
    good = loaded;
    goodFiles = from;
    goodTexts = undefined;
    options.onResources(loaded.resources);
  }

  /** One at a time. */
  function reload(): Promise<void> {
    running = readAfter(running);
    return running;
  }

  async function readAfter(before: Promise<void>): Promise<void> {
    await before;
    try {
      let next = (await readFolder(options.folder)).files;
      if (texts && isEmptied(texts, next)) {
        await (options.delay ?? sleep)(EMPTIED_MS);
        next = (await readFolder(options.folder)).files;
      }
      if (texts && isSame(texts, next)) return;
      texts = next;
      take(options.load(next), next);
    } catch (error) {
      report(error);
    }
  }

  function report(error: unknown): void {
    texts = undefined;
    tell(error instanceof ConfigProblems ? error.problems : [unreadable(options.folder, error)]);
  }

  const watch = watchFolder({ folder: options.folder, onChange: reload, onUnreadable: (error) => error === undefined ? undefined : report(error) }, signature);
  return {
    get resources() { return good.resources; },
    get origins() { return good.origins; },
    get texts() {
      goodTexts ??= new Map(goodFiles.map(({ path, text }) => [path, text]));
      return goodTexts;
    },
    get problems() { return problems; },
    refresh: reload,
    async stop() {
      await watch.stop();
      await running;
    },
  };
}

/** All texts of a folder at one moment, as far as a file system knows moments. Rejects with ConfigProblems. */
export async function readFolder(folder: string): Promise<{ readonly files: readonly FileText[]; readonly signature: string }> {
  for (let read = 0; read < MOST_READS; read++) {
    try {
      const scan = await scanFolder(folder);
      const files = await readFiles(scan.files);
      if (files) return { files, signature: scan.signature };
    } catch (error) {
      throw new ConfigProblems([unreadable(folder, error)]);
    }
  }
  throw new ConfigProblems([{ severity: 'Error', file: folder, line: 0, path: '', message: 'cannot be read: its files change all the time' }]);
}

function unreadable(folder: string, error: unknown): ConfigProblem {
  const words = error instanceof Error ? error.message : String(error);
  return { severity: 'Error', file: folder, line: 0, path: '', message: `cannot be read: ${words}` };
}

function isEmptied(before: readonly FileText[], now: readonly FileText[]): boolean {
  const full = new Set(before.filter(({ text }) => text.length > 0).map(({ path }) => path));
  return now.some(({ path, text }) => text.length === 0 && full.has(path));
}

function isSame(before: readonly FileText[], now: readonly FileText[]): boolean {
  return before.length === now.length && before.every(({ path, text }, index) => now[index]?.path === path && now[index].text === text);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => { setTimeout(resolve, ms); });
}
