/** Reads the text of a file, or of stdin. */
import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import { CommandFailed } from '../exit-codes.ts';

/** `-`: stdin. Throws CommandFailed if the file cannot be read. */
export async function readPlace(place: string): Promise<string> {
  try {
    return place === '-' ? await readText(process.stdin) : await readFile(place, 'utf8');
  } catch (error) {
    throw new CommandFailed(
      `${place} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      undefined,
      error,
    );
  }
}
