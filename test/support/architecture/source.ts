/** Parses source text into FileFacts, with oxc. It knows no rules. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import { parseSync } from 'oxc-parser';
import type { FileFacts, Import, Source } from './facts.ts';
import { gather } from './syntax-tree.ts';
import type { Node } from './syntax-tree.ts';

const PACKAGE: unknown = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

/** The folders of package.json's "imports", by alias: "#crds/" → "crds/schema/". */
const ALIASES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries((PACKAGE as { readonly imports: Readonly<Record<string, string>> }).imports).map(([alias, folder]) => [
    alias.replace(/\*$/, ''),
    folder.replace(/^\.\//, '').replace(/\*$/, ''),
  ]),
);

/** @throws SyntaxError if the text does not parse. */
export function readSource({ path, text }: Source): FileFacts {
  const { program, module, comments, errors } = parseSync(path, text);
  const [error] = errors;
  if (error) throw new SyntaxError(`${path}: ${error.message}`);
  const lineOf = lineCounter(text);
  const gathered = gather(program as unknown as Node, lineOf);
  const imports = module.staticImports.map((each): Import => ({
    specifier: each.moduleRequest.value,
    file: resolveFile(path, each.moduleRequest.value),
    typeOnly: each.entries.length > 0 && each.entries.every((entry) => entry.isType),
    names: each.entries.flatMap((entry) => entry.importName.name ?? []),
    line: lineOf(each.start),
  }));
  const dynamic = gathered.dynamicImports.map(({ specifier, line }): Import => ({
    specifier,
    line,
    file: specifier === undefined ? undefined : resolveFile(path, specifier),
    typeOnly: false,
    names: [],
  }));
  const explained = new Set(comments.filter((each) => saysWhy(each.value)).map((each) => lineOf(each.end)));
  return {
    path,
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    imports: [...imports, ...dynamic],
    reExports: module.staticExports
      .filter((each) => each.entries.some((entry) => entry.moduleRequest))
      .map((each) => lineOf(each.start)),
    functions: gathered.functions,
    uses: gathered.uses,
    calls: gathered.calls,
    declared: gathered.declared,
    bareAny: gathered.anyLines.filter((line) => !explained.has(line) && !explained.has(line - 1)),
  };
}

/** Resolves a specifier within the repository; undefined for a package. */
function resolveFile(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return join(dirname(from), specifier);
  for (const [alias, folder] of Object.entries(ALIASES))
    if (specifier.startsWith(alias)) return folder + specifier.slice(alias.length);
  return undefined;
}

/** A directive to a tool is a reason only if it gives one after "--". */
function saysWhy(comment: string): boolean {
  const text = comment.trim();
  return /^(?:oxlint|eslint)-/.test(text) ? /--\s*\S/.test(text) : text.length > 0;
}

/** Returns a function from offset to line, starting at 1. */
function lineCounter(text: string): (offset: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map((match) => match.index + 1)];
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}
