/** Recognizes a `responses.db` that a gateway has made, without opening it as a database. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';

/** "mgwr" */
export const APPLICATION_ID = 0x6d677772;
/** Where SQLite's file format has the application's id. */
const OFFSET = 68;

/** The id in the head of an SQLite file; undefined: there is no file, or it is shorter than that. */
export function readApplicationId(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const head = Buffer.alloc(OFFSET + Uint32Array.BYTES_PER_ELEMENT);
  const file = openSync(path, 'r');
  try {
    return readSync(file, head) === head.length ? head.readUInt32BE(OFFSET) : undefined;
  } finally {
    closeSync(file);
  }
}
