/**
 * Joins the program's modules into one file for the next starts, and has one start compile what starts run (joined.js loads both).
 * `npm install` does this at its end, and `npm run prepare` after an edit; where it cannot be done, the modules are run as they are.
 * With --fixed nobody looks later whether they still say the same: in an image they do.
 *
 * Packages that few starts need, or that lend their insides to one of our own modules by name, stay outside and are loaded by Node.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type * as Esbuild from 'esbuild';
import { JOINED_FOLDER, JOINED_LIST, writeWhole } from './joined.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUTSIDE = ['@grpc/grpc-js', '@kubernetes/client-node', '@redis/client', 'gpt-tokenizer', 'undici', 'yaml'];
const OWN = ['bin', 'crds', 'dataplane', 'demo', 'operator', 'web'];
/** What the start that compiles runs on. */
const EXAMPLE = join(ROOT, 'bin', 'join-sources.yaml');
const LONGEST_START_MS = 60_000;
/** A file system's clock is behind by up to this. */
const CLOCK_STEP_MS = 10;

/** Returns a sentence on how it went. `fixed`: the modules are never looked at again. */
export async function joinSources(fixed: boolean): Promise<string> {
  const beganMs = Date.now();
  const esbuild = await loadEsbuild();
  if (!esbuild) return 'starts load the program\'s modules one by one: esbuild, which joins them, is not installed';
  const { outputFiles, metafile, warnings } = await esbuild.build({
    absWorkingDir: ROOT, entryPoints: ['bin/main.ts'], bundle: true, write: false, metafile: true, logLevel: 'silent',
    platform: 'node', format: 'cjs', target: `node${process.versions.node}`, charset: 'ascii', external: OUTSIDE,
    banner: { js: '(function (exports, require, module) {' }, footer: { js: '})' },
    plugins: [{
      name: 'places',
      setup: (build) => build.onLoad({ filter: new RegExp(String.raw`^${RegExp.escape(ROOT)}(?:${OWN.join('|')})/.*\.[jt]s$`) }, ({ path }) => ({ contents: withPlaces(path), loader: path.endsWith('.ts') ? 'ts' : 'js' })),
    }],
  });
  if (warnings[0]) throw new Error(warnings[0].text);
  const [{ contents } = { contents: new Uint8Array() }] = outputFiles;
  const name = createHash('sha256').update(contents).digest('hex').slice(0, 16);
  const modules = Object.keys(metafile.inputs);
  keep(name, contents, fixed ? [] : modules.map((path) => stateOf(path, beganMs)));
  await compile();
  return existsSync(join(JOINED_FOLDER, `${name}.compiled`)) ? `starts load ${modules.length} modules of the program at once` : 'the program\'s modules are joined, and each start compiles them';
}

/** Installed for development and for making images; who runs the program may do without. */
async function loadEsbuild(): Promise<typeof Esbuild | undefined> {
  try {
    return await import('esbuild');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

type ModuleState = readonly [path: string, size: number, changedMs: number];

/** As it was when it was read; that cannot be told of one that was changed since. */
function stateOf(path: string, beganMs: number): ModuleState {
  const { size, mtimeMs } = statSync(join(ROOT, path));
  if (mtimeMs > beganMs - CLOCK_STEP_MS) throw new Error(`${path} is being edited`);
  return [path, size, mtimeMs];
}

/** A joined module is still told where it lies itself. */
function withPlaces(path: string): string {
  return readFileSync(path, 'utf8')
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
}

/** The list comes last: it names what was made before it. */
function keep(name: string, contents: Uint8Array, modules: readonly ModuleState[]): void {
  mkdirSync(JOINED_FOLDER, { recursive: true });
  writeWhole(join(JOINED_FOLDER, `${name}.cjs`), contents);
  writeWhole(JOINED_LIST, JSON.stringify({ root: ROOT, name, modules }));
  for (const file of readdirSync(JOINED_FOLDER)) if (join(JOINED_FOLDER, file) !== JOINED_LIST && !file.startsWith(`${name}.`)) rmSync(join(JOINED_FOLDER, file));
}

/** One start, which leaves the code that it has compiled when it ends. It takes part of nothing, and keeps nothing else. */
async function compile(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-join-'));
  try {
    const config = join(folder, 'manifests');
    mkdirSync(config);
    copyFileSync(EXAMPLE, join(config, 'example.yaml'));
    const args = ['run', '--config', config, '--data', join(folder, 'data'), '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--console', '127.0.0.1:0'];
    const environment = Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('MGW_') && !key.startsWith('NODE_')));
    const child = spawn(process.execPath, [join(ROOT, 'bin', 'mgw.js'), ...args], { env: { ...environment, MGW_JOINED: 'compile' }, stdio: ['ignore', 'pipe', 'ignore'], timeout: LONGEST_START_MS });
    const ended = once(child, 'exit');
    const started = new Promise<void>((resolve) => {
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('the console answers') && said.includes('the gateway answers')) resolve();
      });
    });
    await Promise.race([started, ended]);
    child.kill('SIGTERM');
    await ended;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  try {
    console.log(await joinSources(process.argv.includes('--fixed')));
  } catch (error) {
    // an installation is complete without it
    console.warn(`starts load the program's modules one by one, because joining them failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}
