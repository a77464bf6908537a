import type { main } from './main.ts';

export const JOINED_FOLDER: string;
export const JOINED_LIST: string;

/** Path below the root, size in bytes, mtime and ctime in milliseconds. */
export type ModuleState = readonly [path: string, size: number, changedMs: number, replacedMs: number];
/** Of a module now; undefined where it is gone. */
export function stateOf(path: string): ModuleState | undefined;

/** A file that is run before it counts. */
export interface Trial {
  readonly path: string;
  /** Called when the process ends, with the code that it has compiled. */
  readonly keepCompiled: (code: Buffer) => void;
}
/** The exports of main.ts out of the joined file; undefined where the modules are to be run themselves. */
export function loadJoined(trial?: Trial): { readonly main: typeof main } | undefined;
