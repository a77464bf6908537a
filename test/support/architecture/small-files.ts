/**
 * The rule for small files: a file of a few lines that only one other file imports is merged into that one, since a
 * reader would have to open both. ONE_FILE_EACH in layout.ts lists the families whose files stay apart.
 */
import type { FileFacts, Violation } from './facts.ts';
import { LIMITS, ONE_FILE_EACH } from './layout.ts';

/** The files are the whole product, so that all importers are known. Files without an importer are entry points. */
export function checkSmallFiles(files: readonly FileFacts[]): Violation[] {
  const importers = new Map<string, Set<string>>();
  for (const { path, imports } of files)
    for (const { file } of imports) {
      if (file !== undefined) importers.set(file, (importers.get(file) ?? new Set()).add(path));
    }
  return files.flatMap(({ path, lines }): Violation[] => {
    const [importer, another] = importers.get(path) ?? [];
    const isSmall = lines < LIMITS.smallFileLines && importer !== undefined && another === undefined;
    if (!isSmall || path.endsWith('.gen.ts') || Object.values(ONE_FILE_EACH).some((family) => family.test(path)))
      return [];
    return [{ rule: 'small', path, line: 1, message: `${lines} lines for one importer: merge it into ${importer}` }];
  });
}
