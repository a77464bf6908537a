/**
 * Joins the program's modules into one file for the next starts, and has one start compile what starts run (joined.js loads both).
 * `npm install` does this at its end, and `npm run prepare` after an edit; where it cannot be done, the modules are run as they are.
 *
 * Packages that few starts need, or that lend their insides to one of our own modules by name, stay outside and are loaded by Node.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { crc32 } from 'node:zlib';
import { build } from 'esbuild';
import { writeDurably } from '../operator/files/write-durably.ts';
import { JOINED_FOLDER, JOINED_LIST, stateOf } from './joined.js';
import type { ModuleState } from './joined.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUTSIDE = ['@grpc/grpc-js', '@kubernetes/client-node', '@redis/client', 'gpt-tokenizer', 'undici', 'yaml'];
/** What is joined depends on them as well. */
const MAKERS = ['bin/mgw.js', 'bin/joined.js', 'bin/join-sources.ts', 'bin/try-joined.ts'];
/** What npm has installed, where it was npm. */
const INSTALLED = 'node_modules/.package-lock.json';
const BEYOND_ASCII = /[^\0-\x7F]/g;
/** In a raw template, or after a backslash, which would be taken for another's. */
const UNSURE = /\braw`[^`]*[^\0-\x7F]|\\[^\0-\x7F]/;
/** What the start that compiles runs on. */
const EXAMPLE = join(ROOT, 'bin', 'join-sources.yaml');
const MODE = 0o644;
const LONGEST_START_MS = 60_000;
/** A file system's clock is behind by up to this. */
const CLOCK_STEP_MS = 10;

/**
 * Resolves with the number of modules. `fixed`: they are never looked at again. Rejects where they cannot be joined or do not start so;
 * what was joined before is left as it was.
 */
export async function joinSources({ fixed }: { readonly fixed: boolean }): Promise<number> {
  const beganMs = Date.now();
  const { text, paths } = await joinModules();
  const modules = [...paths, ...MAKERS, ...existsSync(join(ROOT, INSTALLED)) ? [INSTALLED] : []].map((path) => stateAtRest(path, beganMs));
  mkdirSync(JOINED_FOLDER, { recursive: true });
  const name = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const [path, compiledPath] = [join(JOINED_FOLDER, `${name}.cjs`), join(JOINED_FOLDER, `${name}.compiled`)];
  await writeDurably(path, { text, mode: MODE });
  const compiled = await tryOut(path);
  await writeDurably(compiledPath, { text: compiled, mode: MODE });
  // the list comes last, and names what was seen to start
  await writeDurably(JOINED_LIST, { text: JSON.stringify({ root: ROOT, name, text: crc32(text), compiled: crc32(compiled), modules: fixed ? [] : modules }), mode: MODE });
  for (const file of readdirSync(JOINED_FOLDER).map((each) => join(JOINED_FOLDER, each))) if (![path, compiledPath, JOINED_LIST].includes(file)) rmSync(file, { force: true });
  return paths.length;
}

/** As one expression: a function of what a CommonJS module is given. */
async function joinModules(): Promise<{ readonly text: Uint8Array; readonly paths: readonly string[] }> {
  const { outputFiles, metafile, warnings } = await build({
    absWorkingDir: ROOT, entryPoints: ['bin/main.ts'], bundle: true, write: false, metafile: true, logLevel: 'silent',
    platform: 'node', format: 'cjs', target: `node${process.versions.node}`, external: OUTSIDE,
    // modules are strict; whether there is a tsconfig.json is to change nothing
    tsconfigRaw: { compilerOptions: { strict: true, verbatimModuleSyntax: true } },
    banner: { js: '(function (exports, require, module) {' }, footer: { js: '})' },
    plugins: [{
      name: 'places',
      setup: (plugin) => plugin.onLoad({ filter: /\.[jt]s$/ }, ({ path }) => isOwn(path) ? { contents: withPlaces(path), loader: path.endsWith('.ts') ? 'ts' : 'js' } : undefined),
    }],
  });
  const [output] = outputFiles;
  if (warnings[0] || !output) throw new Error(warnings[0]?.text ?? 'nothing came of it');
  return { text: Buffer.from(asAscii(output.text), 'latin1'), paths: Object.keys(metafile.inputs) };
}

/**
 * One letter beyond Latin-1 has V8 hold two bytes for each of all four million. esbuild leaves them in patterns and templates, which
 * know the same escapes, but for templates that are taken raw.
 */
function asAscii(text: string): string {
  const [unsure] = UNSURE.exec(text) ?? [];
  if (unsure !== undefined) throw new Error(`a letter beyond ASCII cannot be escaped here: ${unsure}`);
  return text.replaceAll(BEYOND_ASCII, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function isOwn(path: string): boolean {
  return path.startsWith(ROOT) && !path.startsWith(join(ROOT, 'node_modules/'));
}

/** A joined module is still told where it lies itself. */
function withPlaces(path: string): string {
  return readFileSync(path, 'utf8')
    .replaceAll('import.meta.dirname', () => JSON.stringify(dirname(path)))
    .replaceAll('import.meta.url', () => JSON.stringify(pathToFileURL(path).href));
}

/** What it says now is what was read only where nobody has changed it since. */
function stateAtRest(path: string, beganMs: number): ModuleState {
  const state = stateOf(path);
  if (!state) throw new Error(`${path} is missing`);
  if (Math.max(state[2], state[3]) > beganMs - CLOCK_STEP_MS) throw new Error(`${path} is being edited`);
  return state;
}

/** The code that one start has compiled when it ends. It leaves nothing else. */
async function tryOut(path: string): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-join-'));
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once('SIGTERM', stop).once('SIGINT', stop);
  try {
    const config = join(folder, 'manifests');
    mkdirSync(config);
    copyFileSync(EXAMPLE, join(config, 'example.yaml'));
    const args = ['run', '--config', config, '--data', join(folder, 'data'), '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--console', '127.0.0.1:0'];
    const compiled = join(folder, 'compiled');
    await start([path, compiled, ...args], stopped.signal);
    return readFileSync(compiled);
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop);
    rmSync(folder, { recursive: true });
  }
}

/** Rejects with what it complained of, unless it became ready and then ended in order. */
async function start(args: readonly string[], signal: AbortSignal): Promise<void> {
  const environment = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('MGW_') && !key.startsWith('NODE_') || key === 'NODE_COMPILE_CACHE'));
  const child = spawn(process.execPath, [join(ROOT, 'bin', 'try-joined.ts'), ...args], { env: environment, stdio: 'pipe', timeout: LONGEST_START_MS, killSignal: 'SIGKILL', signal });
  let [said, complained] = ['', ''];
  const isReady = (): boolean => said.includes('the console answers') && said.includes('the gateway answers');
  child.stderr.setEncoding('utf8').on('data', (text: string) => { complained += text; });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (isReady()) return;
    said += text;
    if (isReady()) child.kill('SIGTERM');
  });
  await once(child, 'close');
  if (child.exitCode !== 0 || !isReady()) throw new Error(`a start of it ended with ${child.exitCode ?? child.signalCode}: ${complained}`);
}
