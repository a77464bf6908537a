/**
 * Provides Resources from a watched folder of manifests. An edit is applied as a whole or not at all: with any mistake,
 * a change that an API server would refuse, or all content gone, the last good state stays and every mistake is
 * reported. A later correction is applied like any other edit.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { KindSchema } from '#crds/kind-schema.ts';
import type { Resources } from '#objects/resources.ts';
import { InvalidManifests } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import type { LoadedFolder, LoadFolder, Origin } from '#manifests/load-folder.ts';
import { findForbiddenChanges, findLostContents } from './refuse-edit.ts';
import { readFiles, scanFolder } from '#manifests/scan-folder.ts';
import type { FileText, ReadFiles } from '#manifests/scan-folder.ts';
import { watchFolder } from './watch-folder.ts';

interface ProviderOptions {
  readonly folder: string;
  readonly load: LoadFolder;
  /** The schemas, whose rules compare an object with what it was. */
  readonly kinds: ReadonlyMap<string, KindSchema>;
  readonly onResources: (resources: Resources) => void;
  /** Called for each edit with mistakes, and with an empty list when they are corrected. */
  readonly onProblems: (diagnostics: readonly Diagnostic[]) => void;
  /** Called with all warnings at the start if there are any, and whenever they have changed. */
  readonly onWarnings?: (warnings: readonly Diagnostic[]) => void;
  /** Default: setTimeout. */
  readonly delay?: (ms: number) => Promise<void>;
}

export interface RefreshOptions {
  readonly mayBeEmpty?: boolean;
}

export interface FilesProvider {
  /** The last good state. */
  readonly resources: Resources;
  /** The positions of its objects, by "Kind namespace/name". */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The files that it was read from, by path. */
  readonly files: ReadonlyMap<string, FileText>;
  /** The mistakes that prevent the folder's current content from being in force; empty if there are none. */
  readonly diagnostics: readonly Diagnostic[];
  /**
   * Reads the folder now, without waiting for a notification. Resolves when it has been applied, or its mistakes
   * reported. `mayBeEmpty`: whoever calls has deleted the last object on purpose.
   */
  refresh(options?: RefreshOptions): Promise<void>;
  stop(): Promise<void>;
}

/** The grace period for an editor that empties a file before it writes it. */
const EMPTIED_MS = 300;
const MAX_READS = 5;
const NO_FILES: ReadFiles = new Map();

/** Loads a folder and watches it. Rejects with InvalidManifests if it has mistakes at the start. */
export async function provideFolder(options: ProviderOptions): Promise<FilesProvider> {
  const first = await readFolder(options.folder);
  let good = { ...options.load([...first.files.values()]), files: first.files };
  if (!good.isValid) throw new InvalidManifests(await good.diagnose());

  let warnings: readonly Diagnostic[] = [];
  warn(folderWarnings(options.folder, good));
  let last: ReadFiles | undefined = first.files;
  let diagnostics: readonly Diagnostic[] = [];
  let running: Promise<void> = Promise.resolve();

  function tell(found: readonly Diagnostic[]): void {
    const before = diagnostics.length;
    diagnostics = found;
    if (found.length > 0 || before > 0) options.onProblems(found);
  }

  function warn(found: readonly Diagnostic[]): void {
    if (isDeepStrictEqual(found, warnings)) return;
    warnings = found;
    options.onWarnings?.(found);
  }

  async function take(files: ReadFiles, { mayBeEmpty = false }: RefreshOptions): Promise<void> {
    const next = { ...options.load([...files.values()]), files };
    const edit = { folder: options.folder, before: good, after: next };
    const mistakes = next.isValid
      ? [...(mayBeEmpty ? [] : findLostContents(edit)), ...findForbiddenChanges(edit, options.kinds)]
      : await next.diagnose();
    tell(mistakes);
    if (mistakes.length > 0) return;
    good = next;
    warn(folderWarnings(options.folder, good));
    options.onResources(good.resources);
  }

  /** Runs reloads one at a time. */
  function reload(asked: RefreshOptions = {}): Promise<void> {
    running = readAfter(running, asked);
    return running;
  }

  async function readAfter(before: Promise<void>, asked: RefreshOptions): Promise<void> {
    await before;
    try {
      let next = (await readFolder(options.folder, last)).files;
      if (last && isEmptied(last, next)) {
        await (options.delay ?? sleep)(EMPTIED_MS);
        next = (await readFolder(options.folder, last)).files;
      }
      const isSame = last && haveSameTexts(last, next);
      last = next;
      if (!isSame || (asked.mayBeEmpty && diagnostics.length > 0)) await take(next, asked);
    } catch (error) {
      report(error);
    }
  }

  function report(error: unknown): void {
    last = undefined;
    tell(error instanceof InvalidManifests ? error.diagnostics : [unreadable(options.folder, error)]);
  }

  const onUnreadable = (error: unknown): void => (error === undefined ? undefined : report(error));
  const watch = watchFolder({ folder: options.folder, onChange: () => reload(), onUnreadable }, first.signature);
  return {
    get resources() {
      return good.resources;
    },
    get origins() {
      return good.origins;
    },
    get files() {
      return good.files;
    },
    get diagnostics() {
      return diagnostics;
    },
    refresh: reload,
    async stop() {
      await watch.stop();
      await running;
    },
  };
}

interface FolderFiles {
  readonly files: ReadFiles;
  /** The signature of the scan. */
  readonly signature: string;
}

/**
 * Reads all files of a folder, as consistently as a file system allows. Files that are unchanged from `before` are not
 * read again. Rejects with InvalidManifests.
 */
export async function readFolder(folder: string, before = NO_FILES): Promise<FolderFiles> {
  for (let read = 0; read < MAX_READS; read++) {
    try {
      const scan = await scanFolder(folder);
      const files = await readFiles(scan.files, before);
      if (files) return { files, signature: scan.signature };
    } catch (error) {
      throw new InvalidManifests([unreadable(folder, error)]);
    }
  }
  throw new InvalidManifests([unreadable(folder, 'its files keep changing')]);
}

/** What a folder's author may not know of: what is left out, and that there is nothing. */
export function folderWarnings(folder: string, { warnings, origins, isValid }: LoadedFolder): Diagnostic[] {
  if (origins.size > 0 || !isValid) return [...warnings];
  return [...warnings, { severity: 'Warning', file: folder, line: 0, path: '', message: 'the folder has no objects' }];
}

function unreadable(folder: string, error: unknown): Diagnostic {
  const words = error instanceof Error ? error.message : String(error);
  return { severity: 'Error', file: folder, line: 0, path: '', message: `cannot be read: ${words}` };
}

function isEmptied(before: ReadFiles, now: ReadFiles): boolean {
  return [...now.values()].some(({ path, text }) => text === '' && (before.get(path)?.text ?? '') !== '');
}

function haveSameTexts(before: ReadFiles, now: ReadFiles): boolean {
  return before.size === now.size && [...now.values()].every(({ path, text }) => before.get(path)?.text === text);
}
