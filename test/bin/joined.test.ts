/** The program out of one file: made at an installation, taken as long as it is what the modules say, and nothing else than they are. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Script } from 'node:vm';

const ROOT = join(import.meta.dirname, '..', '..');
const PARTS = ['bin', 'crds', 'dataplane', 'demo', 'operator', 'web', 'docs/examples/quickstart', 'package.json'];
const VALIDATE = 'bin/commands/validate.ts';
/** In whole milliseconds, so that it can be set again. */
const LONG_AGO = new Date(1_700_000_000_000);

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
}

describe('the joined program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mgw-joined-'));
  let root = join(folder, 'checkout');
  const joined = (): string => join(root, 'node_modules/.cache/joined');
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> => {
    const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('MGW_') && !name.startsWith('NODE_')));
    return promisify(execFile)(process.execPath, args.map((arg) => arg), { cwd: root, env: { ...inherited, ...env } });
  };
  const mgw = async (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> => (await run(['bin/mgw.js', ...args], env)).stdout;
  const HELP = ['validate', '--help'];
  /** Says something else in a module of the copy, in as many characters. */
  const say = (words: string): void => {
    const path = join(root, VALIDATE);
    writeFileSync(path, readFileSync(path, 'utf8').replace(/Says|[XYZ]{4}/, words));
  };

  before(async () => {
    for (const part of PARTS) cpSync(join(ROOT, part), join(root, part), { recursive: true });
    mkdirSync(join(root, 'node_modules'));
    for (const name of readdirSync(join(ROOT, 'node_modules')).filter((each) => each !== '.cache')) symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name));
    utimesSync(join(root, VALIDATE), LONG_AGO, LONG_AGO);
    assert.match((await run(['bin/join-sources.ts'])).stdout, /^starts load \d{3} modules of the program at once\n$/);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('is one file, with the code that a start has compiled, and a list of its modules', () => {
    const { name, modules } = JSON.parse(readFileSync(join(joined(), 'modules.json'), 'utf8')) as { name: string; modules: [string, number, number][] };
    assert.deepEqual(readdirSync(joined()).sort(), [`${name}.cjs`, `${name}.compiled`, 'modules.json'].sort());
    for (const path of ['bin/main.ts', 'dataplane/pipeline/pipeline.ts', 'operator/translate/translate.ts', 'package.json']) assert.ok(modules.some(([each]) => each === path), path);
    const text = readFileSync(join(joined(), `${name}.cjs`), 'latin1');
    const script = new Script(text, { filename: 'joined.cjs', cachedData: readFileSync(join(joined(), `${name}.compiled`)) });
    assert.equal(script.cachedDataRejected, false);
    const compiledFirst = new Script(text, { filename: 'other.cjs' }).createCachedData();
    assert.ok(compiledFirst.length * 3 < readFileSync(join(joined(), `${name}.compiled`)).length, 'what was compiled while it ran is there too');
  });

  it('runs in place of the modules, and is what they are', async () => {
    assert.equal(await mgw(['--help']), await mgw(['--help'], { MGW_JOINED: 'off' }));
    assert.equal(await mgw(['validate', 'docs/examples/quickstart']), await mgw(['validate', 'docs/examples/quickstart'], { MGW_JOINED: 'off' }));
    const path = join(root, VALIDATE);
    const text = readFileSync(path);
    const before = await mgw(HELP);
    try {
      say('XXXX');
      utimesSync(path, LONG_AGO, LONG_AGO);
      assert.equal(await mgw(HELP), before, 'nobody looks into a module that seems to be what it was');
      assert.match(await mgw(HELP, { MGW_JOINED: 'off' }), /^XXXX/m);
    } finally {
      writeFileSync(path, text);
      utimesSync(path, LONG_AGO, LONG_AGO);
    }
    assert.equal(await mgw(HELP), before);
  });

  it('does not run where a module was edited, is gone or lies elsewhere, and is made anew by npm run prepare', async () => {
    say('YYYY');
    assert.match(await mgw(HELP), /^YYYY/m);
    await run(['bin/join-sources.ts']);
    assert.equal(readdirSync(joined()).length, 3, 'the one before is gone');
    say('ZZZZ');
    assert.match(await mgw(HELP), /^ZZZZ/m);
    utimesSync(join(root, VALIDATE), LONG_AGO, LONG_AGO);
    await run(['bin/join-sources.ts']);
    const elsewhere = join(folder, 'elsewhere');
    renameSync(root, elsewhere);
    root = elsewhere;
    say('XXXX');
    utimesSync(join(root, VALIDATE), LONG_AGO, LONG_AGO);
    assert.match(await mgw(HELP), /^XXXX/m, 'what was joined elsewhere has the places of there');
    await run(['bin/join-sources.ts']);
    renameSync(join(root, 'dataplane/turn.ts'), join(root, 'dataplane/away.ts'));
    await assert.rejects(mgw(['run', '--config', 'docs/examples/quickstart']), /turn\.ts/);
    renameSync(join(root, 'dataplane/away.ts'), join(root, 'dataplane/turn.ts'));
  });

  it('may be made for good, as an image has it', async () => {
    assert.match((await run(['bin/join-sources.ts', '--fixed'])).stdout, /at once/);
    say('YYYY');
    assert.match(await mgw(HELP), /^XXXX/m);
    say('XXXX');
  });

  it('runs without what was compiled, and where that was compiled by another Node', async () => {
    await run(['bin/join-sources.ts']);
    const [compiled = ''] = globSync('*.compiled', { cwd: joined() });
    const before = await mgw(HELP);
    writeFileSync(join(joined(), compiled), 'nothing of use');
    assert.equal(await mgw(HELP), before);
    rmSync(join(joined(), compiled));
    assert.equal(await mgw(HELP), before);
  });

  it('stops no installation', async () => {
    rmSync(joined(), { recursive: true });
    rmSync(join(root, 'node_modules/esbuild'));
    assert.match((await run(['bin/join-sources.ts'])).stdout, /one by one: esbuild, which joins them, is not installed/);
    assert.match(await mgw(HELP), /^XXXX/m);
    symlinkSync(join(ROOT, 'node_modules/esbuild'), join(root, 'node_modules/esbuild'));
    const later = new Date(Date.now() + 3_600_000);
    utimesSync(join(root, VALIDATE), later, later);
    assert.match((await run(['bin/join-sources.ts'])).stderr, /validate\.ts is being edited/);
    writeFileSync(join(root, 'bin/version.ts'), 'export const VERSION: = 1;\n');
    assert.match((await run(['bin/join-sources.ts'])).stderr, /one by one, because joining them failed: .*version\.ts/s);
  });
});
