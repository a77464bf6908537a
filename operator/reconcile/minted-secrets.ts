/**
 * The Secrets of generated keys on one machine: `<data>/secrets/<namespace>/<name>.yaml`, v1 Secret manifests that only their
 * owner can read. A write is on disk before it counts. Files are read at the start and whenever the folder changes.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { formatSecret, parseSecret } from '../files/secret-file.ts';
import { isMissing, unlessGone } from '../files/unless-gone.ts';
import { syncFolder, writeDurably } from '../files/write-durably.ts';
import { namespacedName, withSecrets } from '../store/resources.ts';
import type { Resources, SecretObject } from '../store/resources.ts';
import type { KeySecrets } from './mint-keys.ts';

export interface MintedSecrets extends KeySecrets {
  readonly folder: string;
  /** By "namespace/name". */
  readonly secrets: ReadonlyMap<string, SecretObject>;
  /** Files that cannot be read as what they should be, and why, by "namespace/name". They are never overwritten. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Reads all files again; resolves to whether anything is different. */
  reload(): Promise<boolean>;
  /** Deletes the file of this Secret, where there is one. */
  discard(id: string): Promise<void>;
}

const EXTENSION = '.yaml';
const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_FOLDER = 0o700;

/** Opens the folder, which is made if need be, and reads what is there. */
export async function openMintedSecrets(dataDir: string): Promise<MintedSecrets> {
  const folder = join(dataDir, 'secrets');
  await makeFolder(folder);
  // nobody else is waiting yet, and to wait for each of ten thousand files takes longer than to read it
  let found = await readSecrets(folder, { secrets: new Map(), unreadable: new Map() }, AT_ONCE);
  /** What was written while a reload was reading: it may have missed it. */
  let writtenMeanwhile: Map<string, SecretObject> | undefined;
  /** The last view, as long as nothing in it is another: what was made of the same Secrets is not made anew. */
  let joined: { readonly provided: Resources['secrets']; readonly secrets: Resources['secrets'] } | undefined;
  return {
    folder,
    get secrets() { return found.secrets; },
    get unreadable() { return found.unreadable; },
    async reload() {
      const before = fingerprint(found);
      const written = writtenMeanwhile = new Map<string, SecretObject>();
      const { secrets, unreadable } = await readSecrets(folder, found, IN_TURNS);
      writtenMeanwhile = undefined;
      found = { secrets: new Map([...secrets, ...written]), unreadable };
      joined = undefined;
      return fingerprint(found) !== before;
    },
    async discard(id) {
      const secret = found.secrets.get(id);
      if (!secret) return;
      await rm(join(folder, secret.namespace, `${secret.name}.yaml`), { force: true });
      await syncFolder(join(folder, secret.namespace));
      found.secrets.delete(id);
      joined = undefined;
    },
    joined(resources) {
      if (joined && sameSecrets(joined.provided, resources.secrets)) return Object.freeze({ ...resources, secrets: joined.secrets });
      const view = withSecrets(resources, found.secrets);
      joined = { provided: resources.secrets, secrets: view.secrets };
      return view;
    },
    find: (id, resources) => resources.secrets.get(id) ?? found.secrets.get(id),
    obstacle(id, resources) {
      const provided = resources.secrets.get(id);
      if (provided) return `its Secret "${provided.name}" is among the manifests, which are never written`;
      const damage = found.unreadable.get(id);
      return damage === undefined ? undefined : `the file of its Secret is damaged: ${damage}`;
    },
    async write(secret, { apiKey: { metadata } }) {
      const comment = `Made by the gateway for the ApiKey ${namespacedName(metadata)}. Delete this file to have another key made.`;
      const id = namespacedName(secret);
      await makeFolder(join(folder, secret.namespace));
      await writeDurably(join(folder, secret.namespace, `${secret.name}.yaml`), { text: formatSecret(secret, comment), mode: OWNER_ONLY_FILE });
      writtenMeanwhile?.set(id, secret);
      found.secrets.set(id, secret);
      joined = undefined;
      return true;
    },
  };
}

interface FoundSecrets {
  readonly secrets: Map<string, SecretObject>;
  readonly unreadable: ReadonlyMap<string, string>;
}

function sameSecrets(before: Resources['secrets'], now: Resources['secrets']): boolean {
  return before.size === now.size && [...now].every(([id, secret]) => before.get(id) === secret);
}

/** How the folder is read. */
interface Disk {
  readonly list: (folder: string) => string[] | Promise<string[]>;
  readonly read: (path: string) => string | Promise<string>;
}

const AT_ONCE: Disk = { list: (folder) => readdirSync(folder), read: (path) => readFileSync(path, 'utf8') };
const IN_TURNS: Disk = { list: (folder) => readdir(folder), read: (path) => readFile(path, 'utf8') };

async function readSecrets(folder: string, before: FoundSecrets, { list, read }: Disk): Promise<FoundSecrets> {
  const secrets = new Map<string, SecretObject>();
  const unreadable = new Map<string, string>();
  for (const namespace of await namesIn(folder, list)) {
    for (const file of await namesIn(join(folder, namespace), list)) {
      if (!file.endsWith(EXTENSION)) continue;
      const id = namespacedName({ namespace, name: file.slice(0, -EXTENSION.length) });
      const reading = readSecret(`${folder}/${namespace}/${file}`, id, read);
      const secret = reading instanceof Promise ? await reading : reading;
      if (typeof secret === 'object') secrets.set(id, secret);
      else if (secret !== undefined) {
        unreadable.set(id, secret);
        const last = before.secrets.get(id);
        if (last) secrets.set(id, last); // a key in use does not end because its file was damaged
      }
    }
  }
  return { secrets, unreadable };
}

/** The Secret, what is wrong with its file, or undefined where it has just been deleted. */
type FoundSecret = SecretObject | string | undefined;

function readSecret(path: string, id: string, read: Disk['read']): FoundSecret | Promise<FoundSecret> {
  try {
    const text = read(path);
    return typeof text === 'string' ? parseSecret(text, path, id) : text.then((read) => parseSecret(read, path, id)).catch(withoutSecret);
  } catch (error) {
    return withoutSecret(error);
  }
}

function withoutSecret(error: unknown): string | undefined {
  return isMissing(error) ? undefined : wordsOf(error);
}

/** Entries of a folder, without those that begin with a dot; none where there is no folder. */
async function namesIn(folder: string, list: Disk['list']): Promise<string[]> {
  return (await unlessGone(Promise.try(list, folder)) ?? []).filter((name) => !name.startsWith('.')).sort();
}

async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
  if (first === undefined) return chmod(folder, OWNER_ONLY_FOLDER);
  await syncFolder(join(first, '..'));
}

function fingerprint({ secrets, unreadable }: FoundSecrets): string {
  return JSON.stringify([
    [...secrets].map(([id, { labels, annotations, data }]) => [id, labels, annotations, [...data]]),
    [...unreadable],
  ]);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
