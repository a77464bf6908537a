/**
 * Reads the folder of generated keys: all files synchronously at the start, later only files whose signature changed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { scanFolder } from '../files/scan-folder.ts';
import { parseSecret } from '../files/secret-file.ts';
import { isMissing, undefinedIfMissing } from '../files/missing-file.ts';
import { sameJson } from '../status/same-json.ts';
import { sameEntries } from '../store/same.ts';
import { namespacedName } from '../store/resources.ts';
import type { SecretObject } from '../store/resources.ts';

/** What is in the folder, by "namespace/name". */
interface FoundSecrets {
  readonly secrets: Map<string, SecretObject>;
  /** What is wrong with a file. Where its Secret was known before, it is among the Secrets too. */
  readonly unreadable: Map<string, string>;
}

/** By path: how a file was when it was read, and what was in it, or what is wrong with it. */
export type ReadFiles = ReadonlyMap<string, { readonly signature: string; readonly content: SecretObject | string }>;

const EXTENSION = '.yaml';

/** Where generated keys are kept in a data folder. */
export function secretsFolder(dataDir: string): string {
  return join(dataDir, 'secrets');
}

/** The file that keeps a Secret in that folder. */
export function secretPath(folder: string, { namespace, name }: Pick<SecretObject, 'namespace' | 'name'>): string {
  return join(folder, namespace, `${name}${EXTENSION}`);
}

/**
 * Everything, without waiting: nobody else does anything yet, and to wait for each of ten thousand files takes longer
 * than to read it.
 */
export function readAllNow(folder: string): FoundSecrets {
  const gathered = gather(new Map());
  for (const namespace of namesIn(folder)) {
    for (const file of namesIn(`${folder}/${namespace}`)) {
      if (!file.endsWith(EXTENSION)) continue;
      const id = namespacedName({ namespace, name: file.slice(0, -EXTENSION.length) });
      gathered.add(id, readNow(`${folder}/${namespace}/${file}`, id));
    }
  }
  return { secrets: gathered.secrets, unreadable: gathered.unreadable };
}

/** What says the same as before is the same object. */
export async function readChanged(
  folder: string, before: { readonly secrets: ReadonlyMap<string, SecretObject>; readonly files: ReadFiles },
): Promise<FoundSecrets & { readonly files: ReadFiles }> {
  const files = new Map<string, { readonly signature: string; readonly content: SecretObject | string }>();
  const gathered = gather(before.secrets);
  for (const { path, signature } of (await undefinedIfMissing(scanFolder(folder)))?.files ?? []) {
    const id = idOf(folder, path);
    if (id === undefined) continue;
    const last = before.files.get(path);
    const content = gathered.add(id, last?.signature === signature ? last.content : await readLater(path, id));
    if (content !== undefined) files.set(path, { signature, content });
  }
  return { secrets: gathered.secrets, unreadable: gathered.unreadable, files };
}

/** A Secret, what is wrong with its file, or undefined where it has just been deleted. */
type Content = SecretObject | string | undefined;

function gather(before: ReadonlyMap<string, SecretObject>): FoundSecrets & {
  add(id: string, content: Content): Content;
} {
  const secrets = new Map<string, SecretObject>();
  const unreadable = new Map<string, string>();
  return {
    secrets,
    unreadable,
    add(id, content) {
      const last = before.get(id);
      if (typeof content === 'string') unreadable.set(id, content);
      // a key in use does not end because its file was damaged
      const kept = typeof content === 'string' || (last && content && sameSecret(last, content)) ? last : content;
      if (kept !== undefined) secrets.set(id, kept);
      return typeof content === 'string' ? content : kept;
    },
  };
}

function sameSecret(a: SecretObject, b: SecretObject): boolean {
  return sameJson(a.labels, b.labels) && sameJson(a.annotations, b.annotations) && sameEntries(a.data, b.data);
}

/** "namespace/name" of the Secret that a file keeps; undefined: it is none of them. */
function idOf(folder: string, path: string): string | undefined {
  const [namespace, file, ...deeper] = path.slice(folder.length + sep.length).split(sep);
  return namespace === undefined || !file?.endsWith(EXTENSION) ||
    deeper.length > 0 ? undefined : namespacedName({ namespace, name: file.slice(0, -EXTENSION.length) });
}

function readNow(path: string, id: string): Content {
  try {
    return parseSecret(readFileSync(path, 'utf8'), path, id);
  } catch (error) {
    return withoutSecret(error);
  }
}

async function readLater(path: string, id: string): Promise<Content> {
  try {
    return parseSecret(await readFile(path, 'utf8'), path, id);
  } catch (error) {
    return withoutSecret(error);
  }
}

function withoutSecret(error: unknown): string | undefined {
  if (isMissing(error) || isFolder(error)) return undefined;
  return error instanceof Error ? error.message : String(error);
}

/** Whether what was to be read is no file; scanFolder finds no such one either. */
function isFolder(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EISDIR';
}

/** Entries of a folder, without those that begin with a dot; none where there is no folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.')).sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
