import type { main } from './main.ts';

export const JOINED_FOLDER: string;
export const JOINED_LIST: string;
/** The exports of main.ts out of the joined file; undefined where the modules are to be run themselves. */
export function loadJoined(): { readonly main: typeof main } | undefined;
/** Writes a file that others see whole, or not at all. */
export function writeWhole(path: string, content: string | Uint8Array): void;
