/**
 * Joins the program's modules into one file for the next starts, and has one start compile what starts run (joined.js loads both).
 * `npm install` does this at its end, and `npm run prepare` after an edit; where it cannot be done, the modules are run as they are.
 *
 * Packages that few starts need, or that lend their insides to one of our own modules by name, stay outside and are loaded by Node.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { JOINED_FOLDER, JOINED_LIST, writeWhole } from './joined.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUTSIDE = ['@grpc/grpc-js', '@kubernetes/client-node', '@redis/client', 'gpt-tokenizer', 'undici', 'yaml'];
const OWN = ['bin', 'crds', 'dataplane', 'demo', 'operator', 'web'];
/** What the start that compiles runs on: it takes part of nothing, and keeps nothing. */
const EXAMPLE = join(ROOT, 'docs', 'examples', 'quickstart');
const LONGEST_START_MS = 60_000;

/** Returns a sentence on how it went. */
export async function joinSources(): Promise<string> {
  const esbuild = await import('esbuild').catch(() => undefined);
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
  keep(name, contents, Object.keys(metafile.inputs));
  await compile();
  return existsSync(join(JOINED_FOLDER, `${name}.compiled`)) ? `starts load ${Object.keys(metafile.inputs).length} modules of the program at once` : 'the program\'s modules are joined, and each start compiles them';
}

/** A joined module is still told where it lies itself. */
function withPlaces(path: string): string {
  return readFileSync(path, 'utf8')
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
}

/** The list comes last: it names what was made before it. */
function keep(name: string, contents: Uint8Array, inputs: readonly string[]): void {
  mkdirSync(JOINED_FOLDER, { recursive: true });
  writeWhole(join(JOINED_FOLDER, `${name}.cjs`), contents);
  const modules = inputs.map((path) => {
    const { size, mtimeMs } = statSync(join(ROOT, path));
    return [path, size, mtimeMs] as const;
  });
  writeWhole(JOINED_LIST, JSON.stringify({ root: ROOT, name, modules }));
  for (const file of readdirSync(JOINED_FOLDER)) if (join(JOINED_FOLDER, file) !== JOINED_LIST && !file.startsWith(`${name}.`)) rmSync(join(JOINED_FOLDER, file));
}

/** One start, which leaves the code that it has compiled when it ends. */
async function compile(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-join-'));
  try {
    const args = ['run', '--config', EXAMPLE, '--data', folder, '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--console', '127.0.0.1:0'];
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
    console.log(await joinSources());
  } catch (error) {
    // an installation is complete without it
    console.warn(`starts load the program's modules one by one, because joining them failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}
