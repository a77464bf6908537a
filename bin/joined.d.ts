import type { main } from './main.ts';

export const JOINED_FOLDER: string;
export const JOINED_LIST: string;

/** Path below the root, size in bytes, mtime and ctime in milliseconds. */
export type ModuleState = readonly [path: string, size: number, changedMs: number, replacedMs: number];
/** Of a module now; undefined where it is gone. */
export function stateOf(path: string): ModuleState | undefined;

interface Program {
  readonly main: typeof main;
}
/** The exports of main.ts out of the joined file; undefined where the modules are to be run themselves. */
export function loadJoined(): Program | undefined;
/** The same out of a file that does not count yet. `keep` is given the code that was compiled, when the process ends. */
export function tryJoined(path: string, keep: (code: Buffer) => void): Program;
