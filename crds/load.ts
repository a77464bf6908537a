/** Reads the CustomResourceDefinitions that lie beside this file, and what is generated from them. */
import { readFile, readdir } from 'node:fs/promises';
import type { KindSchema } from './kind-schema.ts';

/** The file names of the CustomResourceDefinitions, sorted. */
export async function crdFileNames(): Promise<string[]> {
  const names = await readdir(new URL('.', import.meta.url));
  return names.filter((name) => name.endsWith('.yaml')).sort();
}

/** The text of each CustomResourceDefinition, in the order of crdFileNames. */
export async function readCrdTexts(): Promise<string[]> {
  const names = await crdFileNames();
  return Promise.all(names.map((name) => readFile(new URL(name, import.meta.url), 'utf8')));
}

/** The kinds of the API, by name. */
export async function loadApiKinds(): Promise<ReadonlyMap<string, KindSchema>> {
  // generated, since parsing the definitions' YAML takes a start a tenth of a second
  const kinds: readonly KindSchema[] = JSON.parse(await readFile(new URL('kinds.gen.json', import.meta.url), 'utf8'));
  return new Map(kinds.map((schema) => [schema.kind, schema]));
}
