/**
 * Reads the folder of generated keys: at the start all files synchronously, later only files whose signature has
 * changed.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { scanFolder } from '#manifests/scan-folder.ts';
import { parseSecret } from '#manifests/secret-file.ts';
import { isMissing, undefinedIfMissing } from '#runtime/missing-file.ts';
import { sameJson } from '../status/same-json.ts';
import { sameEntries } from '../store/same.ts';
import { namespacedName } from '#objects/resources.ts';
import type { SecretObject } from '#objects/resources.ts';

/** The folder's content, by "namespace/name". */
interface FoundSecrets {
  readonly secrets: Map<string, SecretObject>;
  /** The faults of files. If a faulty file's Secret was known before, `secrets` has it too. */
  readonly unreadable: Map<string, string>;
}

/** By path: a file's signature when it was read, and its Secret or its fault. */
export type ReadSecretFiles = ReadonlyMap<
  string,
  { readonly signature: string; readonly content: SecretObject | string }
>;

const EXTENSION = '.yaml';

/** The folder of generated keys in a data folder. */
export function secretsFolder(dataDir: string): string {
  return join(dataDir, 'secrets');
}

/** The file that keeps a Secret in that folder. */
export function secretPath(folder: string, { namespace, name }: Pick<SecretObject, 'namespace' | 'name'>): string {
  return join(folder, namespace, `${name}${EXTENSION}`);
}

/**
 * Reads all files synchronously: nothing else runs yet, and awaiting each of ten thousand files takes longer than
 * reading it.
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

/** Reads changed files. A Secret with unchanged content stays the same object. */
export async function readChanged(
  folder: string,
  before: { readonly secrets: ReadonlyMap<string, SecretObject>; readonly files: ReadSecretFiles },
): Promise<FoundSecrets & { readonly files: ReadSecretFiles }> {
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

/** A Secret, the fault of its file, or undefined if the file was just deleted. */
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
      // a key in use stays valid if its file is damaged
      const kept = typeof content === 'string' || (last && content && sameSecret(last, content)) ? last : content;
      if (kept !== undefined) secrets.set(id, kept);
      return typeof content === 'string' ? content : kept;
    },
  };
}

function sameSecret(a: SecretObject, b: SecretObject): boolean {
  return sameJson(a.labels, b.labels) && sameJson(a.annotations, b.annotations) && sameEntries(a.data, b.data);
}

/** "namespace/name" of the Secret that a file keeps; undefined if it is not such a file. */
function idOf(folder: string, path: string): string | undefined {
  const [namespace, file, ...deeper] = path.slice(folder.length + sep.length).split(sep);
  return namespace === undefined || !file?.endsWith(EXTENSION) || deeper.length > 0
    ? undefined
    : namespacedName({ namespace, name: file.slice(0, -EXTENSION.length) });
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

/** True if a path is a folder, which scanFolder does not list either. */
function isFolder(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EISDIR';
}

/** Entries of a folder, except those that begin with a dot; none if the folder does not exist. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .sort();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
