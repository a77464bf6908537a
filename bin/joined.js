/**
 * The program out of one file. join-sources.ts joins its modules, which npm has it do after an installation, and keeps the code that a
 * start compiled: to look for, check and link hundreds of modules one by one, and to compile what they run, is a third of a small start.
 * The file counts only as long as each of its modules is what it was when they were joined, and lies where it lay: who edits one runs
 * the modules themselves. Like mgw.js it has no types to take out.
 */
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';
import { crc32 } from 'node:zlib';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** In node_modules, so that nobody can change it who could not change the modules. Checkouts that share node_modules have one each. */
export const JOINED_FOLDER = `${ROOT}node_modules/.cache/joined/${crc32(ROOT).toString(16)}/`;
/**
 * What was joined: `root`; `name` of its two files; `text` and `compiled`, their CRC-32; `modules`, each as stateOf tells it, or none
 * where nobody is to look.
 */
export const JOINED_LIST = `${JOINED_FOLDER}modules.json`;

/** The exports of main.ts; undefined where nothing is joined, where that is not what the modules say now, and with MGW_JOINED=off. */
export function loadJoined() {
  const found = process.env.MGW_JOINED === 'off' ? undefined : findJoined();
  return found && evaluate(compile(found));
}

/** The same out of a file that does not count yet. `keep` is given the code that was compiled, when the process ends. */
export function tryJoined(path, keep) {
  const script = compile({ path, text: readFileSync(path) });
  process.once('exit', () => keep(script.createCachedData()));
  return evaluate(script);
}

/** Code that another Node has compiled is not taken, and nothing is said of it: the file is compiled as any other. */
function compile({ path, text, compiled }) {
  return new Script(text.toString('latin1'), { filename: path, cachedData: compiled, importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });
}

function evaluate(script) {
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(import.meta.url), module);
  return module.exports;
}

/** What is kept stops nobody: whatever is wrong with it, the modules are there. */
function findJoined() {
  try {
    const { root, name, text: textSum, compiled: compiledSum, modules } = JSON.parse(readFileSync(JOINED_LIST, 'utf8'));
    if (root !== ROOT || !modules.every(isUnchanged)) return undefined;
    const path = `${JOINED_FOLDER}${name}.cjs`;
    const [text, compiled] = [readFileSync(path), readFileSync(`${JOINED_FOLDER}${name}.compiled`)];
    if (crc32(text) === textSum && crc32(compiled) === compiledSum) return { path, text, compiled };
    throw new Error('it is damaged');
  } catch (error) {
    if (error.code !== 'ENOENT') process.emitWarning(`the joined program is left out (npm run prepare makes it anew): ${error.message}`);
    return undefined;
  }
}

/** Its path below the root, its size, when it was changed, and when anybody last changed or replaced it, which cannot be set back. */
export function stateOf(path) {
  const stat = statSync(ROOT + path, { throwIfNoEntry: false });
  return stat && [path, stat.size, stat.mtimeMs, stat.ctimeMs];
}

function isUnchanged([path, ...before]) {
  const now = stateOf(path);
  return now !== undefined && before.every((value, index) => value === now[index + 1]);
}
