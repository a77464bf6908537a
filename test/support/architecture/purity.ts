/**
 * The purity of [P] files: the same arguments always give the same result. Imports for use at run time are followed;
 * types are not.
 */
import type { FileFacts, Use, Violation } from './facts.ts';
import { PURE, PURE_IMPORTS } from './layout.ts';

/** Globals with effects, however they are used. */
const IMPURE = new Set([
  'process',
  'globalThis',
  'console',
  'performance',
  'crypto',
  'fetch',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'require',
  'WebSocket',
  'EventSource',
  'BroadcastChannel',
  'navigator',
  'localStorage',
  'sessionStorage',
  'eval',
  'Function',
  'import.meta',
  'WeakRef',
]);
const IMPURE_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  Math: ['random'],
  Date: ['now'],
  Temporal: ['Now'],
  AbortSignal: ['timeout'],
  Atomics: ['wait', 'waitAsync'],
};

/** Violations of pure files and of their imports. */
export function checkPurity(files: ReadonlyMap<string, FileFacts>): Violation[] {
  const found: Violation[] = [];
  for (const [path, via] of drawnIn(files)) {
    const file = files.get(path);
    if (file === undefined) continue;
    const suffix = via === path ? '' : ` (drawn in by the pure ${via})`;
    for (const { line, message } of [...impureImports(file), ...impureUses(file)])
      found.push({ rule: 'purity', path, line, message: message + suffix });
  }
  return found;
}

/** Pure files and their imports at run time, each with the pure file that leads to it. */
function drawnIn(files: ReadonlyMap<string, FileFacts>): Map<string, string> {
  const reached = new Map<string, string>();
  const queue = [...files.keys()]
    .filter((path) => PURE.some((pattern) => pattern.test(path)))
    .map((path) => [path, path] as const);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [path, via] = next;
    if (reached.has(path)) continue;
    reached.set(path, via);
    for (const { file, typeOnly } of files.get(path)?.imports ?? [])
      if (file !== undefined && !typeOnly) queue.push([file, via]);
  }
  return reached;
}

function impureImports(file: FileFacts): { line: number; message: string }[] {
  return file.imports.flatMap(({ specifier, file: target, typeOnly, names, line }) => {
    if (typeOnly || target !== undefined) return [];
    const pure = specifier === undefined ? undefined : PURE_IMPORTS[specifier];
    const allowed =
      pure !== undefined && (pure.length === 0 || (names.length > 0 && names.every((name) => pure.includes(name))));
    return allowed ? [] : [{ line, message: `imports ${specifier ?? 'what is only known at run time'}` }];
  });
}

function impureUses(file: FileFacts): { line: number; message: string }[] {
  return file.uses
    .filter((use) => !file.declared.has(use.name) && isImpure(use))
    .map((use) => ({
      line: use.line,
      message: `uses ${use.name}${use.member === undefined ? '' : `.${use.member}`}`,
    }));
}

function isImpure({ name, member, withoutArguments }: Use): boolean {
  if (name === 'globalThis' && member !== undefined) return IMPURE.has(member) || member in IMPURE_MEMBERS;
  if (IMPURE.has(name)) return true;
  if (name === 'Date' && withoutArguments) return true;
  // whose clock may be taken from it
  if (name === 'Temporal' && member === undefined) return true;
  return member !== undefined && (IMPURE_MEMBERS[name]?.includes(member) ?? false);
}
