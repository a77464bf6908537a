/**
 * The console's secrets in the data folder, readable by its owner only: the admin token and the key that seals
 * sessions. Each is made once; delete a file and restart to have it made again.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ConsoleSecrets {
  /** The token's text, only if it was generated just now. */
  readonly newToken: string | undefined;
  readonly tokenFile: string;
  /** Whether this is the admin token, in a time that does not depend on it. */
  readonly isToken: (token: string) => boolean;
  readonly sealingKey: Uint8Array;
}

const FOLDER = 'console';
const TOKEN_FILE = 'admin-token';
const SEALING_FILE = 'sealing-key';
const TOKEN_BYTES = 32;
const SEALING_BYTES = 32;
/** The minimum length of a token that an administrator has written there. */
const MIN_CHARACTERS = 32;

/** Rejects if the folder cannot be written, or if one of the files is malformed. */
export async function openConsoleSecrets(dataDir: string): Promise<ConsoleSecrets> {
  const folder = join(dataDir, FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const tokenFile = join(folder, TOKEN_FILE);
  const token = await readOrMake(tokenFile, () => `mgw-${randomBytes(TOKEN_BYTES).toString('base64url')}`);
  if (!/^[\x21-\x7e]+$/.test(token.text) || token.text.length < MIN_CHARACTERS)
    throw new Error(
      `${tokenFile} must hold one line of at least ${MIN_CHARACTERS} characters without spaces; ` +
        'delete it to have another token made',
    );
  const sealingFile = join(folder, SEALING_FILE);
  const sealing = await readOrMake(sealingFile, () => randomBytes(SEALING_BYTES).toString('base64'));
  const sealingKey = Buffer.from(sealing.text, 'base64');
  if (sealingKey.length !== SEALING_BYTES)
    throw new Error(`${sealingFile} is damaged; delete it, and everybody signs in anew`);
  const digest = digestOf(token.text);
  return {
    newToken: token.made ? token.text : undefined,
    tokenFile,
    isToken: (shown) => timingSafeEqual(digestOf(shown), digest),
    sealingKey,
  };
}

async function readOrMake(path: string, make: () => string): Promise<{ text: string; made: boolean }> {
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      const text = make();
      await file.writeFile(`${text}\n`);
      await file.sync();
      return { text, made: true };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    return { text: (await readFile(path, 'utf8')).trim(), made: false };
  }
}

function digestOf(token: string): Buffer {
  return Buffer.from(hash('sha256', token, 'buffer'));
}
