/**
 * The program out of one file. join-sources.ts joins its modules, which npm has it do after an installation, and keeps the code that a
 * start compiled: to look for, check and link hundreds of modules one by one, and to compile what they run, is a third of a small start.
 * The file counts only as long as each of its modules is what it was when they were joined, and lies where it lay: who edits one runs
 * the modules themselves. Like mgw.js it has no types to take out.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** In node_modules, so that nobody can change it who could not change the modules. */
export const JOINED_FOLDER = `${ROOT}node_modules/.cache/joined/`;
/**
 * What was joined: `root`; `modules`, each with its path below the root, its size and when it was changed, or none where nobody is to
 * look; `name`, a digest of the text.
 */
export const JOINED_LIST = `${JOINED_FOLDER}modules.json`;

/** The exports of main.ts; undefined where nothing is joined, where that is not what the modules say now, and with MGW_JOINED=off. */
export function loadJoined() {
  const name = process.env.MGW_JOINED === 'off' ? undefined : joinedNow();
  if (name === undefined) return undefined;
  const text = read(`${JOINED_FOLDER}${name}.cjs`, 'latin1');
  if (text === undefined) return undefined;
  const compiled = `${JOINED_FOLDER}${name}.compiled`;
  // code that another Node has compiled is not taken, and nothing is said of it: the file is compiled as any other
  const script = new Script(text, { filename: `${JOINED_FOLDER}${name}.cjs`, cachedData: read(compiled), importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });
  if (process.env.MGW_JOINED === 'compile') process.once('exit', () => writeWhole(compiled, script.createCachedData()));
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(import.meta.url), module);
  return module.exports;
}

function joinedNow() {
  const text = read(JOINED_LIST, 'utf8');
  if (text === undefined) return undefined;
  const { root, name, modules } = JSON.parse(text);
  return root === ROOT && modules.every(isUnchanged) ? name : undefined;
}

function isUnchanged([path, size, changedMs]) {
  const stat = statSync(ROOT + path, { throwIfNoEntry: false });
  return stat?.size === size && stat.mtimeMs === changedMs;
}

/** undefined where there is none, or none that may be read. */
function read(path, encoding) {
  try {
    return readFileSync(path, encoding);
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'EACCES') return undefined;
    throw error;
  }
}

/** Another start sees all of it, or nothing. */
export function writeWhole(path, content) {
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, content);
  renameSync(unfinished, path);
}
