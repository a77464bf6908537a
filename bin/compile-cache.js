/**
 * Compiled modules are kept from one start to the next: without them, taking the types out of hundreds of files and compiling
 * them is most of what a start takes. They lie in node_modules, beside the code that they are made from, so that nobody can
 * change them who could not change the code; where that cannot be written, each start compiles anew.
 * This file, mgw.js, joined.js and resolve-sources.js have no types to take out: what does that is loaded at the first one that has, for 35 ms.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));

/** Concerns modules that are loaded from now on, and those of threads. */
export function cacheCompiledModules() {
  process.env['NODE_COMPILE_CACHE'] ??= FOLDER; // threads look there
  enableCompileCache();
}
