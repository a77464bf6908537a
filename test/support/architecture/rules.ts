/** The architecture's rules: FileFacts of all files → violations. layout.ts has the tables. */
import type { FileFacts, Source, Violation } from './facts.ts';
import { LAYOUT, LIMITS, PROCESS_OWNERS, ROOMS, WIRING, isWithin, partOf } from './layout.ts';
import { checkPrivate } from './private.ts';
import { checkPurity } from './purity.ts';
import { readSource } from './source.ts';

/** Returns all violations in these sources, which are the whole product, so that imports can be followed. */
export function checkSources(sources: readonly Source[]): Violation[] {
  return checkFiles(sources.map(readSource));
}

/** The same for sources that are parsed already. */
export function checkFiles(all: readonly FileFacts[]): Violation[] {
  const files = new Map(all.map((file) => [file.path, file]));
  return [
    ...all.flatMap(checkArrows),
    ...all.flatMap(checkRooms),
    ...checkCycles(files),
    ...all.flatMap(checkBarrel),
    ...all.flatMap(checkSizes),
    ...checkMedian(all),
    ...checkPurity(files),
    ...all.flatMap(checkWiring),
    ...all.flatMap(checkAny),
    ...all.flatMap(checkPrivate),
  ];
}

/** Checks every import against the table. */
function checkArrows(file: FileFacts): Violation[] {
  const own = partOf(file.path);
  const part = own === undefined ? undefined : LAYOUT[own];
  if (own === undefined || part === undefined)
    return [{ rule: 'folder', path: file.path, line: 1, message: 'is in no part of the layout' }];
  return file.imports.flatMap(({ specifier, file: target, line }): Violation[] => {
    if (specifier === undefined)
      return [{ rule: 'arrow', path: file.path, line, message: 'imports what is only known at run time' }];
    if (target === undefined) {
      const allowed = specifier.startsWith('node:') || (part.packages ?? []).includes(packageOf(specifier));
      return allowed
        ? []
        : [{ rule: 'package', path: file.path, line, message: `${own} may not import the package ${specifier}` }];
    }
    const allowed = partOf(target) === own || part.may.some((place) => isWithin(target, place));
    return allowed ? [] : [{ rule: 'arrow', path: file.path, line, message: `${own} may not import ${target}` }];
  });
}

/** Checks the imports within the parts that have folders of their own; a room may stand within another. */
function checkRooms(file: FileFacts): Violation[] {
  return Object.keys(ROOMS)
    .filter((room) => isWithin(file.path, room))
    .flatMap((room) => checkRoom(file, room));
}

function checkRoom(file: FileFacts, room: string): Violation[] {
  const arrows = ROOMS[room] ?? {};
  const within = (path: string): string => path.slice(room.length + 1);
  const folder = folderOf(within(file.path));
  if (folder !== undefined && arrows[folder] === undefined)
    return [{ rule: 'folder', path: file.path, line: 1, message: `is in no folder of ${room}` }];
  const [, may = []] =
    Object.entries(arrows)
      .filter(([place]) => isWithin(within(file.path), place))
      .sort(([a], [b]) => b.length - a.length)[0] ?? [];
  return file.imports.flatMap(({ file: target, line }): Violation[] => {
    const other = target !== undefined && isWithin(target, room) ? folderOf(within(target)) : undefined;
    const allowed = other === undefined || other === folder || may.includes(other);
    return allowed ? [] : [{ rule: 'arrow', path: file.path, line, message: `may not import from ${room}/${other}` }];
  });
}

/** The first folder of a relative path; undefined for a file in none. */
function folderOf(path: string): string | undefined {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : undefined;
}

/** "@scope/name/inner" → "@scope/name". */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Finds cycles of imports, including type imports; each is reported once, from its first file. */
function checkCycles(files: ReadonlyMap<string, FileFacts>): Violation[] {
  const done = new Set<string>();
  const trail: string[] = [];
  const found: Violation[] = [];
  const follow = (path: string): void => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      found.push({ rule: 'cycle', path, line: 1, message: [...trail.slice(at), path].join(' → ') });
      return;
    }
    if (done.has(path)) return;
    trail.push(path);
    for (const { file } of files.get(path)?.imports ?? []) if (file !== undefined) follow(file);
    trail.pop();
    done.add(path);
  };
  for (const path of [...files.keys()].sort()) follow(path);
  return found;
}

function checkBarrel(file: FileFacts): Violation[] {
  return file.reExports.map((line) => ({
    rule: 'barrel',
    path: file.path,
    line,
    message: 'hands on what another file exports',
  }));
}

function checkSizes(file: FileFacts): Violation[] {
  if (isGenerated(file.path)) return [];
  const tooBig = (line: number, message: string): Violation => ({ rule: 'size', path: file.path, line, message });
  const found: Violation[] = [];
  if (file.lines > LIMITS.fileLines) found.push(tooBig(1, `${file.lines} lines, at most ${LIMITS.fileLines}`));
  for (const { name, line, statements, parameters, complexity } of file.functions) {
    const who = name === '' ? 'a function' : name;
    if (statements > LIMITS.statements)
      found.push(tooBig(line, `${who} has ${statements} statements, at most ${LIMITS.statements}`));
    if (parameters > LIMITS.parameters)
      found.push(tooBig(line, `${who} has ${parameters} parameters, at most ${LIMITS.parameters}`));
    if (complexity > LIMITS.complexity)
      found.push(tooBig(line, `${who} has a complexity of ${complexity}, at most ${LIMITS.complexity}`));
  }
  return found;
}

function checkMedian(files: readonly FileFacts[]): Violation[] {
  // Callbacks would lower the median, so only named functions count.
  const named = files
    .filter((file) => !isGenerated(file.path))
    .flatMap((file) => file.functions)
    .filter(({ name }) => name !== '');
  const middle = median(named.map(({ statements }) => statements));
  if (middle <= LIMITS.medianStatements) return [];
  const message = `half of the functions have ${middle} statements or more`;
  return [{ rule: 'median', path: '', line: 1, message }];
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/**
 * Only the command line and composition roots can import composition roots, and only the command line uses `process`.
 */
function checkWiring(file: FileFacts): Violation[] {
  const found: Violation[] = [];
  if (!WIRING.some((place) => isWithin(file.path, place))) {
    for (const { file: target, line } of file.imports) {
      if (target !== undefined && WIRING.some((place) => isWithin(target, place)))
        found.push({ rule: 'wiring', path: file.path, line, message: `only the command line starts ${target}` });
    }
  }
  if (PROCESS_OWNERS.some((place) => isWithin(file.path, place)) || file.declared.has('process')) return found;
  for (const { name, line } of file.uses)
    if (name === 'process')
      found.push({ rule: 'wiring', path: file.path, line, message: 'process belongs to the command line' });
  return found;
}

function checkAny(file: FileFacts): Violation[] {
  if (isGenerated(file.path)) return [];
  return file.bareAny.map((line) => ({
    rule: 'any',
    path: file.path,
    line,
    message: 'any, without a comment that says why',
  }));
}

function isGenerated(path: string): boolean {
  return path.endsWith('.gen.ts');
}
