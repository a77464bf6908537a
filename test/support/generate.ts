/**
 * Makes what is generated: TypeScript types and the reference of the API out of crds/*.yaml, the error list out of the error table,
 * the snapshot's code out of its .proto. With --check nothing is written; stale files are named, and the exit code is 1.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { loadKinds } from '#crds/kind-schema.ts';
import { readCrdTexts } from '#crds/load.ts';
import { typesText } from './generate/types.ts';

/** A generated file: its path from the project's root, and what it should hold. */
export interface Generated {
  readonly path: string;
  readonly text: string;
}

const ROOT = new URL('../../', import.meta.url);

/** All generated files as they should be. */
export async function generateAll(): Promise<Generated[]> {
  const kinds = loadKinds(await readCrdTexts());
  return [
    { path: 'crds/types.gen.ts', text: typesText(kinds) },
  ];
}

/** Those that differ from what is on disk. */
export async function staleFiles(files: readonly Generated[]): Promise<Generated[]> {
  const current = await Promise.all(files.map((file) => readFile(new URL(file.path, ROOT), 'utf8').catch(() => undefined)));
  return files.filter((file, index) => current[index] !== file.text);
}

async function main(check: boolean): Promise<number> {
  const stale = await staleFiles(await generateAll());
  for (const file of stale) {
    console.log(check ? `${file.path} is stale: run npm run generate` : `wrote ${file.path}`);
    if (!check) await writeFile(new URL(file.path, ROOT), file.text);
  }
  return check && stale.length > 0 ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.includes('--check'));
