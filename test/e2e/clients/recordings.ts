/** Compares a client's conversation with its recording; GOLDEN=write writes the recording anew. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { format, resolveConfig } from 'prettier';
import { turnsOf } from './conversation.ts';
import type { Exchange } from './tap.ts';

const FOLDER = join(import.meta.dirname, 'recordings');

/** @param name "Claude Code, Anthropic": the client and what the provider speaks */
export async function expectRecording(name: string, exchanges: readonly Exchange[]): Promise<void> {
  const path = join(FOLDER, `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.yaml`);
  assert.ok(exchanges.length > 0, `${name} has made no call`);
  const text = await formatted(dump(turnsOf(exchanges), { noRefs: true }), path);
  if (process.env['GOLDEN'] === 'write') {
    await mkdir(FOLDER, { recursive: true });
    await writeFile(path, text);
  }
  assert.equal(text, await readFile(path, 'utf8').catch(() => 'no recording: run this suite with GOLDEN=write'), name);
}

/** The text as Prettier leaves it in the file at `path`. */
export async function formatted(text: string, path: string): Promise<string> {
  return format(text, { ...(await resolveConfig(path)), filepath: path });
}
