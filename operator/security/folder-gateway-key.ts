/** The gateway's own key on one machine: a file of the data folder that only its owner can read. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GATEWAY_KEY_BYTES } from './gateway-key.ts';
import { undefinedIfMissing } from '#runtime/missing-file.ts';
import { writeDurably } from '#runtime/write-durably.ts';

const OWNER_ONLY_FILE = 0o600;

/** Reads the key, or creates one if there is none. Rejects if the file contains something else. */
export async function openGatewayKey(dataDir: string): Promise<Buffer> {
  const path = join(dataDir, 'gateway-key');
  const text = await undefinedIfMissing(readFile(path, 'utf8'));
  if (text === undefined) return makeKey(path);
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === GATEWAY_KEY_BYTES) return key;
  throw new Error(
    `${path} does not contain a key of ${GATEWAY_KEY_BYTES} bytes; delete the file to generate another key`,
  );
}

async function makeKey(path: string): Promise<Buffer> {
  const key = randomBytes(GATEWAY_KEY_BYTES);
  await mkdir(dirname(path), { recursive: true });
  await writeDurably(path, { text: `${key.toString('base64')}\n`, mode: OWNER_ONLY_FILE });
  return key;
}
