/**
 * Runs commands of a page of docs/ in a shell as written. Only the reader's own parts are replaced: folders by other
 * paths, programs by others of the same name that come first on the PATH.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const DOCS = join(import.meta.dirname, '../../../docs');
const run = promisify(execFile);

/** The shell commands below a heading of the page, up to the next heading, one text for each block. */
export function commandsBelow(page: string, heading: string): string[] {
  const text = readFileSync(join(DOCS, page), 'utf8');
  const start = text.indexOf(`\n${heading}\n`);
  assert.notEqual(start, -1, `${page} has no "${heading}"`);
  // what begins with # within a block is a comment, and has one # only
  const [section = ''] = text.slice(start + heading.length + 2).split(/^##+ /m);
  return [...section.matchAll(/^( *)```sh\n([\s\S]*?)^\1```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** The one block that contains all of these words. */
export function blockWith(blocks: readonly string[], ...words: readonly string[]): string {
  const [found, ...more] = blocks.filter((block) => words.every((word) => block.includes(word)));
  if (found === undefined || more.length > 0)
    assert.fail(`${more.length + (found === undefined ? 0 : 1)} blocks have ${words.join(' and ')}`);
  return found;
}

export interface Shell {
  /** Resolves with the output; rejects if the last command fails. */
  run(script: string): Promise<string>;
}

interface ShellOptions {
  /** The folder where the commands are run, and that of the programs. */
  readonly folder: string;
  /** Paths in the text, with their replacements. */
  readonly paths: Readonly<Record<string, string>>;
  /** Scripts by the name of the program that they replace. */
  readonly programs?: Readonly<Record<string, string>>;
}

export async function openShell({ folder, paths, programs = {} }: ShellOptions): Promise<Shell> {
  const bin = join(folder, 'bin');
  await mkdir(bin, { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), script);
    await chmod(join(bin, name), 0o755);
  }
  return {
    async run(script) {
      let text = script;
      for (const [there, here] of Object.entries(paths)) text = text.replaceAll(there, here);
      return (
        await run('sh', ['-c', text], {
          cwd: folder,
          env: { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` },
        })
      ).stdout;
    },
  };
}
