/** Reads the CustomResourceDefinitions from the folder above. */
import { readFileSync, readdirSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { loadKinds } from './kind-schema.ts';
import type { KindSchema } from './kind-schema.ts';

const DEFINITIONS = new URL('..', import.meta.url);

/** The file names of the CustomResourceDefinitions, sorted. */
export async function crdFileNames(): Promise<string[]> {
  return definitionsAmong(await readdir(DEFINITIONS));
}

/** The text of each CustomResourceDefinition, in the order of crdFileNames. */
export async function readCrdTexts(): Promise<string[]> {
  const names = await crdFileNames();
  return Promise.all(names.map((name) => readFile(new URL(name, DEFINITIONS), 'utf8')));
}

/** The kinds of the API, by name. */
export async function loadApiKinds(): Promise<ReadonlyMap<string, KindSchema>> {
  return byName(await readCrdTexts());
}

/** Loads synchronously, for the start of a process that has nothing else to do. */
export function loadApiKindsSync(): ReadonlyMap<string, KindSchema> {
  const names = definitionsAmong(readdirSync(DEFINITIONS));
  return byName(names.map((name) => readFileSync(new URL(name, DEFINITIONS), 'utf8')));
}

function definitionsAmong(names: readonly string[]): string[] {
  return names.filter((name) => name.endsWith('.yaml')).sort();
}

function byName(texts: readonly string[]): ReadonlyMap<string, KindSchema> {
  return new Map(loadKinds(texts).map((schema) => [schema.kind, schema]));
}
