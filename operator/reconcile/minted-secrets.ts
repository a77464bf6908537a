/**
 * The Secrets of generated keys on a single machine: `<data>/secrets/<namespace>/<name>.yaml`, v1 Secret manifests that
 * only their owner can read. A key is issued after its file is durable. Files are read at the start and when the folder
 * changes.
 */
import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { formatSecret } from '#manifests/secret-file.ts';
import { syncFolder, writeDurably } from '#runtime/write-durably.ts';
import { KEY_LABEL } from '#objects/key-secret.ts';
import { findSecret, namespacedName, withSecrets } from '#objects/resources.ts';
import type { SecretObject, SecretRef } from '#objects/resources.ts';
import { sameEntries } from '../store/same.ts';
import { readAllNow, readChanged, secretPath, secretsFolder } from './minted-files.ts';
import type { ReadSecretFiles } from './minted-files.ts';
import type { KeySecrets } from './mint-keys.ts';

export interface MintedSecrets extends KeySecrets {
  readonly folder: string;
  /** By "namespace/name". */
  readonly secrets: ReadonlyMap<string, SecretObject>;
  /** Files that do not contain the expected Secret, and why, by "namespace/name". They are never overwritten. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Reads what has changed in the folder; resolves with whether anything differs. */
  reload(): Promise<boolean>;
  /** Writes a Secret of the folder again, with other annotations. Resolves when it is durable. */
  replace(secret: SecretObject): Promise<void>;
  /** Deletes the file of this Secret, if it exists. */
  discard(ref: SecretRef): Promise<void>;
}

const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_FOLDER = 0o700;

/** Opens the folder, which is created if missing, and reads it. */
export async function openMintedSecrets(dataDir: string): Promise<MintedSecrets> {
  const folder = secretsFolder(dataDir);
  await makeFolder(folder);
  let { secrets, unreadable } = readAllNow(folder);
  let files: ReadSecretFiles = new Map();
  /** Secrets written during a reload, which may have missed them. */
  let writtenMeanwhile: Map<string, SecretObject> | undefined;
  return {
    folder,
    get secrets() {
      return secrets;
    },
    get unreadable() {
      return unreadable;
    },
    async reload() {
      const written = (writtenMeanwhile = new Map<string, SecretObject>());
      const next = await readChanged(folder, { secrets, files });
      writtenMeanwhile = undefined;
      const now = new Map([...next.secrets, ...written]);
      const same = sameEntries(secrets, now) && sameEntries(unreadable, next.unreadable);
      ({ files, unreadable } = next);
      if (same) return false;
      secrets = now;
      return true;
    },
    async discard(ref) {
      const id = namespacedName(ref);
      const secret = secrets.get(id);
      if (!secret) return;
      await rm(secretPath(folder, secret), { force: true });
      await syncFolder(join(folder, secret.namespace));
      secrets.delete(id);
    },
    joined: (resources) => withSecrets(resources, secrets.values()),
    find: (ref, resources) => findSecret(resources.secrets, ref) ?? secrets.get(namespacedName(ref)),
    obstacle(ref, resources) {
      const provided = findSecret(resources.secrets, ref);
      if (provided) return `its Secret "${provided.name}" is among the manifests, which are never written`;
      const damage = unreadable.get(namespacedName(ref));
      return damage === undefined ? undefined : `the file of its Secret is damaged: ${damage}`;
    },
    replace: save,
    async write(secret) {
      await save(secret);
      return true;
    },
  };

  async function save(secret: SecretObject): Promise<void> {
    const { namespace, labels } = secret;
    const apiKey = namespacedName({ namespace, name: labels[KEY_LABEL] ?? '' });
    const comment = `Made by the gateway for the ApiKey ${apiKey}. Delete this file to have another key made.`;
    const id = namespacedName(secret);
    await makeFolder(join(folder, namespace));
    await writeDurably(secretPath(folder, secret), { text: formatSecret(secret, comment), mode: OWNER_ONLY_FILE });
    writtenMeanwhile?.set(id, secret);
    secrets.set(id, secret);
  }
}

async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: OWNER_ONLY_FOLDER });
  if (first === undefined) return chmod(folder, OWNER_ONLY_FOLDER);
  await syncFolder(join(first, '..'));
}
