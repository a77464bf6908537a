/**
 * Keeps the last good configuration on this proxy's disk, so that the proxy can start while no operator responds. The
 * file contains the providers' credentials, so it is encrypted (AES-256-GCM) with a key that is kept elsewhere.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { CipherGCM } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Resource } from '#snapshot/discovery.gen.ts';
import { encodeObject, RESOURCE_TYPES, typeUrlOf } from '#snapshot/resources.ts';
import type { SnapshotField } from '#snapshot/resources.ts';
import type { Inventory } from './inventory.ts';

const MAGIC = Buffer.from('model-gateway configuration 1\n');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MIN_SECRET_BYTES = 32;
/** How many records are encoded before the event loop gets its turn. */
const BATCH = 500;

/** Derives the cipher's key from the bytes of a key file. Throws if they are too few to be a secret. */
export function cacheKey(secret: Buffer): Buffer {
  if (secret.length < MIN_SECRET_BYTES)
    throw new Error(`the key of the configuration cache must have at least ${MIN_SECRET_BYTES} bytes`);
  return Buffer.from(hkdfSync('sha256', secret, MAGIC, 'configuration cache', 32));
}

/** Writes the configuration in force atomically: a crash leaves either the old or the new file. */
export async function writeConfigCache(path: string, key: Buffer, inventory: Inventory): Promise<void> {
  const records = RESOURCE_TYPES.flatMap(({ field }) => recordsOf(inventory, field));
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(MAGIC);
  const temporary = `${path}.new`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.write(Buffer.concat([MAGIC, nonce]));
    await writeRecords(file, cipher, records);
    await file.write(Buffer.concat([cipher.final(), cipher.getAuthTag()]));
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

/**
 * Stages the objects of the file; returns false if there is no file. Rejects if it cannot be read or has been changed.
 */
export async function readConfigCache(path: string, key: Buffer, inventory: Inventory): Promise<boolean> {
  const bytes = await readFile(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!bytes) return false;
  const start = MAGIC.length + NONCE_BYTES;
  if (bytes.length < start + TAG_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw new Error('the file is not a configuration cache of this version');
  const nonce = bytes.subarray(MAGIC.length, start);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(MAGIC).setAuthTag(bytes.subarray(-TAG_BYTES));
  // nothing is parsed before the tag has been checked
  const plain = Buffer.concat([decipher.update(bytes.subarray(start, -TAG_BYTES)), decipher.final()]);
  const fields = new Map(RESOURCE_TYPES.map(({ typeUrl, field }) => [typeUrl, field]));
  const reader = new BinaryReader(plain);
  while (reader.pos < reader.len) {
    const { name, version, resource } = Resource.decode(reader.bytes());
    const field = fields.get(resource?.typeUrl ?? '');
    if (field && resource) inventory.stage(field, { name, version }, resource.value);
  }
  return true;
}

type EncodeRecord = () => Uint8Array;

/** The objects in force now, which are encoded later. */
function recordsOf(inventory: Inventory, field: SnapshotField): EncodeRecord[] {
  const typeUrl = typeUrlOf(field);
  return Array.from(inventory.held(field), ({ name, version, object }) => () => {
    const resource = { typeUrl, value: encodeObject(field, object) };
    return Resource.encode({ name, version, resource }).finish();
  });
}

async function writeRecords(file: FileHandle, cipher: CipherGCM, records: readonly EncodeRecord[]): Promise<void> {
  for (let start = 0; start < records.length; start += BATCH) {
    const writer = new BinaryWriter();
    for (const record of records.slice(start, start + BATCH)) writer.bytes(record());
    await file.write(cipher.update(writer.finish()));
  }
}
