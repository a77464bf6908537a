/** Reads the CustomResourceDefinitions, which lie in the folder above, and what is generated from them. */
import { readFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import type { KindSchema } from './kind-schema.ts';

const DEFINITIONS = new URL('..', import.meta.url);

/** The file names of the CustomResourceDefinitions, sorted. */
export async function crdFileNames(): Promise<string[]> {
  const names = await readdir(DEFINITIONS);
  return names.filter((name) => name.endsWith('.yaml')).sort();
}

/** The text of each CustomResourceDefinition, in the order of crdFileNames. */
export async function readCrdTexts(): Promise<string[]> {
  const names = await crdFileNames();
  return Promise.all(names.map((name) => readFile(new URL(name, DEFINITIONS), 'utf8')));
}

/** Generated, since parsing the definitions' YAML takes a start a tenth of a second. */
const KINDS = new URL('kinds.gen.json', import.meta.url);

/** The kinds of the API, by name. */
export async function loadApiKinds(): Promise<ReadonlyMap<string, KindSchema>> {
  return parseKinds(await readFile(KINDS, 'utf8'));
}

/** The same at once, for a start that has nothing else to do. */
export function loadApiKindsSync(): ReadonlyMap<string, KindSchema> {
  return parseKinds(readFileSync(KINDS, 'utf8'));
}

function parseKinds(text: string): ReadonlyMap<string, KindSchema> {
  const kinds: readonly KindSchema[] = JSON.parse(text);
  return new Map(kinds.map((schema) => [schema.kind, schema]));
}
